"""Which codes carry which factor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.text import quoted
from unbraid.results.report import Report

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
        leans: For each factor that is read, but not well enough to show its holders, the codes a line leans on, if each
            of them tells something alone and no probe does better than the line; else empty.
        suspected: For each factor without holders, the codes its best probe leans on, a line where that will do.
        largest: The largest importance of each code for any factor that is held, over all probes, ``(n_codes,)``.
        told: Which codes may tell more about which factor than chance, by counts or by lines; ``None`` where nothing
            was counted, ``(n_codes, n_factors)``.
        sure: Which codes surely do, ``None`` where nothing was counted, ``(n_codes, n_factors)``.
        information: What each code alone tells about each factor, in nats; ``None`` where that was not counted.
        excess: The same, counted from what chance does not exceed, however few rows there are to a cell.
        entropy: Of each factor, in nats; NaN where not known, ``(n_factors,)``.
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
    leans: tuple[tuple[int, ...], ...]
    suspected: tuple[tuple[int, ...], ...]
    largest: FloatArray
    told: BoolArray | None
    sure: BoolArray | None
    information: FloatArray | None
    excess: FloatArray | None
    entropy: FloatArray
    share: FloatArray | None
    alone: FloatArray | None
    beats_chance: bool

    @property
    def shows_something(self) -> bool:
        """Whether any factor shows in the codes; in noise, every pattern is luck."""
        return self.beats_chance and bool((~self.lost & (self.read > self.reach)).any())

    @property
    def silent(self) -> BoolArray:
        """Which codes tell no more about any factor than chance; none where that was not counted, ``(n_codes,)``."""
        nobody: BoolArray = np.zeros(len(self.largest), dtype=bool)
        quiet: BoolArray = nobody if self.told is None else np.logical_not(self.told.any(axis=1))
        return quiet

    def place(self, k: int) -> tuple[int, ...]:
        """Return the codes that hold one factor, whole or in part; empty where that does not show."""
        return self.holders[k] or self.leans[k]


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
    told = (
        None
        if counted is None or mi is None
        else _by_lines(report, alone) | (mi > _chance_information(report, counted))
    )
    excess = None if counted is None or mi is None else np.maximum(mi - _sure_information(report, counted), 0.0)
    sure = None if excess is None else _by_lines(report, alone) | (excess > 0)
    reach = _reach(report, names)
    return Structure(
        read=best,
        by_line=by_line,
        reach=reach,
        lost=np.all([matrix.sum(axis=0) == 0 for matrix in importance.values()], axis=0),
        holders=held_by,
        leans=tuple(
            () if codes or not best[k] > reach else _leans(k, importance, read, sure) for k, codes in enumerate(held_by)
        ),
        suspected=_suspected(held_by, importance, read),
        largest=np.zeros(n_codes) if largest is None else largest,
        told=told,
        sure=sure,
        information=mi,
        excess=excess,
        entropy=_entropy(report),
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


def _line_will_do(k: int, read: dict[str, FloatArray]) -> bool:
    return LINE in read and bool(read[LINE][k] >= max(scores[k] for scores in read.values()) - AS_GOOD)


def _leans(
    k: int, importance: dict[str, FloatArray], read: dict[str, FloatArray], sure: BoolArray | None
) -> tuple[int, ...]:
    """Return the codes of a factor that is read in part, where a line shows them and each tells something alone."""
    if sure is None or not _line_will_do(k, read):
        return ()
    codes = fewest(importance[LINE][:, k])
    return codes if all(sure[j, k] for j in codes) else ()


def _suspected(
    held_by: tuple[tuple[int, ...], ...], importance: dict[str, FloatArray], read: dict[str, FloatArray]
) -> tuple[tuple[int, ...], ...]:
    """Return the codes leaned on for factors without holders; trees lean on any, so a line is asked if it will do."""
    probe = [LINE if _line_will_do(k, read) else max(read, key=lambda n: read[n][k]) for k in range(len(held_by))]
    return tuple(() if codes else fewest(importance[probe[k]][:, k]) for k, codes in enumerate(held_by))


def _reach(report: Report, names: list[str]) -> float:
    """Widen the interval of the mean over factors to that of one factor, as if factors erred on their own."""
    scores = [report.scores[f"{name}.informativeness"] for name in names]
    known = [score.high - score.low for score in scores if score.low is not None and score.high is not None]
    return max(known) / 2 * float(np.sqrt(report.meta["n_factors"])) if len(known) == len(scores) else 1.0


def _by_lines(report: Report, alone: FloatArray | None) -> BoolArray:
    """Tell which codes alone a line connects with which factor; it has accuracies for categorical ones, so none."""
    numeric = np.array([kind != "categorical" for kind in report.meta["factor_kinds"]])
    nothing: BoolArray = np.zeros((report.meta["n_codes"], len(numeric)), dtype=bool)
    return nothing if alone is None else numeric & (alone > BEYOND_LUCK**2 / report.meta["n_samples"])


def _entropy(report: Report) -> FloatArray:
    """Return the entropy that the gap in information was divided by, which the gap and its share give."""
    unknown: FloatArray = np.full(report.meta["n_factors"], np.nan)
    score = report.scores.get("mig")
    by_code = report.meta["options"].get("mig", {}).get("normalise_by") == "code"
    if score is None or score.per_factor is None or INFORMATION not in score.evidence or by_code:
        return unknown
    ranked = np.sort(score.evidence[INFORMATION], axis=0)
    gap = ranked[-1] - ranked[-2]
    entropy: FloatArray = np.divide(gap, score.per_factor, out=unknown, where=score.per_factor > 1e-6)
    return entropy


def _chance_information(report: Report, counted: str) -> FloatArray:
    """Return the information that a code independent of the factors rarely exceeds, by the number of filled cells.

    With few rows to a cell it exceeds this often: what stays below tells nothing, but not all that lies above tells.
    """
    rows, bins, levels = _table_sizes(report, counted)
    cells = bins * levels
    filled = cells * -np.expm1(-rows / cells)
    freedom = np.maximum(filled - bins - levels + 1, 1.0)
    limit: FloatArray = (freedom + BEYOND_LUCK * np.sqrt(2 * freedom)) / (2 * rows)
    return limit


def _sure_information(report: Report, counted: str) -> FloatArray:
    """Return the information beyond which a code is not independent of the factors, also with few rows to a cell."""
    rows, bins, levels = _table_sizes(report, counted)
    return np.array([most_by_chance(rows, bins, int(n)) for n in levels])


def most_by_chance(rows: int, bins: int, levels: int) -> float:
    """Return the mutual information in nats that evenly filled, independent columns hardly exceed.

    Each cell has a Poisson number of rows; the sum over cells of its information has the mean and deviation that
    follow, less the part of both that fixed totals take away.

    Example:
        >>> round(most_by_chance(2000, 20, 20), 2), round(most_by_chance(200, 20, 20), 2)
        (0.13, 1.06)
    """
    cells = bins * levels
    expected = rows / cells
    counts = np.arange(int(expected + 12 * np.sqrt(expected)) + 30)
    log_chance = counts * np.log(expected) - expected - np.r_[0.0, np.cumsum(np.log(counts[1:]))]
    chance = np.exp(log_chance)
    told = counts * np.log(np.maximum(counts, 1) / expected)
    mean = float(chance @ told)
    shared = float(chance @ (counts * told)) - expected * mean
    variance = float(chance @ told**2) - mean**2 - shared**2 / expected
    return (cells * mean - (bins + levels - 2) / 2 + BEYOND_LUCK * float(np.sqrt(cells * max(variance, 0.0)))) / rows


def _table_sizes(report: Report, counted: str) -> tuple[int, int, FloatArray]:
    bins = int(report.meta["options"].get(counted, {}).get("n_bins", 20))
    levels = np.array([n or bins for n in report.meta["factor_levels"]], dtype=np.float64)
    return report.meta["n_samples"], bins, levels


#: A factor that makes up less of what a code holds is a leak, and one that makes up less than the second not told of.
LEAK, SPOKEN_OF = 0.05, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Factors that share codes, and those codes, by position."""

    factors: tuple[int, ...]
    codes: tuple[int, ...]


