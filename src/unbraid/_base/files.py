"""Atomic writes: a reader sees the old file or the new one, never half of one."""

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from unbraid._base.interruption import if_interrupted

#: Error numbers of a full disk, and of a full quota of this user.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DiskFullError(OSError):
    """There is no room left where a file should go."""


@contextmanager
def naming_full_disks(path: str | Path) -> Iterator[None]:
    """Name the file in errors about a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        why = f"path {str(path)!r} cannot be written: {os.strerror(error.errno)}"
        raise DiskFullError(f"{why}; make room there and run it again.") from error


@contextmanager
def output_folder(argument: str, path: str | Path) -> Iterator[Path]:
    """Make a folder for output at the start, so that one that cannot be made fails before the work.

    Folders that were made here and are still empty at the end of the block are removed again.

    Args:
        argument: Name of the argument, for the message.
        path: The folder; folders above it are made too.

    Raises:
        ValueError: It cannot be made, or is a file.
    """
    folder = Path(path)
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(made)
        raise ValueError(f"{argument} {str(path)!r} cannot be a folder to write to: {error.strerror}.") from error
    try:
        with if_interrupted(partial(_remove_empty, made)):
            yield folder
    finally:
        _remove_empty(made)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed at the end of the block, or by Ctrl-C."""
    made = tempfile.TemporaryDirectory(prefix="unbraid-")
    with made as place, if_interrupted(made.cleanup):
        yield Path(place)


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def write_atomically(path: str | Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write to a temporary file beside ``path``, then rename it over ``path``.

    Args:
        path: Where the file should end up; its folder must exist.
        write: Called with the open binary file.

    Returns:
        The path written.

    Raises:
        ValueError: The folder does not exist or cannot be written to, or ``path`` is a device or a folder.
        DiskFullError: There is no room; what was at ``path`` before is still there.
    """
    target = Path(path)
    place = Path(os.path.realpath(target))  # a link stays a link; its target is replaced
    if place.exists() and not place.is_file():
        raise ValueError(f"path {str(target)!r} cannot be written: it is not a regular file.")
    temporary = place.parent / f".{place.name}.{secrets.token_hex(6)}"
    with naming_full_disks(target), if_interrupted(temporary.unlink):
        _write_and_move(target, place, temporary, write)
    return target


def _write_and_move(target: Path, place: Path, temporary: Path, write: Callable[[BinaryIO], object]) -> None:
    try:
        # A new file gets what the system grants it; asking for the mask would change it for other threads meanwhile.
        mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else None
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        raise ValueError(
            f"path {str(target)!r} cannot be written: {error.strerror}; give a file in a folder that exists."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> Path:
    """Write ``text`` as UTF-8, all or nothing."""
    return write_atomically(path, lambda file: file.write(text.encode()))
