"""What to say where torch is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from unbraid._install import pip_install


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
