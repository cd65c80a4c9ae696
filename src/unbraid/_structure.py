"""Which codes hold which factor, as far as the evidence behind the scores of a report tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._typing import BoolArray, FloatArray
from unbraid.result import Report

PROBES = ("dci_linear", "dci_forest", "dci_boosting")
LINE = PROBES[0]
INFORMATION = "mutual_information"
#: Holders are the fewest codes with this share of a probe's importance, less those that matter little beside the first.
MOST_OF_IT, BESIDE_THE_FIRST = 0.9, 0.1
#: A line is believed where it does about as well as the best probe, and shows the codes of a factor from here on;
#: trees lean on any code a little, and show them only where they read nearly everything.
AS_GOOD, READ_BY_LINE, READ_BY_TREES = 0.05, 0.7, 0.9
#: How many standard deviations above what independence gives a count must lie.
BEYOND_LUCK = 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """What holds what.

    Attributes:
        read: How well the best probe reads each factor: accuracy from guessing (0) to 1, or R², ``(n_factors,)``.
        by_line: The same of the linear probe; NaN where it was not run, ``(n_factors,)``.
        reach: How far ``read`` may be off for one factor, by the interval of the mean over factors.
        lost: For which factors no probe beats a blind guess, ``(n_factors,)``.
        holders: For each factor, the codes that its probe leans on; empty where that does not show.
        suspected: Codes that probes lean on for factors which are read, but not well enough to show their holders.
        largest: The largest importance of each code for any factor that is held, over all probes, ``(n_codes,)``.
        silent: Which codes tell no more about any factor than chance; none where that was not counted, ``(n_codes,)``.
        share: What each code alone tells about each factor, as a share of the most that one does; ``None`` where that
            was not counted, ``(n_codes, n_factors)``.
        alone: How well each code alone predicts each factor along a line or by thresholds; ``None`` where unknown.
        beats_chance: Whether some probe does better than with shuffled factors, where that was tried.
    """

    read: FloatArray
    by_line: FloatArray
    reach: float
    lost: BoolArray
    holders: tuple[tuple[int, ...], ...]
    suspected: frozenset[int]
    largest: FloatArray
    silent: BoolArray
    share: FloatArray | None
    alone: FloatArray | None
    beats_chance: bool

    @property
    def shows_something(self) -> bool:
        """Whether any factor shows in the codes; in noise, every pattern is luck."""
        return self.beats_chance and bool((~self.lost & (self.read > self.reach)).any())


def find_structure(report: Report) -> Structure | None:
    """Read the evidence of a report; ``None`` where no probe of all codes was run on two factors or more."""
    names = [name for name in PROBES if _has_probe(report, name)]
    if not names:
        return None
    importance = {name: report.scores[f"{name}.informativeness"].evidence["importance"] for name in names}
    read = {name: _from_guess(report, name) for name in names}
    best = np.max(list(read.values()), axis=0)
    by_line = read.get(LINE, np.full(len(best), np.nan))
    held_by = tuple(holders(k, importance, read) for k in range(len(best)))
    held = [k for k, codes in enumerate(held_by) if codes]
    n_codes = report.meta["n_codes"]
    largest = np.max([matrix[:, held].max(axis=1) for matrix in importance.values()], axis=0) if held else None
    counted = next((name for name, score in report.scores.items() if INFORMATION in score.evidence), None)
    mi = None if counted is None else report.scores[counted].evidence[INFORMATION]
    alone = report.scores["sap"].evidence.get("predictability") if "sap" in report.scores else None
    return Structure(
        read=best,
        by_line=by_line,
        reach=_reach(report, names),
        lost=np.all([matrix.sum(axis=0) == 0 for matrix in importance.values()], axis=0),
        holders=held_by,
        suspected=_suspected(held_by, importance, read),
        largest=np.zeros(n_codes) if largest is None else largest,
        silent=_silent(report, counted, alone),
        share=None if mi is None else mi / np.maximum(mi.max(axis=0), 1e-12),
        alone=alone,
        beats_chance=any(report.scores[f"{name}.informativeness"].beats_chance is not False for name in names),
    )


def fewest(weights: FloatArray) -> tuple[int, ...]:
    """Return the fewest codes that hold most of the weight, in their own order, without those that hardly count.

    Example:
        >>> fewest(np.array([0.5, 0.44, 0.03, 0.03])), fewest(np.zeros(2))
        ((0, 1), ())
    """
    if weights.sum() <= 0:
        return ()
    order = np.argsort(-weights, kind="stable")
    together = np.cumsum(weights[order]) / weights.sum()
    kept = order[: int(np.searchsorted(together, MOST_OF_IT - 1e-9)) + 1]
    return tuple(sorted(int(j) for j in kept if weights[j] >= BESIDE_THE_FIRST * weights.max()))


def _has_probe(report: Report, name: str) -> bool:
    score = report.scores.get(f"{name}.informativeness")
    return score is not None and score.per_factor is not None and "importance" in score.evidence


def _from_guess(report: Report, name: str) -> FloatArray:
    """Return what a probe gets of each factor; accuracy is counted from guessing among equally common values."""
    scored = report.scores[f"{name}.informativeness"].per_factor
    assert scored is not None
    kinds, levels = report.meta["factor_kinds"], report.meta["factor_levels"]
    guess = np.array([1 / n if kind == "categorical" and n else 0.0 for kind, n in zip(kinds, levels, strict=True)])
    corrected: FloatArray = np.maximum(0.0, (scored - guess) / np.maximum(1 - guess, 1e-12))
    return corrected


def holders(k: int, importance: dict[str, FloatArray], read: dict[str, FloatArray]) -> tuple[int, ...]:
    """Return the codes of one factor: from a line where that does as well as any, else from the best trees."""
    best = max(read, key=lambda name: read[name][k])
    if LINE in read and read[LINE][k] >= max(READ_BY_LINE, read[best][k] - AS_GOOD):
        return fewest(importance[LINE][:, k])
    return fewest(importance[best][:, k]) if best != LINE and read[best][k] >= READ_BY_TREES else ()


def _suspected(
    held_by: tuple[tuple[int, ...], ...], importance: dict[str, FloatArray], read: dict[str, FloatArray]
) -> frozenset[int]:
    leaned_on = [fewest(importance[max(read, key=lambda n: read[n][k])][:, k]) for k, h in enumerate(held_by) if not h]
    return frozenset(j for codes in leaned_on for j in codes)


def _reach(report: Report, names: list[str]) -> float:
    """Widen the interval of the mean over factors to that of one factor, as if factors erred on their own."""
    scores = [report.scores[f"{name}.informativeness"] for name in names]
    known = [score.high - score.low for score in scores if score.low is not None and score.high is not None]
    return max(known) / 2 * float(np.sqrt(report.meta["n_factors"])) if len(known) == len(scores) else 1.0


def _silent(report: Report, counted: str | None, alone: FloatArray | None) -> BoolArray:
    """Tell which codes neither counts in bins nor lines connect with any factor."""
    if counted is None:
        return np.zeros(report.meta["n_codes"], dtype=bool)
    mi = report.scores[counted].evidence[INFORMATION]
    told: BoolArray = mi > _chance_information(report, counted)
    if alone is not None:
        numeric = np.array([kind != "categorical" for kind in report.meta["factor_kinds"]])
        told = told | numeric & (alone > BEYOND_LUCK**2 / report.meta["n_samples"])
    quiet: BoolArray = np.logical_not(told.any(axis=1))
    return quiet


def _chance_information(report: Report, counted: str) -> FloatArray:
    """Return the information that a code independent of the factors rarely exceeds, by the number of filled cells."""
    rows, bins = report.meta["n_samples"], int(report.meta["options"].get(counted, {}).get("n_bins", 20))
    levels = np.array([n or bins for n in report.meta["factor_levels"]], dtype=np.float64)
    cells = bins * levels
    filled = cells * -np.expm1(-rows / cells)
    freedom = np.maximum(filled - bins - levels + 1, 1.0)
    limit: FloatArray = (freedom + BEYOND_LUCK * np.sqrt(2 * freedom)) / (2 * rows)
    return limit
