"""Losses as TensorBoard reads them, one line for each member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from unbraid._install import pip_install

#: What a history holds of each member, in its order.
PARTS = ("loss", "distortion", "rate")


class Board:
    """Where losses of some members are written, or nowhere.

    Args:
        folder: One folder for each member is made in it.
        members: Their numbers.
        stack: Closes what was opened.
    """

    def __init__(self, folder: Path | None, members: Sequence[int], stack: ExitStack) -> None:
        self.folder, self.members, self.stack = folder, members, stack
        self._writers: list[Any] = []

    def of(self, members: Sequence[int]) -> Board:
        """Return the board of some members."""
        return Board(self.folder, members, self.stack)

    def write(self, step: int, losses: Tensor) -> None:
        """Write the losses of a step, ``[3, n_models]``; what was written of later steps before a break is void."""
        if self.folder is None:
            return
        if not self._writers:
            places = [str(self.folder / f"member_{m}") for m in self.members]
            self._writers = [self.stack.enter_context(_writer_class()(place, purge_step=step)) for place in places]
        for writer, one in zip(self._writers, losses.T.tolist(), strict=True):
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
        yield Board(folder, (), stack)


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ValueError(
            f"tensorboard needs its own package, which is not installed; run {pip_install('tensorboard')}."
        ) from error
    return SummaryWriter
