"""Require("torch", extra=...): one guard for optional packages."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    import torch


PACKAGE = "unbraid"
#: Where a clone has the file that says what the extras are, seen from this one.
CLONE = Path(__file__).parents[3]


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    From the clone that the code runs in, the folder or address it was installed from, or else the package index.

    Example:
        >>> pip_install("train").startswith("pip install ")
        True
    """
    if (CLONE / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{CLONE}[{extra}]')}"
    return f"pip install {shlex.quote(_what(extra, _came_from()))}"


def _came_from() -> dict[str, object]:
    """Return what pip wrote down about where the package came from (PEP 610); nothing for an index."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    found = json.loads(text or "{}")
    return found if isinstance(found, dict) else {}


def _what(extra: str, origin: dict[str, object]) -> str:
    named, url = f"{PACKAGE}[{extra}]", str(origin.get("url", ""))
    path = Path(url2pathname(urlsplit(url).path))
    if url.startswith("file:") and not path.exists():
        return named  # the folder is gone: the index is the best guess
    if "dir_info" in origin:
        return f"{path}[{extra}]"
    version = origin.get("vcs_info")
    if isinstance(version, dict):
        revision = version.get("requested_revision")
        url = f"{version.get('vcs', 'git')}+{url}" + (f"@{revision}" if revision else "")
    return f"{named} @ {url}" if url else named


def require_torch(purpose: str, *, extra: str = "torch") -> None:
    """Raise a sentence that says how to get torch unless it can be imported.

    Args:
        purpose: What needs it, as the subject of the sentence.
        extra: What to install, so that nothing else is missing then.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ValueError(without_torch(purpose, extra=extra)) from error


def without_torch(purpose: str, *, extra: str = "torch") -> str:
    """Return the sentence for where torch is not installed."""
    return f"{purpose} needs torch, which is not installed; run {pip_install(extra)}."


def has_torch() -> bool:
    """Tell whether torch is installed, without the seconds that importing it takes."""
    try:
        return find_spec("torch") is not None
    except ImportError:
        return False


def require_flows(purpose: str) -> None:
    """Raise a sentence that says how to get torch and zuko unless both can be imported.

    Args:
        purpose: What needs them, as the subject of the sentence.
    """
    require_torch(purpose, extra="train")
    try:
        import zuko  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{purpose} needs zuko, which is not installed; run {pip_install('train')}.") from error


def torch_device(device: str) -> torch.device:
    """Return the device of this name, or say that it is not there."""
    import torch

    if device.partition(":")[0] == "cuda" and not torch.cuda.is_available():
        raise ValueError("device 'cuda' is not there: torch sees no CUDA card; give device='cpu'.")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be one that torch knows, such as cpu or cuda, got {device!r}.") from error


@contextmanager
def torch_needed() -> Iterator[None]:
    """Turn a failed import of torch inside the block into a sentence with the cure."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise ValueError(
            "decoder must be given as Jacobians here, since torch, which differentiates it, is not installed; "
            f"run {pip_install('torch')}."
        ) from error
