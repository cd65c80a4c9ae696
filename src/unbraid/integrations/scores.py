"""Scores of codes that come in batches, with the ``update``, ``compute`` and ``reset`` of torchmetrics."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, to_array
from unbraid.metrics import METRICS
from unbraid.panel.evaluation import evaluate
from unbraid.panel.plan import resolve_metrics
from unbraid.representation.representation import Representation
from unbraid.results.report import Report


class RepresentationScores:
    """Gather codes and factors batch by batch, then score them all; torchmetrics is not needed.

    Args:
        metrics: Names or families, as :func:`unbraid.evaluate` takes them.
        max_rows: Keep a uniform sample of this many rows at most, whatever comes; all rows by default.
        seed: Of that sample and of the metrics.
        names: Factor names.
        kinds: Factor kinds, as :class:`~unbraid.Representation` takes them.
        options: By metric or family name.

    Raises:
        ValueError: An unknown metric, or ``max_rows`` too few to score.

    Example:
        >>> import numpy as np
        >>> scores = RepresentationScores("mig,r2", max_rows=500)
        >>> rng = np.random.default_rng(0)
        >>> for _ in range(10):
        ...     factors = rng.integers(0, 4, (100, 2))
        ...     scores.update(factors + 0.0, factors)
        >>> len(scores), scores.n_seen
        (500, 1000)
        >>> {name: round(value, 2) for name, value in scores.compute().items()}
        {'mig': 1.0, 'r2': 1.0}
    """

    def __init__(
        self,
        metrics: str | Iterable[str] = "default",
        *,
        max_rows: int | None = None,
        seed: int = 0,
        names: Sequence[str] | None = None,
        kinds: Sequence[str | None] | Mapping[str, str] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if max_rows is not None:
            check_at_least("max_rows", max_rows, 4)
        check_at_least("seed", seed, 0)
        self.metrics = metrics if isinstance(metrics, str) else tuple(metrics)
        resolve_metrics(self.metrics)
        self.max_rows, self.seed = max_rows, seed
        self.names, self.kinds, self.options = names, kinds, options
        self.reset()

    def __len__(self) -> int:
        """Rows kept."""
        return sum(len(part) for part in self._codes)

    def update(self, codes: Any, factors: Any) -> None:
        """Add a batch: tensors on any device, or arrays; one row for each observation.

        Raises:
            ValueError: Shapes that do not fit each other or the batches before.
        """
        z, v = to_array(codes), to_array(factors)
        v = v[:, None] if v.ndim == 1 else v
        if z.ndim != 2 or v.ndim != 2 or len(z) != len(v):
            raise ValueError(
                f"codes and factors must have shapes (n, n_codes) and (n, n_factors), got {z.shape} and {v.shape}."
            )
        if self._codes and (z.shape[1], v.shape[1]) != (self._codes[0].shape[1], self._factors[0].shape[1]):
            raise ValueError(
                f"codes and factors must have as many columns as before ({self._codes[0].shape[1]} and "
                f"{self._factors[0].shape[1]}), got {z.shape[1]} and {v.shape[1]}; call reset first."
            )
        keys, arrivals = self._rng.random(len(z)), np.arange(self.n_seen, self.n_seen + len(z))
        self.n_seen += len(z)
        chosen = keys < self._limit
        self._append(z[chosen], v[chosen], keys[chosen], arrivals[chosen])
        if self.max_rows is not None and len(self) > self.max_rows:
            self._thin(self.max_rows)

    def report(self, **settings: Any) -> Report:
        """Score what was gathered, as :func:`unbraid.evaluate` does, with ``settings`` for it.

        Raises:
            ValueError: Nothing gathered, or nothing that can be scored.
        """
        if not self._codes:
            raise ValueError("update must be called before compute: no rows have come in.")
        codes, factors = (np.concatenate(parts) for parts in (self._codes, self._factors))
        order = np.argsort(np.concatenate(self._arrivals))
        rep = Representation(codes[order], factors[order], names=self.names, kinds=self.kinds)
        shared: dict[str, Any] = {"progress": False, "options": self.options, "n_jobs": 1}
        return evaluate(rep, metrics=self.metrics, seed=self.seed, **shared | settings)

    def compute(self) -> dict[str, float]:
        """Return the value of each score, without intervals; NaN, with a warning, where one could not be computed."""
        found = self.report(intervals=False, nulls=False)
        for name, reason in found.failures.items():
            warnings.warn(f"{name} could not be scored: {reason}", RuntimeWarning, stacklevel=2)
        values = {name: score.value for name, score in found.items()} | dict.fromkeys(found.failures, float("nan"))
        return {name: values[name] for name in METRICS if name in values}

    def reset(self) -> None:
        """Forget every row."""
        self._codes: list[AnyArray] = []
        self._factors: list[AnyArray] = []
        self._keys: list[FloatArray] = []
        self._arrivals: list[IntArray] = []
        self._rng = np.random.default_rng(self.seed)
        self._limit = np.inf
        self.n_seen = 0

    def _append(self, codes: AnyArray, factors: AnyArray, keys: FloatArray, arrivals: IntArray) -> None:
        if len(codes):
            self._codes.append(codes)
            self._factors.append(factors)
            self._keys.append(keys)
            self._arrivals.append(arrivals)

    def _thin(self, n_rows: int) -> None:
        """Keep the rows with the smallest keys: a uniform sample of all that came. Larger keys are passed by later."""
        codes, factors = np.concatenate(self._codes), np.concatenate(self._factors)
        keys, arrivals = np.concatenate(self._keys), np.concatenate(self._arrivals)
        kept = np.argpartition(keys, n_rows - 1)[:n_rows]
        self._codes, self._factors, self._keys, self._arrivals = [], [], [], []
        self._append(codes[kept], factors[kept], keys[kept], arrivals[kept])
        self._limit = float(keys[kept].max())
