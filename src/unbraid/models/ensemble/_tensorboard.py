"""Losses as TensorBoard reads them, one line for each member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

#: What a history holds of each member, in its order.
PARTS = ("loss", "distortion", "rate")


@dataclass(frozen=True, slots=True)
class Board:
    """Where losses of some members are written, or nowhere.

    Attributes:
        folder: One folder for each member is made in it.
        stack: Closes what was opened.
        writers: One for each member.
    """

    folder: Path | None
    stack: ExitStack
    writers: tuple[Any, ...] = ()

    def of(self, members: Sequence[int]) -> Board:
        """Return the board of some members."""
        if self.folder is None:
            return self
        writer = _writer_class()
        opened = [self.stack.enter_context(writer(str(self.folder / f"member_{m}"))) for m in members]
        return Board(self.folder, self.stack, tuple(opened))

    def write(self, step: int, losses: Tensor) -> None:
        """Write the losses of a step, ``[3, n_models]``."""
        for writer, one in zip(self.writers, losses.T.tolist(), strict=False):
            for name, value in zip(PARTS, one, strict=True):
                writer.add_scalar(name, value, step)


@contextmanager
def loss_board(folder: Path | None) -> Iterator[Board]:
    """Yield a board that writes to a folder, or nowhere, and is closed at the end.

    Raises:
        ValueError: A folder, and no TensorBoard.
    """
    if folder is not None:
        _writer_class()
    with ExitStack() as stack:
        yield Board(folder, stack)


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ValueError(
            "tensorboard needs its own package, which is not installed; run pip install 'unbraid[tensorboard]'."
        ) from error
    return SummaryWriter
