"""A Lightning callback that logs scores of the codes during validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unbraid._base.checks import check_at_least
from unbraid._base.optional import is_installed, require
from unbraid.integrations.scores import RepresentationScores
from unbraid.models.encoding import codes_of
from unbraid.panel.plan import resolve_metrics

if is_installed("pytorch_lightning") and not is_installed("lightning"):
    from pytorch_lightning import Callback
else:
    require("ScoresCallback", "lightning", extra="lightning")
    from lightning.pytorch import Callback  # type: ignore[assignment]

Reader = Callable[[Any, Any], tuple[Any, Any]]


def encode_batch(module: Any, batch: Any) -> tuple[Any, Any]:
    """Take a batch as ``(observations, factors, ...)``; codes are the module's ``encode`` of the observations."""
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise TypeError(
            f"batch must be (observations, factors), got {type(batch).__name__}; give ScoresCallback read=... instead."
        )
    return codes_of(module, batch[0]), batch[1]


class ScoresCallback(Callback):
    """Score the codes of the validation rows at the end of every validation, and log the scores.

    Args:
        metrics: Names or families, as :func:`unbraid.evaluate` takes them; cheap ones by default.
        read: ``(module, batch) -> (codes, factors)``; by default the batch is ``(observations, factors)`` and codes are
            ``module.encode(observations)``.
        every_n_epochs: Score every so many epochs only.
        max_rows: Rows to keep, a uniform sample of all validation rows.
        prefix: Put before each name that is logged.
        dataloader: Which validation loader to read, by its number.
        seed: Of the sample and the metrics.
        names: Factor names.
        kinds: Factor kinds.
        options: By metric or family name.

    Note:
        A score that cannot be computed is logged as NaN, with a warning, so that training goes on. With several devices
        each scores its own rows, and the mean over devices is logged.
    """

    def __init__(
        self,
        metrics: str | Sequence[str] = "mig,modularity,r2",
        *,
        read: Reader = encode_batch,
        every_n_epochs: int = 1,
        max_rows: int = 10_000,
        prefix: str = "unbraid/",
        dataloader: int = 0,
        seed: int = 0,
        names: Sequence[str] | None = None,
        kinds: Sequence[str | None] | Mapping[str, str] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        check_at_least("every_n_epochs", every_n_epochs, 1)
        self.scores = RepresentationScores(
            metrics, max_rows=max_rows, seed=seed, names=names, kinds=kinds, options=options
        )
        self.read, self.every_n_epochs, self.prefix, self.dataloader = read, every_n_epochs, prefix, dataloader

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the rows of the last validation."""
        self.scores.reset()

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Keep the codes and factors of a batch."""
        if self._is_due(trainer) and dataloader_idx == self.dataloader:
            self.scores.update(*self.read(pl_module, batch))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Score what was kept and log it."""
        if self._is_due(trainer):
            found = {f"{self.prefix}{name}": value for name, value in self._values().items()}
            pl_module.log_dict(found, sync_dist=trainer.world_size > 1)

    def _is_due(self, trainer: Any) -> bool:
        return not trainer.sanity_checking and trainer.current_epoch % self.every_n_epochs == 0

    def _values(self) -> dict[str, float]:
        try:
            return self.scores.compute()
        except ValueError as error:
            warnings.warn(f"the codes could not be scored: {error}", RuntimeWarning, stacklevel=2)
            return {metric.name: float("nan") for metric in resolve_metrics(self.scores.metrics)}
