"""scikit-learn scorers ``(estimator, X, y) -> number``, for ``cross_val_score`` and ``GridSearchCV``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unbraid.metrics import METRICS
from unbraid.models.encoding import codes_of
from unbraid.panel.evaluation import evaluate
from unbraid.panel.plan import resolve_metrics


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """One score of an estimator's codes; build it with :func:`scorer`.

    Attributes:
        metric: Name of one score.
        seed: Of what the metric draws.
        options: Of the metric.
    """

    metric: str
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
        """Return the score of ``estimator``'s codes of ``X`` for factors ``y``; negated where lower is better."""
        return Scorers(metrics=self.metric, seed=self.seed, options={self.metric: self.options})(estimator, X, y)[
            self.metric
        ]


@dataclass(frozen=True, kw_only=True)
class Scorers:
    """Several scores at once, evidence shared; build it with :func:`scorers`."""

    metrics: str
    seed: int = 0
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any) -> dict[str, float]:  # noqa: N803
        """Return each score of ``estimator``'s codes of ``X`` for factors ``y``; negated where lower is better."""
        report = evaluate(
            codes_of(estimator, X),
            y,
            metrics=self.metrics,
            seed=self.seed,
            options={name: given for name, given in self.options.items() if given},
            n_jobs=1,
            intervals=False,
            nulls=False,
            progress=False,
        )
        if report.failures:
            name, reason = next(iter(report.failures.items()))
            raise ValueError(f"{name} could not be scored: {reason}")
        return {name: score.value if METRICS[name].higher_is_better else -score.value for name, score in report.items()}


def scorer(metric: str, *, seed: int = 0, **options: Any) -> Scorer:
    """Return a scorer for ``scoring=`` of scikit-learn.

    Codes are what the estimator's ``encode``, ``transform`` or ``predict`` gives, the first it has; ``y`` is the factor
    table. scikit-learn takes higher as better, so a score that is better when lower is negated.

    Args:
        metric: Name of one score, such as ``"mig"`` or ``"dci_forest.disentanglement"``.
        seed: Same seed, same number.
        options: Of the metric, as its function takes them.

    Raises:
        ValueError: An unknown metric, or a family of several; :func:`scorers` takes those.

    Example:
        >>> import numpy as np
        >>> from sklearn.decomposition import PCA
        >>> from sklearn.model_selection import cross_val_score
        >>> factors = np.random.default_rng(0).integers(0, 4, (300, 2))
        >>> x = factors * [1.0, 2.0]
        >>> scores = cross_val_score(PCA(2), x, factors, scoring=scorer("r2"), cv=3)
        >>> bool((scores > 0.9).all())
        True
    """
    names = [row.name for row in resolve_metrics(metric)]
    if names != [metric]:
        raise ValueError(
            f"metric must name one score, got {metric!r}, which stands for {', '.join(names)}; use scorers instead."
        )
    return Scorer(metric=metric, seed=seed, options=options)


def scorers(metrics: str, *, seed: int = 0, options: Mapping[str, Mapping[str, Any]] | None = None) -> Scorers:
    """Return a scorer that gives several scores at once, for ``cross_validate`` and ``GridSearchCV(refit=NAME)``.

    Args:
        metrics: Names or families with commas between, as :func:`unbraid.evaluate` takes them.
        seed: Same seed, same numbers.
        options: By metric or family name.

    Raises:
        ValueError: An unknown metric.
    """
    resolve_metrics(metrics)
    return Scorers(metrics=metrics, seed=seed, options=options or {})
