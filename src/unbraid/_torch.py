"""Asking for torch, which not everyone has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from unbraid._install import pip_install

if TYPE_CHECKING:
    import torch


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


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch add up in one thread meanwhile: in several, the last digits depend on how many there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
