"""Guard for packages that not every installation has."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

#: The folder of the clone, where the code runs in one.
CLONE = Path(__file__).parents[3]


class MissingPackageError(ImportError, ValueError):
    """An optional package is not installed."""


def require(purpose: str, *packages: str, extra: str, otherwise: str = "") -> None:
    """Raise unless packages are installed; they are looked for, not imported.

    Args:
        purpose: What needs them, as the subject of the sentence.
        packages: Names to import.
        extra: The extra of unbraid that installs them all.
        otherwise: What to do instead, as an imperative.

    Raises:
        MissingPackageError: One is missing, with the command that installs it.
    """
    for package in packages:
        if not is_installed(package):
            cure = f"run {pip_install(extra)}" + (f", or {otherwise}" if otherwise else "")
            raise MissingPackageError(f"{purpose} needs {package}, which is not installed; {cure}.")


def is_installed(package: str) -> bool:
    """Return whether a package can be found, without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return find_spec(package) is not None
    except ImportError:  # an import hook forbids it, or its parent is missing
        return False


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    By the name alone, pip adds an extra to the version that is installed, wherever it came from.
    """
    if (CLONE / "pyproject.toml").is_file():  # which may run without having been installed
        return f"pip install -e {shlex.quote(f'{CLONE}[{extra}]')}"
    return f"pip install 'unbraid[{extra}]'"


def torch_device(device: str) -> torch.device:
    """Return the device of this name, or raise if it is not available."""
    import torch

    if device.partition(":")[0] == "cuda" and not torch.cuda.is_available():
        raise ValueError("device 'cuda' is not there: torch sees no CUDA card; give device='cpu'.")
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be one that torch knows, such as cpu or cuda, got {device!r}.") from error
    try:
        torch.zeros(1, device=found).item()  # torch knows devices that are not there, and meta, which holds no numbers
    except (RuntimeError, NotImplementedError, AssertionError, ImportError) as error:
        raise ValueError(f"device {device!r} cannot hold numbers here; give device='cpu'.") from error
    return found
