"""Candidates of the audit: metrics of the catalogue or a user's own function, with their claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray
from unbraid._base.checks import check_choice
from unbraid._base.user_code import load_object
from unbraid._base.workers import Workers
from unbraid.audit.truth import Should, Truth, expectation
from unbraid.metrics import Invariance, Metric, Property, Source
from unbraid.panel.plan import resolve_metrics
from unbraid.representation.factor import FactorKind
from unbraid.representation.representation import Representation, check_n_factors
from unbraid.results.score import Score

Kinds = tuple[str | None, ...] | None
#: A score, or the reason why there is none.
Outcome = float | str
#: Codes, factors, their kinds where declared, and a seed.
Measure = Callable[[FloatArray, AnyArray, Kinds, int], Mapping[str, Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A score to audit, and its claims.

    Attributes:
        name: Name in tables.
        title: Spelled out.
        measures: The properties it claims to measure.
        bounds: Lowest and highest possible value.
        higher_is_better: Direction.
        invariant_to: Changes of the codes it promises not to mind.
        min_factors: Fewest factors it covers; below that, refusing is right.
        factor_kind: Kind of factor it is for; without one, refusing is right.
    """

    name: str
    title: str
    measures: tuple[Property, ...]
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    invariant_to: frozenset[Invariance] = frozenset()
    min_factors: int = 1
    factor_kind: FactorKind | None = None

    @property
    def best(self) -> float:
        """The best possible value."""
        return self.bounds[1] if self.higher_is_better else self.bounds[0]

    @property
    def worst(self) -> float:
        """The worst possible value."""
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def label_free(self) -> bool:
        """Whether it measures the codes alone, so that codes of noise may score well."""
        return set(self.measures) <= {Property.INDEPENDENCE, Property.DIMENSION}

    def should(self, truth: Truth) -> tuple[Should, tuple[str, ...]]:
        """Return the expected behaviour of the score in a case, and its reasons."""
        return expectation(truth, self.measures, self.invariant_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateGroup:
    """Candidates that are scored together, because they share evidence."""

    candidates: tuple[Candidate, ...]
    measure: Measure


def from_catalogue(metrics: str | Iterable[str]) -> list[CandidateGroup]:
    """Return metrics of the catalogue, grouped by the evidence they share."""
    by_source: dict[str, list[Metric]] = {}
    for metric in resolve_metrics(metrics):
        by_source.setdefault(metric.source.name, []).append(metric)
    return [_group(found) for found in by_source.values()]


def _group(metrics: list[Metric]) -> CandidateGroup:
    source = metrics[0].source
    candidates = tuple(
        Candidate(
            name=metric.name,
            title=metric.title,
            measures=metric.measures,
            bounds=metric.bounds,
            higher_is_better=metric.higher_is_better,
            invariant_to=metric.invariant_to,
            min_factors=metric.min_factors,
            factor_kind=metric.factor_kind,
        )
        for metric in metrics
    )

    def measure(codes: FloatArray, factors: AnyArray, kinds: Kinds, seed: int) -> dict[str, Outcome]:
        return _score_all(metrics, source, Representation(codes, factors, kinds=kinds), seed)

    return CandidateGroup(candidates=candidates, measure=measure)


def _score_all(metrics: list[Metric], source: Source, rep: Representation, seed: int) -> dict[str, Outcome]:
    """Gather evidence once, in its light form where there is one, and score every metric computed from it."""
    options = source.options() if source.lighten is None else source.lighten(source.options())
    outcomes: dict[str, Outcome] = {m.name: refusal for m in metrics if (refusal := _refusal(m, rep))}
    covered = [metric for metric in metrics if metric.name not in outcomes]
    if not covered:
        return outcomes
    try:
        # one thread for each: the audit has thousands of these to run side by side
        rng, alone = np.random.default_rng([seed, crc32(source.name.encode())]), Workers(1, torch_threads=1)
        evidence = source.evidence(rep, options, rng, alone)
    except Exception as error:  # one metric must never take the others down; its row carries the reason
        return outcomes | {metric.name: _reason(error) for metric in covered}
    for metric in covered:
        try:
            outcomes[metric.name] = as_number(metric.score(evidence))
        except Exception as error:  # as above
            outcomes[metric.name] = _reason(error)
    return outcomes


def _refusal(metric: Metric, rep: Representation) -> str | None:
    """Return why the definition of a metric does not cover a representation, or nothing if it does."""
    try:
        check_n_factors(rep, metric=metric.name, min_factors=metric.min_factors)
    except ValueError as error:
        return str(error)
    return None


def from_function(
    function: Callable[..., Any],
    *,
    measures: str | Iterable[str],
    name: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    invariant_to: str | Iterable[str] = (),
    min_factors: int = 1,
) -> CandidateGroup:
    """Wrap ``function(codes, factors) -> float | Score`` as a candidate."""
    low, high = bounds
    if not low < high:
        raise ValueError(f"bounds must be the lowest and the highest value, got {low} and {high}.")
    label = name or str(getattr(function, "__name__", type(function).__name__))
    candidate = Candidate(
        name=label,
        title=label,
        measures=tuple(dict.fromkeys(Property(word) for word in _words("measures", measures, Property, least=1))),
        bounds=(float(low), float(high)),
        higher_is_better=higher_is_better,
        invariant_to=frozenset(Invariance(word) for word in _words("invariant_to", invariant_to, Invariance)),
        min_factors=min_factors,
    )

    def measure(codes: FloatArray, factors: AnyArray, kinds: Kinds, seed: int) -> dict[str, Outcome]:
        try:
            return {label: as_number(function(codes, factors))}
        except Exception as error:  # an error of the user's function on one case must not hide the other cases
            return {label: _reason(error)}

    return CandidateGroup(candidates=(candidate,), measure=measure)


def load_plugin(address: str) -> tuple[str, Callable[..., Any]]:
    """Return name and function of ``FILE.py:NAME``, or of ``metric`` in ``FILE.py``; the file is run.

    Raises:
        ValueError: No such file, a file that does not run, or one without that function.
    """
    name, function = load_object("plugin", address, default="metric")
    if not callable(function):
        raise ValueError(f"plugin {address!r} must name a function, got {name} = {function!r}.")
    return name, function


def as_number(result: Any) -> float:
    """Return the number of a score, or say why there is none."""
    if isinstance(result, Score):
        result = result.value
    try:
        value = float(result) if np.ndim(result) == 0 else None
    except (TypeError, ValueError):
        value = None
    if value is None:
        shape = f" of shape {result.shape}" if hasattr(result, "shape") else ""
        raise ValueError(f"the metric must return one number or a Score, got {type(result).__name__}{shape}.")
    if np.isnan(value):
        raise ValueError("the metric must return a number, got nan.")
    return value


def _words(argument: str, given: str | Iterable[str], choices: Any, *, least: int = 0) -> list[str]:
    words = [part.strip() for part in given.split(",")] if isinstance(given, str) else [str(part) for part in given]
    words = [word for word in words if word]
    if len(words) < least:
        raise ValueError(f"{argument} must say what the metric claims to measure: {', '.join(choices)}; got nothing.")
    for word in words:
        check_choice(argument, word, [str(choice) for choice in choices])
    return words


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
