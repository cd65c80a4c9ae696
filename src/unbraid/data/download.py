"""Published files of data sets: addresses, checksums, and downloads that resume.

Lengths and SHA-256 sums are those of TensorFlow Datasets (``tensorflow_datasets/url_checksums`` of
https://github.com/tensorflow/datasets); MD5 sums those of disent (``disent/dataset/data`` of
https://github.com/nmichlo/disent) and, for dSprites' ``.npz``, of latte and others. Where nobody has published a sum,
there is none here, and the file is checked by what is in it.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from unbraid._base.progress import Show, track
from unbraid.data.mnist import EMNIST_ARCHIVE, idx_names
from unbraid.data.official import ARCHIVE as CARS3D_ARCHIVE
from unbraid.data.official import FOLDERS as CARS3D_FOLDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A published file.

    Attributes:
        name: Name in the data folder.
        url: Where it is fetched from, or, if ``by_hand``, the page where a person can.
        n_bytes: Its length, where known.
        sha256: Checksum, where known.
        md5: An older kind of checksum, where no other is known.
        instead: What may stand in the folder in its place: the same unpacked.
        by_hand: Whether the address leads to a page for people.
    """

    name: str
    url: str
    n_bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None
    instead: tuple[str, ...] = ()
    by_hand: bool = False


DSPRITES = DataFile(
    name="dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    url="https://github.com/google-deepmind/dsprites-dataset/raw/master/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
    md5="7da33b31b13a06f4b04a70402ce90c2e",
)
SHAPES3D = DataFile(
    name="3dshapes.h5",
    url="https://storage.googleapis.com/3d-shapes/3dshapes.h5",
    n_bytes=267_573_662,
    sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
)
CARS3D = DataFile(
    name=CARS3D_ARCHIVE,
    url=f"http://www.scottreed.info/files/{CARS3D_ARCHIVE}",
    md5="4e866a7919c1beedf53964e6f7a23686",
    instead=CARS3D_FOLDERS,
)


def _mpi3d(name: str, md5: str) -> DataFile:
    return DataFile(
        name=name, url=f"https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/{name}", md5=md5
    )


MPI3D_TOY = _mpi3d("mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868")
MPI3D_REALISTIC = _mpi3d("mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f")
MPI3D_REAL = _mpi3d("mpi3d_real.npz", "0f33f609918fb5c97996692f91129802")
MPI3D_COMPLEX = DataFile(
    name="real3d_complicated_shapes_ordered.npz",
    url="https://github.com/rr-learning/disentanglement_dataset",
    by_hand=True,
)


def _smallnorb(name: str, n_bytes: int, sha256: str) -> DataFile:
    return DataFile(
        name=f"smallnorb-{name}.mat.gz",
        url=f"https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/smallnorb-{name}.mat.gz",
        n_bytes=n_bytes,
        sha256=sha256,
        instead=(f"smallnorb-{name}.mat",),
    )


SMALLNORB = (
    _smallnorb(
        "5x46789x9x18x6x2x96x96-training-dat",
        131_896_188,
        "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
    ),
    _smallnorb(
        "5x46789x9x18x6x2x96x96-training-cat", 348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"
    ),
    _smallnorb(
        "5x46789x9x18x6x2x96x96-training-info",
        71_052,
        "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
    ),
    _smallnorb(
        "5x01235x9x18x6x2x96x96-testing-dat",
        130_799_817,
        "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
    ),
    _smallnorb(
        "5x01235x9x18x6x2x96x96-testing-cat", 347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"
    ),
    _smallnorb(
        "5x01235x9x18x6x2x96x96-testing-info",
        10_428,
        "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
    ),
)


def _mnist(part: str, content: str, n_bytes: int, sha256: str) -> DataFile:
    names = idx_names(part, content)
    return DataFile(
        name=f"{names[0]}.gz",
        url=f"https://storage.googleapis.com/cvdf-datasets/mnist/{names[0]}.gz",
        n_bytes=n_bytes,
        sha256=sha256,
        instead=(*names, f"{names[1]}.gz"),
    )


