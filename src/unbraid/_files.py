"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write to a temporary file beside ``path``, then rename it over ``path``.

    Args:
        path: Where the file should end up; its folder must exist.
        write: Called with the open binary file.

    Returns:
        The path written.

    Raises:
        ValueError: The folder does not exist or cannot be written to, or ``path`` is a device or a folder.
    """
    target = Path(path)
    place = Path(os.path.realpath(target))  # a link stays a link; what it points to is replaced
    if place.exists() and not place.is_file():
        raise ValueError(f"path {str(target)!r} cannot be written: it is not a regular file.")
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as error:
        raise ValueError(
            f"path {str(target)!r} cannot be written: {error.strerror}; give a file in a folder that exists."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def write_text(path: str | Path, text: str) -> Path:
    """Write ``text`` as UTF-8, all or nothing."""
    return write_atomically(path, lambda file: file.write(text.encode()))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