def content(report: Report, structure: Structure, factors: Sequence[int]) -> FloatArray | None:
    """Return the share of each factor in what each code tells of them all, ``(n_codes, n_factors)``.

    What a code tells is the larger of the R² of a line, and the R² that two normal variables with the information
    found in bins would have, counted from what chance rarely exceeds.

    Returns:
        ``None`` where no information was counted, or there are too few rows to tell that a leak is one.
    """
    if structure.excess is None or BEYOND_LUCK**2 / report.meta["n_samples"] > LEAK:
        return None
    told = -np.expm1(-2 * structure.excess)
    told = np.maximum(told, by_lines(report, structure))[:, list(factors)]
    shares: FloatArray = told / np.maximum(told.sum(axis=1, keepdims=True), 1e-12)
    return shares


def about(shares: FloatArray, j: int, factors: Sequence[int]) -> tuple[int, ...]:
    """Return the factors that one code is about, leaks left out, the largest share first."""
    order = np.argsort(-shares[j], kind="stable")
    return tuple(factors[i] for i in order if shares[j, i] >= LEAK)


def by_factor(group: Group, shares: FloatArray) -> list[Group] | None:
    """Part a group into one for each factor if every code is about one factor; ``None`` if one is about several."""
    owners = [about(shares, j, group.factors) for j in group.codes]
    if any(len(owner) != 1 for owner in owners):
        return None
    codes = {k: tuple(j for j, o in zip(group.codes, owners, strict=True) if o == (k,)) for k in group.factors}
    return [Group(factors=(k,), codes=held) for k, held in codes.items() if held]


