"""The run of an audit: every candidate on every case, for several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from threadpoolctl import threadpool_limits

from unbraid._base.checks import check_at_least
from unbraid._base.progress import Show, track
from unbraid._base.workers import Workers
from unbraid.audit.candidate import CandidateGroup, Outcome, from_catalogue, from_function
from unbraid.audit.cases import CASES, IDENTITY, N_ROWS, Case, resolve_cases, with_references
from unbraid.audit.result import Audit, describe_run
from unbraid.audit.verdicts import judge

N_SEEDS = 5
FEWEST_ROWS = 200
#: Arguments for a user's own metric only, with the defaults.
OWN_CLAIMS: dict[str, Any] = {
    "measures": None,
    "name": None,
    "bounds": (0.0, 1.0),
    "higher_is_better": True,
    "invariant_to": "",
    "min_factors": 1,
}
#: Scores by metric, then by case, one for each seed.
Found = dict[str, dict[str, tuple[Outcome, ...]]]


def run(
    metric: str | Iterable[str] | Callable[..., Any] = "all",
    *,
    measures: str | Iterable[str] | None = None,
    name: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    invariant_to: str | Iterable[str] = "",
    min_factors: int = 1,
    cases: str | Iterable[str] = "all",
    n_seeds: int = N_SEEDS,
    n_rows: int = N_ROWS,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Show = None,
) -> Audit:
    """Try metrics on representations with known answers, and say which notices what.

    Args:
        metric: Names from the catalogue (a family name stands for all its scores), or a function
            ``(codes, factors) -> float | Score`` of your own.
        measures: What your own metric claims to measure: ``modularity``, ``compactness``, ``explicitness``,
            ``orthogonality``, ``independence``, ``dimension``, or several. What it should do in each case follows
            from this.
        name: Name of your own metric; the name of the function by default.
        bounds: Lowest and highest value of your own metric; ``inf`` where there is none.
        higher_is_better: Direction of your own metric.
        invariant_to: Invariances that your own metric promises: ``permutation``, ``scaling``, ``warping``,
            ``rotation``.
        min_factors: Fewest factors your own metric covers; below that it should raise ``ValueError``.
        cases: Names of cases or patterns such as ``"correlated/*"``; those they are compared with are added.
        n_seeds: Times each case is drawn, at least 2; the scatter decides how sure a verdict must be.
        n_rows: Rows of each case, except where the point is that there are few.
        seed: First seed. Same seed, same numbers, for any ``n_jobs``.
        n_jobs: Worker threads; as many as there are usable cores by default.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        An :class:`~unbraid.audit.Audit`.

    Raises:
        ValueError: An unknown metric, case or claim; a metric of your own that has no score for separated factors.

    Example:
        >>> from unbraid import audit, metrics
        >>> found = audit.run(metrics.mig, measures="compactness", cases="independent/duplicated", n_seeds=2)
        >>> str(found["mig", "independent/duplicated"].verdict)
        'pass'
    """
    claims = {
        "measures": measures,
        "name": name,
        "bounds": bounds,
        "higher_is_better": higher_is_better,
        "invariant_to": invariant_to,
        "min_factors": min_factors,
    }
    groups = _groups(metric, claims)
    of_angles = any(candidate.factor_kind is not None for group in groups for candidate in group.candidates)
    chosen = with_references(resolve_cases(cases), of_angles=of_angles)
    _check_sizes(n_seeds, n_rows, seed)
    workers = Workers(n_jobs)
    if callable(metric):
        _check_runs(groups[0], seed, n_rows)

    started = time.process_time()
    found = _measure(groups, chosen, range(seed, seed + n_seeds), n_rows, workers, progress)
    seconds = time.process_time() - started

    candidates = tuple(candidate for group in groups for candidate in group.candidates)
    return Audit(
        candidates=candidates,
        cases=tuple(chosen),
        findings={(one.name, case.name): judge(one, case, found[one.name]) for one in candidates for case in chosen},
        meta=describe_run(n_seeds=n_seeds, n_rows=n_rows, seed=seed, cpu_seconds=seconds, own=callable(metric)),
    )


def _groups(metric: str | Iterable[str] | Callable[..., Any], claims: dict[str, Any]) -> list[CandidateGroup]:
    """Return the candidates; arguments that only a user's own metric takes are refused for other metrics."""
    if not callable(metric):
        for argument, value in claims.items():
            if value != OWN_CLAIMS[argument]:
                raise ValueError(f"{argument} must be left out for metrics of the catalogue, which define it.")
        return from_catalogue(metric)
    if claims["measures"] is None:
        raise ValueError(
            "measures must say what the metric claims to measure (modularity, compactness, explicitness, "
            "orthogonality, independence or dimension); what it should do follows from that."
        )
    return [from_function(metric, **claims)]


def _check_sizes(n_seeds: int, n_rows: int, seed: int) -> None:
    check_at_least("n_seeds", n_seeds, 2)
    check_at_least("n_rows", n_rows, FEWEST_ROWS)
    check_at_least("seed", seed, 0)


def _check_runs(group: CandidateGroup, seed: int, n_rows: int) -> None:
    """Raise if a metric of the user's own cannot score the plainest case: then there is nothing to audit."""
    codes, factors = CASES[IDENTITY].build(seed=seed, n_rows=n_rows)
    for name, outcome in group.measure(codes, factors, None, seed).items():
        if isinstance(outcome, str):
            raise ValueError(f"metric {name!r} has no score for separated factors: {outcome}")


def _measure(
    groups: list[CandidateGroup], cases: list[Case], seeds: range, n_rows: int, workers: Workers, progress: Show
) -> Found:
    """Score every group on every case and seed; the order in which they finish does not matter."""
    found: dict[tuple[str, str, int], Outcome] = {}

    def score(task: tuple[CandidateGroup, Case, int]) -> None:
        group, case, seed = task
        codes, factors = case.build(seed=seed, n_rows=n_rows)
        for name, outcome in group.measure(codes, factors, case.structure.kinds, seed).items():
            found[name, case.name, seed] = outcome
        bar.advance()

    tasks = [(group, case, seed) for group in groups for case in cases for seed in seeds]
    with threadpool_limits(1), track(len(tasks), progress, doing="auditing") as bar:
        workers.map(score, tasks)
    names = [candidate.name for group in groups for candidate in group.candidates]
    return {
        name: {case.name: tuple(found[name, case.name, seed] for seed in seeds) for case in cases} for name in names
    }
