"""Training loop: groups of members, checkpoints, TensorBoard."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid._base.checks import check_at_least
from unbraid._base.optional import require
from unbraid._base.progress import Progress, Show, track
from unbraid.models.ensemble.checkpoint import FILE_NAME, check_same, load_checkpoint, save_checkpoint
from unbraid.models.ensemble.engine import EnsembleEngine
from unbraid.models.ensemble.memory import planned_layout
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import BatchSource
from unbraid.models.ensemble.trained import TrainedEnsemble, joined
from unbraid.models.families import loss_parts


class Board:
    """TensorBoard writers of some members, or none.

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

    def write(self, step: int, losses: Tensor, settings: Settings) -> None:
        """Write the losses of a step, ``[n_parts, n_models]``; later entries, from before a break, are dropped.

        Entropies that parts of the loss are compared with are written beside them.
        """
        if self.folder is None:
            return
        if not self._writers:
            places = [str(self.folder / f"member_{m}") for m in self.members]
            self._writers = [self.stack.enter_context(_writer_class()(place, purge_step=step)) for place in places]
        for writer, one in zip(self._writers, losses.T.tolist(), strict=True):
            for name, value in zip(loss_parts(settings.model), one, strict=True):
                writer.add_scalar(name, value, step)
            for name, value in settings.entropies().items():
                writer.add_scalar(name.replace("_information", "_entropy"), value, step)


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
    require("training with tensorboard=", "tensorboard", extra="tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter


#: Steps between two entries of the history.
HISTORY_EVERY = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Length of a training run, and the folders it writes to.

    Attributes:
        n_steps: Steps from the start, those made before a break included.
        folder: Where checkpoints go; nothing is written without.
        checkpoint_every: Steps between two.
        tensorboard: Where losses go for TensorBoard; nothing is written without.
        progress: Show a bar; by default when standard error is a terminal.
    """

    n_steps: int
    folder: Path | None = None
    checkpoint_every: int = 1000
    tensorboard: Path | None = None
    progress: Show = None

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("checkpoint_every", self.checkpoint_every, 1)


def train_ensemble(
    settings: Settings, source: BatchSource, run: Run, *, device: str = "cpu", at_once: int | None = None
) -> TrainedEnsemble:
    """Train all members, group by group where they do not fit in memory, going on from checkpoints in the folder.

    Args:
        settings: Settings of the ensemble.
        source: Its data.
        run: Length of the run, and its folders.
        device: ``"cpu"`` or ``"cuda"``.
        at_once: Members in a group; by default as many as fit.

    Raises:
        ValueError: A checkpoint of other settings, or not enough memory.
    """
    states = []
    with ExitStack() as stack:
        board = stack.enter_context(loss_board(run.tensorboard))
        layout = planned_layout(settings, run.folder, device=device, at_once=at_once)
        folders = [None] * len(layout.groups) if run.folder is None else layout.folders(run.folder)
        bar = stack.enter_context(track(len(layout.groups) * run.n_steps, run.progress, doing="training"))
        for members, folder in zip(layout.groups, folders, strict=True):
            part = replace(run, folder=folder)
            states.append(
                _train_group(settings.only(members), source.of(members), part, device, bar, board.of(members))
            )
    return joined(settings, states, device=device)


def _train_group(
    settings: Settings, source: BatchSource, run: Run, device: str, bar: Progress, board: Board
) -> dict[str, Any]:
    """Train members side by side; returns their states once the memory of training is free again."""
    try:
        begun = _begun(settings, run, device)
        engine = EnsembleEngine(settings, source, device=device)
        history = [] if begun is None else _resumed(engine, begun)
        del begun
        _advance(engine, run, history, bar, board)
        state = engine.state() | {"history": _kept(history, settings)}
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise ValueError(_smaller(settings)) from error
    state["network"] = {name: value.cpu() for name, value in state["network"].items()}
    del engine, state["optimizer"]
    if torch.device(device).type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
    return state


def _begun(settings: Settings, run: Run, device: str) -> dict[str, Any] | None:
    """Return the state that the folder holds, of the same settings; other settings may not even fit in memory."""
    if run.folder is None or not (run.folder / FILE_NAME).exists():
        return None
    begun, state = load_checkpoint(run.folder, device=device)
    check_same(run.folder, begun, settings)
    return state


def _resumed(engine: EnsembleEngine, state: dict[str, Any]) -> list[Tensor]:
    history = list(state.pop("history").cpu())
    engine.restore(state)
    return history


def _advance(engine: EnsembleEngine, run: Run, history: list[Tensor], bar: Progress, board: Board) -> None:
    for _ in range(engine.step):
        bar.advance()
    while engine.step < run.n_steps:
        losses = engine.advance()
        bar.advance()
        if engine.step % HISTORY_EVERY == 0 or engine.step == 1:
            history.append(losses.cpu().clone())
            board.write(engine.step, history[-1], engine.settings)
            bar.tell(_words(history[-1], engine.settings))
        if engine.step == run.n_steps:
            engine.check_weights()
        if run.folder is not None and (engine.step % run.checkpoint_every == 0 or engine.step == run.n_steps):
            save_checkpoint(run.folder, engine.settings, engine.state() | {"history": _kept(history, engine.settings)})


def _kept(history: list[Tensor], settings: Settings) -> Tensor:
    return torch.stack(history) if history else torch.empty(0, len(loss_parts(settings.model)), len(settings.seeds))


def _words(losses: Tensor, settings: Settings) -> str:
    """Return the means over members whose losses are finite, and how many are not."""
    finite = losses.isfinite().all(dim=0)
    lost = f", {int((~finite).sum())} of {len(finite)} diverged" if not finite.all() else ""
    return loss_text(settings, losses[:, finite].mean(dim=1).tolist()) + lost


def loss_text(settings: Settings, values: Sequence[float]) -> str:
    """Return the parts of a loss in words, information with the entropy that it is compared with.

    Example:
        >>> loss_text(Settings(model="vae", data="", n_rows=1, shape=(2,), seeds=(0,)), [3.0, 2.0, 1.0])
        'loss 3.0, distortion 2.0, rate 1.0'
    """
    entropies = settings.entropies()
    digits = 2 if entropies else 1
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.{digits}f}" + (f" of {entropies[name]:.2f}" if name in entropies else "")
        for name, value in zip(loss_parts(settings.model), values, strict=True)
    )


def _smaller(settings: Settings) -> str:
    n_models, size = len(settings.seeds), settings.batch_size
    cure = f"at_once={(n_models + 1) // 2}" if n_models > 1 else f"batch_size={max(1, size // 2)}"
    return f"{n_models} models with batches of {size} do not fit in memory; try {cure}."
