"""A loop that trains any module on random batches of rows, each seen before any is seen again.

The engine of ensembles draws rows with replacement at one learning rate, so that a run can be lengthened and a member
needs only its step number. Two reproductions were measured with this loop instead (and ``networks``, ``conditioned``,
``mlp``): epochs, and a rate that falls to nothing by a known last step. Moving the beta-VAEs of the spectrum to the
engine (ReLU for SiLU, other first weights, no epochs, one rate) left no knee at beta 3 on MNIST; which of these does
it is not known. Experiment II of the paper on dependent factors was not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unbraid._progress import track
from unbraid._validation import check_at_least
from unbraid.models.objectives import Loss

TELL_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long to train, and in what steps.

    Attributes:
        n_steps: Batches to learn from.
        batch_size: Rows of each; rows are dealt out in a new order every time all have been seen.
        learning_rate: Of Adam, at its start; it falls to nothing along half a cosine.
    """

    n_steps: int = 2000
    batch_size: int = 128
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("batch_size", self.batch_size, 1)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Start torch's generators from ``seed`` inside the block, and leave them as they were after it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def train(
    model: nn.Module,
    loss_of_rows: Callable[[Tensor], Loss],
    n_rows: int,
    schedule: Schedule,
    *,
    progress: bool | None = None,
) -> list[Loss]:
    """Train a model with Adam, in place.

    Chance (order of rows, noise of the codes) comes from torch's generator; wrap the call, and the making of the
    model, in :func:`seeded` to have the same result every time on a CPU.

    Args:
        model: Whose parameters are learned.
        loss_of_rows: Loss of the rows with these numbers.
        n_rows: Rows there are.
        schedule: How long.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        The loss of every step, without gradients.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate)
    slowing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, schedule.n_steps)
    history: list[Loss] = []
    rows = torch.empty(0, dtype=torch.int64)
    model.train()
    with track(schedule.n_steps, progress, doing="training") as bar:
        for step in range(schedule.n_steps):
            if not len(rows):
                rows = torch.randperm(n_rows)
            batch, rows = rows[: schedule.batch_size], rows[schedule.batch_size :]
            loss = loss_of_rows(batch)
            optimizer.zero_grad()
            loss.total.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            slowing.step()
            history.append(Loss(*(part.detach() for part in loss)))
            bar.advance()
            if step % TELL_EVERY == 0:
                bar.tell(f"loss {loss.total:.1f} = {loss.distortion:.1f} + {loss.rate:.1f}")
    model.eval()
    return history