MNIST = (
    _mnist("train", "images", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    _mnist("train", "labels", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    _mnist("t10k", "images", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    _mnist("t10k", "labels", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)


def emnist(split: str) -> DataFile:
    """The one archive of all splits, or the images of one split, unpacked, beside their labels."""
    names = idx_names(f"emnist-{split}-train", "images")
    return DataFile(
        name=EMNIST_ARCHIVE,
        url="https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
        n_bytes=561_753_746,
        sha256="fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
        instead=tuple(f"{name}{ending}" for name in names for ending in ("", ".gz")),
    )


CHUNK = 2**20
#: Seconds to wait for a connection, for each piece of an answer, and for the beginning of an answer.
TIMEOUT_S, BEGIN_S = 30.0, 90.0
#: A server that sends fewer bytes than this in so many seconds is too slow to wait for.
LEAST_BYTES, PATIENCE_S = 64 * 2**10, 60.0
#: Seconds between two looks whether another process has finished.
LOOK_AGAIN_S = 0.1
#: Tries to open a lock file in a folder that comes and goes.
OPENING_TRIES = 10
#: Length that no file without a published length exceeds.
MOST_BYTES = 20 * 10**9


def fetch_file(
    file: DataFile, folder: Path, *, show: Show = None, on_wait: Callable[[str], object] = lambda _: None
) -> Path:
    """Fetch a file into a folder.

    What has arrived waits in ``.NAME.part`` if the connection breaks, and the next attempt asks for the rest. A file
    that turns out wrong is deleted. While another process fetches the same file, this one waits, and takes its file.

    Args:
        file: What to fetch.
        folder: Where to; it is made if it does not exist.
        show: As in :func:`unbraid._base.progress.track`; by default a progress bar when standard error is a terminal.
        on_wait: Called with a sentence if another process is fetching the file.

    Returns:
        Where the file is.

    Raises:
        ValueError: No connection (with what to put where instead), a wrong checksum or length, a folder that cannot be
            written, or a full disk.
    """
    target, partial = folder / file.name, folder / f".{file.name}.part"
    if file.by_hand:
        raise ValueError(f"{file.name} cannot be fetched by a program; {_by_hand(file, target)}.")
    with _alone(folder, file, on_wait) as has_waited:
        if has_waited and target.is_file() and find_fault(file, target, show=show) is None:
            return target
        _fetch(file, target, partial, show)
    return target


def _fetch(file: DataFile, target: Path, partial: Path, show: Show) -> None:
    folder = target.parent
    try:
        _download(file, partial, show)
    except (URLError, http.client.HTTPException, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            partial.unlink(missing_ok=True)
            raise ValueError(
                f"{str(folder)!r} has no room for {file.name}{_length(file)}; "
                "give a folder on another disk with --folder."
            ) from error
        if isinstance(error, HTTPError):
            error.close()
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


@contextmanager
def _alone(folder: Path, file: DataFile, on_wait: Callable[[str], object]) -> Iterator[bool]:
    """Keep other processes from fetching the same file meanwhile; yields whether one was fetching it before."""
    path, waited = folder / f".{file.name}.lock", False
    made: set[Path] = set()
    try:
        lock = _opened(path, made)
        while not _locked(lock) or not _is_open_as(lock, path):
            if not waited:
                on_wait(f"{file.name} is being fetched by another process; waiting for it.")
            waited = True
            os.close(lock)
            time.sleep(LOOK_AGAIN_S)
            lock = _opened(path, made)
        try:
            yield waited
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)
    finally:
        for one in sorted(made, reverse=True):  # innermost first: a folder for nothing is not left behind
            with suppress(OSError):
                one.rmdir()


def _opened(path: Path, made: set[Path]) -> int:
    """Open a lock file, in a folder that is made if need be, and that another process may be removing meanwhile.

    Folders that are not there yet are added to ``made``.
    """
    with _writing(path.parent):
        for _ in range(OPENING_TRIES):
            made |= {one for one in path.parents if not one.exists()}
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                return os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        return os.open(path, os.O_CREAT | os.O_RDWR, 0o666)


def _locked(lock: int) -> bool:
    """Try to lock an open file; systems and file systems without locks grant it."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True


def _is_open_as(lock: int, path: Path) -> bool:
    """Return whether an open file still has its name: whoever had the lock before takes the name away."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def find_fault(file: DataFile, path: Path, *, show: Show = None) -> str | None:
    """Compare a file with its published length and checksum; return the end of a sentence on the fault, or ``None``."""
    n_bytes = path.stat().st_size
    if file.n_bytes is None and n_bytes > MOST_BYTES:
        return f"must have {MOST_BYTES} bytes at most"
    if file.n_bytes is not None and n_bytes != file.n_bytes:
        return f"must have {file.n_bytes} bytes, got {n_bytes}"
    kind, expected = ("sha256", file.sha256) if file.sha256 else ("md5", file.md5)
    if expected is None:
        return None
    found = _checksum(path, kind, show)
    return None if found == expected else f"must have the {kind} checksum {expected}, got {found}"


def _download(file: DataFile, partial: Path, show: Show) -> None:
    """Bring ``partial`` to its full length."""
    start = partial.stat().st_size if partial.exists() else 0
    if start and start == file.n_bytes:
        return None
    headers = {"User-Agent": "unbraid"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        reply = _open(Request(file.url, headers=headers))
    except HTTPError as error:
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            error.close()
            partial.unlink()  # the partial file is as long as the whole or longer: start again
            return _download(file, partial, show)
        raise
    with reply:
        start = start if reply.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        _receive(reply, partial, start, show, most=file.n_bytes or MOST_BYTES)
    return None


class _OnlyWeb(HTTPRedirectHandler):
    """Follows redirects to the web only, and from an encrypted connection only to another."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            fp.close()
            raise URLError(f"the server redirects to {newurl!r}, which is not {' or '.join(allowed)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(request: Request) -> Any:
    """Return the beginning of an answer; of protocols, http and https are known only."""
    opener = OpenerDirector()
    handlers = (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, _OnlyWeb, HTTPErrorProcessor)
    for handler in (*handlers, UnknownHandler):
        opener.add_handler(handler())
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(opener.open(request, timeout=TIMEOUT_S))
        except Exception as error:
            found.append(error)

    # In a thread: a server that sends its header byte by byte is within any time limit for single pieces.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(BEGIN_S)
    if not found:
        raise TimeoutError(f"the server did not begin to answer within {BEGIN_S:g} s")
    if isinstance(found[0], Exception):
        raise found.pop()  # kept in a list, it would keep its connection open
    return found[0]


def _receive(reply: Any, partial: Path, start: int, show: Show, *, most: int) -> None:
    """Write what arrives after the first ``start`` bytes of a file, which has ``most`` bytes at most."""
    length = reply.headers.get("Content-Length")
    remaining = int(length) if length is not None else None
    if remaining is not None and shutil.disk_usage(partial.parent).free < remaining:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    received, since, n_since = 0, time.monotonic(), 0
    with (
        partial.open("ab" if start else "wb") as out,
        track(-(-(remaining or 0) // CHUNK), show, doing="fetching (MiB)") as progress,
    ):
        while data := reply.read1(CHUNK):
            out.write(data)
            for _ in range((received + len(data)) // CHUNK - received // CHUNK):
                progress.advance()
            received += len(data)
            if start + received > most:
                break  # it is not the file that was published, whatever follows
            if time.monotonic() - since > PATIENCE_S:
                if received - n_since < LEAST_BYTES:
                    raise TimeoutError(f"the server sent {received - n_since} bytes within {PATIENCE_S:g} s")
                since, n_since = time.monotonic(), received
    if start + received > most:
        return
    if remaining is not None and received < remaining:
        raise http.client.IncompleteRead(b"", remaining - received)


def _checksum(path: Path, kind: str, show: Show) -> str:
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
