"""Fetching a file: to a temporary name, going on where a former attempt stopped, renamed once its checksum is right."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from unbraid._progress import track
from unbraid.data._files_needed import DataFile

CHUNK = 2**20
TIMEOUT_S = 30


def fetch_file(file: DataFile, folder: Path, *, show: bool | None = None) -> Path:
    """Fetch a file into a folder.

    What has arrived waits in ``.NAME.part`` if the connection breaks, and the next attempt asks for the rest. A file
    that turns out wrong is deleted.

    Args:
        file: What to fetch.
        folder: Where to; it is made if it does not exist.
        show: Whether to show a progress bar; ``None`` for when standard error is a terminal.

    Returns:
        Where the file is.

    Raises:
        ValueError: No connection (with what to put where instead), a wrong checksum or length, a folder that cannot be
            written, or a full disk.
    """
    target, partial = folder / file.name, folder / f".{file.name}.part"
    if file.by_hand:
        raise ValueError(f"{file.name} cannot be fetched by a program; {_by_hand(file, target)}.")
    try:
        _download(file, partial, show)
    except (URLError, http.client.HTTPException, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            partial.unlink(missing_ok=True)
            raise ValueError(
                f"{str(folder)!r} has no room for {file.name}{_length(file)}; "
                "give a folder on another disk with --folder."
            ) from error
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise ValueError(
            f"{file.name} cannot be fetched: {reason}; try again to go on from where it stopped, "
            f"or {_by_hand(file, target)}."
        ) from error
    fault = find_fault(file, partial, show=show)
    if fault:
        partial.unlink()
        raise ValueError(
            f"{file.name} from {file.url} {fault}; it was deleted. Try again, or {_by_hand(file, target)}."
        )
    os.replace(partial, target)
    return target


def find_fault(file: DataFile, path: Path, *, show: bool | None = None) -> str | None:
    """Compare a file with its published length and checksum; return what is wrong, to go on a sentence, or ``None``."""
    n_bytes = path.stat().st_size
    if file.n_bytes is not None and n_bytes != file.n_bytes:
        return f"must have {file.n_bytes} bytes, got {n_bytes}"
    kind, expected = ("sha256", file.sha256) if file.sha256 else ("md5", file.md5)
    if expected is None:
        return None
    found = _checksum(path, kind, show)
    return None if found == expected else f"must have the {kind} checksum {expected}, got {found}"


def _download(file: DataFile, partial: Path, show: bool | None) -> None:
    """Bring ``partial`` to its full length."""
    start = partial.stat().st_size if partial.exists() else 0
    if start and start == file.n_bytes:
        return None
    headers = {"User-Agent": "unbraid"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        reply = urlopen(Request(file.url, headers=headers), timeout=TIMEOUT_S)
    except HTTPError as error:
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.unlink()  # what is there is as long as the file or longer: begin again
            return _download(file, partial, show)
        raise
    with reply:
        resumed = reply.status == http.HTTPStatus.PARTIAL_CONTENT
        _receive(reply, partial, start if resumed else 0, show)
    return None


def _receive(reply: Any, partial: Path, start: int, show: bool | None) -> None:
    """Write what arrives after the first ``start`` bytes of a file."""
    with _writing(partial.parent):
        partial.parent.mkdir(parents=True, exist_ok=True)
    length = reply.headers.get("Content-Length")
    remaining = int(length) if length is not None else None
    if remaining is not None and shutil.disk_usage(partial.parent).free < remaining:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    received = 0
    with (
        partial.open("ab" if start else "wb") as out,
        track(-(-(remaining or 0) // CHUNK), show, doing="fetching (MiB)") as progress,
    ):
        while data := reply.read(CHUNK):
            out.write(data)
            received += len(data)
            progress.advance()
    if remaining is not None and received < remaining:
        raise http.client.IncompleteRead(b"", remaining - received)


def _checksum(path: Path, kind: str, show: bool | None) -> str:
    digest = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as content, track(-(-path.stat().st_size // CHUNK), show, doing="checking (MiB)") as progress:
        while data := content.read(CHUNK):
            digest.update(data)
            progress.advance()
    return digest.hexdigest()


def _by_hand(file: DataFile, target: Path) -> str:
    return f"get {file.name} from {file.url} by other means and put it at {str(target)!r}"


def _length(file: DataFile) -> str:
    return f" ({file.n_bytes / 1e6:.0f} MB)" if file.n_bytes else ""


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"folder {str(folder)!r} cannot be made: {error.strerror}; give another with --folder."
        ) from error
