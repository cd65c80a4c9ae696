"""Reliability of a score: its noise on fixed codes, and whether it follows a training run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import scipy
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import AnyArray, FloatArray
from unbraid._base.checks import check_at_least
from unbraid._base.progress import Show, track
from unbraid._base.workers import Workers
from unbraid.audit import encoders
from unbraid.audit.candidate import CandidateGroup, Outcome, from_catalogue
from unbraid.audit.cases import (
    CASES,
    CIRCULAR,
    IDENTITY,
    INDEPENDENT,
    MIXED,
    NOISE,
    WHEELS,
    WHEELS_NOISE,
    FactorStructure,
)

#: Steps of the training run, draws of each, and times that the same codes are scored.
N_STEPS, N_DRAWS, N_RESEEDS = 6, 4, 6
COLUMNS = ("metric", "span", "reseed", "redraw", "along_run", "told_apart")


def reliability(
    metrics: str | Iterable[str] = "default",
    *,
    n_steps: int = N_STEPS,
    n_draws: int = N_DRAWS,
    n_reseeds: int = N_RESEEDS,
    n_rows: int = 2000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Show = None,
) -> pd.DataFrame:
    """Measure the noise of scores on fixed codes, and whether they follow codes that get better.

    The codes of the run go from mixed factors under noise to the factors themselves, in equal steps. Noise is given in
    spans: the distance of the score of separated factors from that of noise, or from that of mixed codes for a score
    without labels. Where noise scores as well as separated factors, as for leakage, it is the range along the run.

    Args:
        metrics: Names, families, ``"default"`` or ``"all"``.
        n_steps: Steps of the run, at least three.
        n_draws: Draws of rows for each step, at least two.
        n_reseeds: Times that the codes in the middle of the run are scored again with other random numbers.
        n_rows: Rows.
        seed: Same seed, same numbers.
        n_jobs: Worker threads; as many as there are usable cores by default.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        A row for each score: ``span``; ``reseed``, the deviation over random numbers on fixed codes; ``redraw``, the
        deviation over draws of the rows; ``along_run``, the rank correlation of the score with the step; and
        ``told_apart``, the share of neighbouring steps whose mean scores differ, in the right direction, by more than
        two deviations of a draw. Deviations are in spans. NaN where there is no score.

    Example:
        >>> found = reliability("mig", n_steps=3, n_draws=2, n_reseeds=2, n_rows=300, n_jobs=1, progress=False)
        >>> float(found["reseed"].item()), float(found["along_run"].item())
        (0.0, 1.0)
    """
    for name, value, least in (("n_steps", n_steps, 3), ("n_draws", n_draws, 2), ("n_reseeds", n_reseeds, 2)):
        check_at_least(name, value, least)
    groups = from_catalogue(metrics)
    tasks = [(group, task) for group in groups for task in _tasks(n_steps, n_draws, n_reseeds, seed)]
    found: dict[tuple[str, str, int, int], Outcome] = {}

    def score(one: tuple[CandidateGroup, tuple[str, int, int, int]]) -> None:
        group, (kind, step, draw, drawn) = one
        circular = group.candidates[0].factor_kind is not None
        structure = CIRCULAR if circular else INDEPENDENT
        if kind == "ends":
            bad = MIXED if group.candidates[0].label_free else NOISE
            name = ((WHEELS, WHEELS_NOISE) if circular else (IDENTITY, bad))[step]
            codes, factors = CASES[name].build(seed=seed + draw, n_rows=n_rows)
        else:
            codes, factors = _of_the_run(structure, step / (n_steps - 1), seed + draw, n_rows)
        for name, outcome in group.measure(codes, factors, structure.kinds, drawn).items():
            found[name, kind, step, drawn if kind == "reseed" else draw] = outcome
        bar.advance()

    with threadpool_limits(1), track(len(tasks), progress, doing="measuring noise") as bar:
        Workers(n_jobs).map(score, tasks)
    rows = [
        _row(candidate.name, 1.0 if candidate.higher_is_better else -1.0, found, n_steps)
        for group in groups
        for candidate in group.candidates
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).set_index("metric")


def _tasks(n_steps: int, n_draws: int, n_reseeds: int, seed: int) -> list[tuple[str, int, int, int]]:
    """Kind, step, draw of the rows, and seed of the score."""
    ends = [("ends", end, draw, seed) for end in (0, 1) for draw in range(n_draws)]
    run = [("run", step, draw, seed) for step in range(n_steps) for draw in range(n_draws)]
    return [*ends, *run, *(("reseed", n_steps // 2, 0, seed + turn) for turn in range(n_reseeds))]


def _of_the_run(structure: FactorStructure, share: float, seed: int, n_rows: int) -> tuple[FloatArray, AnyArray]:
    """Codes at a share of a training run: mixed factors under noise at 0, the factors at 1."""
    rng = np.random.default_rng([seed, 17])
    factors = structure.draw(rng, n_rows)
    codes = encoders.wheels(factors, rng) if structure is CIRCULAR else encoders.identity(factors, rng)
    mix = np.full((codes.shape[1], codes.shape[1]), 1 / codes.shape[1])  # on the way to the factors nothing cancels
    noise = rng.standard_normal(codes.shape)
    return share * codes + (1 - share) * (codes @ mix + noise), factors


def _row(name: str, sign: float, found: dict[tuple[str, str, int, int], Outcome], n_steps: int) -> dict[str, object]:
    """Noise and discrimination of one score."""
    values = {key[1:]: value for key, value in found.items() if key[0] == name}
    if any(isinstance(value, str) or not np.isfinite(value) for value in values.values()):
        return dict.fromkeys(COLUMNS, np.nan) | {"metric": name}

    def of(kind: str, step: int) -> FloatArray:
        return np.array([value for (k, s, _), value in values.items() if (k, s) == (kind, step)], dtype=float)

    steps = [sign * of("run", step) for step in range(n_steps)]
    means, spread = np.array([one.mean() for one in steps]), float(np.mean([one.std(ddof=1) for one in steps]))
    span = float(abs(of("ends", 0).mean() - of("ends", 1).mean()))
    if span <= 2 * spread:
        span = float(np.ptp(means)) or 1.0
    rank = scipy.stats.spearmanr(np.arange(n_steps), means).statistic if np.ptp(means) > 0 else 0.0
    return {
        "metric": name,
        "span": span,
        "reseed": float(of("reseed", n_steps // 2).std(ddof=1) / span),
        "redraw": spread / span,
        "along_run": float(rank),
        "told_apart": float(np.mean(np.diff(means) > 2 * spread)),
    }