def who_is_where(report: Report, group: Group, shares: FloatArray) -> tuple[str, tuple[int, ...]]:
    """Say of each code of a group whether it is about one factor or mixes several, and return those that mix."""
    factors, codes = report.meta["factor_names"], report.meta["code_names"]
    owners = {j: about(shares, j, group.factors) for j in group.codes}
    mixing = tuple(j for j, owner in owners.items() if len(owner) > 1)
    parts = [f"“{codes[j]}” is about “{factors[owner[0]]}” alone" for j, owner in owners.items() if len(owner) == 1]
    parts += [
        f"“{codes[j]}” mixes “{factors[owners[j][0]]}” with {quoted([factors[k] for k in owners[j][1:]])}"
        for j in mixing
    ]
    return "; ".join(parts), mixing


def leaks(report: Report, structure: Structure, held: Sequence[tuple[int, int]]) -> list[str]:
    """Say how much of a code that one factor has to itself is another's after all, by the R² of a line."""
    names, codes = report.meta["factor_names"], report.meta["code_names"]
    linear = by_lines(report, structure)
    return [
        f"“{codes[j]}” has a little of “{names[other]}” too ({linear[j, other]:.2f} of its variance)"
        for k, j in held
        for other in np.flatnonzero((linear[j] >= SPOKEN_OF) & (np.arange(len(names)) != k))
        if not depend(report, {names[k], names[other]})
    ]


def depend(report: Report, names: Collection[str]) -> bool:
    """Tell whether one factor depends on any other in the data, or several on each other: sharing is then no fault."""
    pairs = () if report.dependence is None else report.dependence.dependent_pairs
    least = 1 if len(names) == 1 else 2
    return any(len({pair.first, pair.second} & set(names)) >= least for pair in pairs)


def by_lines(report: Report, structure: Structure) -> FloatArray:
    """Return R² of single codes beyond luck; 0 for categorical factors, which have accuracies instead."""
    if structure.alone is None:
        return np.zeros((report.meta["n_codes"], report.meta["n_factors"]))
    numeric = np.array([kind != "categorical" for kind in report.meta["factor_kinds"]])
    clear: FloatArray = np.where(
        numeric & (structure.alone > BEYOND_LUCK**2 / report.meta["n_samples"]), structure.alone, 0.0
    )
    return clear
