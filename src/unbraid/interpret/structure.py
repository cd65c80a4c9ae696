"""Which codes encode which factor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray
from unbraid._base.text import quoted
from unbraid.evidence.association import Association
from unbraid.evidence.information import InformationTable
from unbraid.metrics import METRICS
from unbraid.metrics.table.metric import Property
from unbraid.metrics.table.sources import BOOSTING, FOREST, LINEAR, LOSS_CAPACITY, PREDICTABILITY
from unbraid.probes.importance import Importance
from unbraid.probes.splits import TEST_SHARE
from unbraid.representation.factor import FactorKind
from unbraid.results.evidence import Evidence
from unbraid.results.report import Report
from unbraid.results.score import Score

#: Main codes are the fewest with this share of a probe's importance, less those that matter little beside the first.
MOST_OF_IT, BESIDE_THE_FIRST = 0.9, 0.1
#: A linear probe is preferred where it does about as well as the best, and shows the main codes of a factor from here
#: on; trees use any code a little, and show the main codes only where they predict nearly everything.
AS_GOOD, BY_LINE, BY_TREES = 0.05, 0.7, 0.9
#: A code that is not informative alone is needed for a factor where its importance is this share of the largest.
NEARLY_AS_MUCH = 0.5
#: How many standard deviations above what independence gives a count must lie.
BEYOND_LUCK = 4.0
#: Sources of probes that predict each factor from all codes.
PROBE_SOURCES = frozenset(source.name for source in (LINEAR, FOREST, BOOSTING, LOSS_CAPACITY))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEvidence:
    """One kind of probe: importances of codes, and how well each factor is predicted from 0 (guessing) to 1."""

    is_linear: bool
    importance: FloatArray
    predicted: FloatArray
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Structure:
    """Which codes encode which factor.

    Attributes:
        predicted: How well the best probe predicts each factor: accuracy from guessing (0) to 1, or R²,
            ``(n_factors,)``.
        predicted_linearly: The same of the linear probe; NaN where it was not run, ``(n_factors,)``.
        margin: How far ``predicted`` may be off, two standard errors on the held-out rows; 1 without confidence
            intervals, ``(n_factors,)``.
        lost: For which factors no probe beats the baseline that ignores the codes, ``(n_factors,)``.
        main_codes: For each factor, the codes that its probe uses; empty where the evidence does not show them.
        partial_codes: For each factor that is predicted, but not well enough to show its main codes, the codes that a
            linear probe uses, if each of them is informative alone and no probe does better than the linear one.
        candidate_codes: For each factor without main codes, the codes that its best probe uses, the linear one where
            it is about as good.
        largest: The largest importance of each code for any factor with main codes, over all probes, ``(n_codes,)``.
        above_chance: Which codes may be more informative about which factor than chance, by counts or by R²;
            ``None`` where nothing was counted, ``(n_codes, n_factors)``.
        clearly_above_chance: Which codes clearly are; ``None`` where nothing was counted, ``(n_codes, n_factors)``.
        information: Mutual information of each code with each factor, in nats; ``None`` where not counted.
        excess: The same less what chance does not exceed, however few rows there are to a cell.
        entropy: Of each factor, in nats; NaN where not counted, ``(n_factors,)``.
        share: Mutual information as a share of the largest that a code has with the factor; ``None`` where not
            counted, ``(n_codes, n_factors)``.
        by_single_code: How well each code alone predicts each factor along a line or by thresholds; ``None`` where
            unknown.
        maybe_more: Which codes may have more of which factor than a leak, by the upper end of the R² of a line; none
            where that was not computed, ``(n_codes, n_factors)``.
        beats_chance: Whether some probe does better than with shuffled factors, where that was tried.
    """

    predicted: FloatArray
    predicted_linearly: FloatArray
    margin: FloatArray
    lost: BoolArray
    main_codes: tuple[tuple[int, ...], ...]
    partial_codes: tuple[tuple[int, ...], ...]
    candidate_codes: tuple[tuple[int, ...], ...]
    largest: FloatArray
    above_chance: BoolArray | None
    clearly_above_chance: BoolArray | None
    information: FloatArray | None
    excess: FloatArray | None
    entropy: FloatArray
    share: FloatArray | None
    by_single_code: FloatArray | None
    maybe_more: BoolArray
    beats_chance: bool

    @property
    def shows_something(self) -> bool:
        """Whether any factor is predicted from the codes; in noise, every pattern is luck."""
        return self.beats_chance and bool((~self.lost & (self.predicted > self.margin)).any())

    @property
    def uninformative(self) -> BoolArray:
        """Which codes surely have little or nothing of any factor; none where not counted, ``(n_codes,)``."""
        if self.clearly_above_chance is None:
            return np.zeros(len(self.largest), dtype=bool)
        quiet: BoolArray = np.logical_not((self.clearly_above_chance | self.maybe_more).any(axis=1))
        return quiet

    def codes_of(self, k: int) -> tuple[int, ...]:
        """Return the codes that encode one factor, wholly or in part; empty where the evidence does not show them."""
        return self.main_codes[k] or self.partial_codes[k]


def find_structure(report: Report) -> Structure | None:
    """Interpret the evidence of a report; ``None`` where no probe of all codes was run on two factors or more."""
    probes = _probes(report)
    if not probes:
        return None
    best = np.max([probe.predicted for probe in probes], axis=0)
    linear = _linear(probes)
    main = tuple(main_codes(k, probes) for k in range(len(best)))
    known = [k for k, codes in enumerate(main) if codes]
    counted = next(iter(report.evidence_of(InformationTable)), None)
    mi = None if counted is None else counted.data.as_counted
    alone = next(iter(report.evidence_of(Association, source=PREDICTABILITY.name)), None)
    by_single_code = None if alone is None else alone.data.matrix
    above = clearly = excess = None
    if counted is not None and mi is not None:
        along_lines = linear_r2(report, by_single_code) > 0
        excess = np.maximum(mi - _clear_information(report, counted), 0.0)
        above, clearly = along_lines | (mi > _chance_information(report, counted)), along_lines | (excess > 0)
    margin = _margin(report, [probe.score for probe in probes], best)
    return Structure(
        predicted=best,
        predicted_linearly=np.full(len(best), np.nan) if linear is None else linear.predicted,
        margin=margin,
        lost=np.all([probe.importance.sum(axis=0) == 0 for probe in probes], axis=0),
        main_codes=main,
        partial_codes=tuple(
            () if codes or not best[k] > margin[k] else _partial_codes(k, probes, clearly, margin[k])
            for k, codes in enumerate(main)
        ),
        candidate_codes=tuple(() if codes else _candidate_codes(k, probes, clearly) for k, codes in enumerate(main)),
        largest=np.max([probe.importance[:, known].max(axis=1) for probe in probes], axis=0)
        if known
        else np.zeros(report.setup.n_codes),
        above_chance=above,
        clearly_above_chance=clearly,
        information=mi,
        excess=excess,
        entropy=np.full(len(best), np.nan) if counted is None else counted.data.factor_entropy,
        share=None if mi is None else mi / np.maximum(mi.max(axis=0), 1e-12),
        by_single_code=by_single_code,
        maybe_more=_maybe_more(report, by_single_code),
        beats_chance=any(probe.score.beats_chance is not False for probe in probes),
    )


def prediction_scores(report: Report) -> dict[str, Score]:
    """Return the scores that tell how well a probe of all codes predicts the factors."""
    rows = {name: METRICS[name] for name in report.scores}
    return {
        name: report.scores[name]
        for name, metric in rows.items()
        if metric.source.name in PROBE_SOURCES and metric.measures[0] is Property.EXPLICITNESS and metric.has_null
    }


def best_prediction(report: Report) -> FloatArray | None:
    """Return how well the best probe predicts each factor, as scored; ``None`` where none was run, ``(n_factors,)``."""
    found = [score.per_factor for score in prediction_scores(report).values() if score.per_factor is not None]
    best: FloatArray | None = np.max(found, axis=0) if found else None
    return best


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


def _probes(report: Report) -> list[ProbeEvidence]:
    scored = prediction_scores(report)
    found = []
    for record in report.evidence_of(Importance):
        score = next((scored[name] for name in record.scores if name in scored), None)
        if score is not None:
            linear, matrix = record.source == LINEAR.name, record.data.matrix
            predicted = _above_guessing(report, record.data.informativeness)
            found.append(ProbeEvidence(is_linear=linear, importance=matrix, predicted=predicted, score=score))
    return found


def _above_guessing(report: Report, predicted: FloatArray) -> FloatArray:
    """Return how well each factor is predicted; accuracy is counted from guessing among equally common values."""
    guess = np.array([guessing(report, k) for k in range(report.setup.n_factors)])
    corrected: FloatArray = np.maximum(0.0, (predicted - guess) / np.maximum(1 - guess, 1e-12))
    return corrected


def guessing(report: Report, k: int) -> float:
    """Return the accuracy of guessing among equally common values of a category; 0 for R²."""
    levels = report.setup.factor_levels[k]
    return 1 / levels if report.setup.factor_kinds[k] is FactorKind.CATEGORICAL and levels else 0.0


def _linear(probes: Sequence[ProbeEvidence]) -> ProbeEvidence | None:
    return next((probe for probe in probes if probe.is_linear), None)


def main_codes(k: int, probes: Sequence[ProbeEvidence]) -> tuple[int, ...]:
    """Return the codes of one factor: from the linear probe where it does as well as any, else from the best trees."""
    best, linear = max(probes, key=lambda probe: probe.predicted[k]), _linear(probes)
    if linear is not None and linear.predicted[k] >= max(BY_LINE, best.predicted[k] - AS_GOOD):
        return fewest(linear.importance[:, k])
    return fewest(best.importance[:, k]) if not best.is_linear and best.predicted[k] >= BY_TREES else ()


def _linear_where_good(k: int, probes: Sequence[ProbeEvidence], margin: float = 0.0) -> ProbeEvidence | None:
    """Return the linear probe where it predicts a factor about as well as the best probe, on other held-out rows."""
    linear, best = _linear(probes), max(probe.predicted[k] for probe in probes)
    return linear if linear is not None and linear.predicted[k] >= best - max(AS_GOOD, margin) else None


def _partial_codes(
    k: int, probes: Sequence[ProbeEvidence], clearly_above_chance: BoolArray | None, margin: float
) -> tuple[int, ...]:
    """Return the codes of a factor predicted in part, where a linear probe shows them and each is informative alone."""
    linear = _linear_where_good(k, probes, margin)
    if clearly_above_chance is None or linear is None:
        return ()
    codes = fewest(linear.importance[:, k])
    return codes if all(clearly_above_chance[j, k] for j in codes) else ()


def _candidate_codes(
    k: int, probes: Sequence[ProbeEvidence], clearly_above_chance: BoolArray | None
) -> tuple[int, ...]:
    """Return the codes used for a factor without main codes; trees use any code, so a good linear probe comes first.

    A code that alone is not informative about the factor counts only where the probe uses it nearly as much as any.
    """
    probe = _linear_where_good(k, probes) or max(probes, key=lambda probe: probe.predicted[k])
    used = probe.importance[:, k]
    informative = np.zeros(len(used), dtype=bool) if clearly_above_chance is None else clearly_above_chance[:, k]
    return tuple(j for j in fewest(used) if informative[j] or used[j] >= NEARLY_AS_MUCH * used.max())


def _margin(report: Report, scores: Sequence[Score], predicted: FloatArray) -> FloatArray:
    """Return two standard errors of how well each factor is predicted, by the number of held-out rows.

    An R² has the large-sample variance 4 R² (1 - R²)² / n, an accuracy a (1 - a) / n; the term 2 / n² stands for the
    scatter that is left where nothing is predicted.
    """
    if any(score.half_width is None for score in scores):
        return np.ones(len(predicted))
    n = max(report.setup.n_samples * TEST_SHARE, 2.0)
    guess = np.array([guessing(report, k) for k in range(len(predicted))])
    accuracy = np.minimum(guess + (1 - guess) * predicted, 1.0)
    by_r2 = 4 * predicted * (1 - np.minimum(predicted, 1.0)) ** 2 / n
    by_accuracy = accuracy * (1 - accuracy) / n / np.maximum(1 - guess, 1e-12) ** 2
    margin: FloatArray = 2 * np.sqrt(np.where(guess > 0, by_accuracy, by_r2) + 2 / n**2)
    return margin


def _chance_information(report: Report, counted: Evidence[InformationTable]) -> FloatArray:
    """Return the information that a code independent of the factors rarely exceeds, by the number of filled cells.

    With few rows to a cell it is exceeded often: a code below the limit is uninformative, but a code above it need not
    be informative.
    """
    rows, bins, levels = _table_sizes(report, counted)
    cells = bins * levels
    filled = cells * -np.expm1(-rows / cells)
    freedom = np.maximum(filled - bins - levels + 1, 1.0)
    limit: FloatArray = (freedom + BEYOND_LUCK * np.sqrt(2 * freedom)) / (2 * rows)
    return limit


def _clear_information(report: Report, counted: Evidence[InformationTable]) -> FloatArray:
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


def _table_sizes(report: Report, counted: Evidence[InformationTable]) -> tuple[int, int, FloatArray]:
    bins = int(counted.options["n_bins"])
    levels = np.array([n or bins for n in report.setup.factor_levels], dtype=np.float64)
    return report.setup.n_samples, bins, levels


#: A factor with a smaller share of what a code encodes is a leak, and one below the second limit is not mentioned.
LEAK, SPOKEN_OF = 0.05, 0.01
#: Standard deviations of a one-sided 95 % limit.
ONE_SIDED = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Factors that share codes, and those codes, by position."""

    factors: tuple[int, ...]
    codes: tuple[int, ...]


def factor_shares(report: Report, structure: Structure, factors: Sequence[int]) -> FloatArray | None:
    """Return the share of each factor in what each code encodes of them all, ``(n_codes, n_factors)``.

    What a code encodes of a factor is the larger of the R² of a line, and the R² that two normal variables with the
    information found in bins would have, less what chance rarely exceeds.

    Returns:
        ``None`` where no information was counted, or there are too few rows to tell that a leak is one.
    """
    if structure.excess is None or BEYOND_LUCK**2 / report.setup.n_samples > LEAK:
        return None
    encoded = -np.expm1(-2 * structure.excess)
    encoded = np.maximum(encoded, linear_r2(report, structure.by_single_code))[:, list(factors)]
    shares: FloatArray = encoded / np.maximum(encoded.sum(axis=1, keepdims=True), 1e-12)
    return shares


def factors_of(shares: FloatArray, j: int, factors: Sequence[int]) -> tuple[int, ...]:
    """Return the factors that one code encodes, leaks left out, the largest share first."""
    order = np.argsort(-shares[j], kind="stable")
    return tuple(factors[i] for i in order if shares[j, i] >= LEAK)


def split_by_factor(group: Group, shares: FloatArray) -> list[Group] | None:
    """Part a group into one for each factor if every code encodes one factor; ``None`` if a code encodes several."""
    owners = [factors_of(shares, j, group.factors) for j in group.codes]
    if any(len(owner) != 1 for owner in owners):
        return None
    codes = {k: tuple(j for j, o in zip(group.codes, owners, strict=True) if o == (k,)) for k in group.factors}
    return [Group(factors=(k,), codes=own) for k, own in codes.items() if own]


def describe_codes(report: Report, group: Group, shares: FloatArray) -> tuple[str, tuple[int, ...]]:
    """Say of each code of a group whether it is about one factor or mixes several, and return those that mix."""
    factors, codes = report.setup.factor_names, report.setup.code_names
    owners = {j: factors_of(shares, j, group.factors) for j in group.codes}
    mixing = tuple(j for j, owner in owners.items() if len(owner) > 1)
    parts = [f"“{codes[j]}” encodes “{factors[owner[0]]}” only" for j, owner in owners.items() if len(owner) == 1]
    parts += [
        f"“{codes[j]}” mixes “{factors[owners[j][0]]}” with {quoted([factors[k] for k in owners[j][1:]])}"
        for j in mixing
    ]
    return "; ".join(parts), mixing


def leaks(report: Report, structure: Structure, pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Say how much of another factor a code of one factor encodes, by the R² of a line."""
    names, codes = report.setup.factor_names, report.setup.code_names
    linear = linear_r2(report, structure.by_single_code)
    return [
        f"“{codes[j]}” also encodes a little of “{names[other]}” ({linear[j, other]:.2f} of its variance)"
        for k, j in pairs
        for other in np.flatnonzero((linear[j] >= SPOKEN_OF) & (np.arange(len(names)) != k))
        if not depend(report, {names[k], names[other]})
    ]


def depend(report: Report, names: Collection[str], *, at_least: float = 0.0) -> bool:
    """Tell whether one factor depends on any other in the data, or several on each other: sharing is then no fault.

    Args:
        report: With the test of dependence.
        names: Of the factors.
        at_least: Weaker dependence is passed over.
    """
    if report.dependence is None:
        return False
    found = [({pair.first, pair.second}, pair.strength) for pair in report.dependence.dependent_pairs]
    found += [(set(triple.names), triple.strength) for triple in report.dependence.triples]
    least = 1 if len(names) == 1 else 2
    return any(len(one & set(names)) >= least for one, strength in found if strength >= at_least)


def linear_r2(report: Report, by_single_code: FloatArray | None) -> FloatArray:
    """Return R² of single codes beyond luck; 0 for categorical factors, which have accuracies instead."""
    setup = report.setup
    if by_single_code is None:
        return np.zeros((setup.n_codes, setup.n_factors))
    numeric = np.array([kind is not FactorKind.CATEGORICAL for kind in setup.factor_kinds])
    clear = numeric & (by_single_code > BEYOND_LUCK**2 / setup.n_samples)
    r2: FloatArray = np.where(clear, by_single_code, 0.0)
    return r2


def _maybe_more(report: Report, by_single_code: FloatArray | None) -> BoolArray:
    """Return where the upper end of the R² of a line, one-sided at 95 %, exceeds a leak; never for categories."""
    setup = report.setup
    if by_single_code is None:
        return np.zeros((setup.n_codes, setup.n_factors), dtype=bool)
    numeric = np.array([kind is not FactorKind.CATEGORICAL for kind in setup.factor_kinds])
    upper = np.sqrt(np.maximum(by_single_code, 0.0)) + ONE_SIDED / np.sqrt(setup.n_samples)
    maybe: BoolArray = numeric & (upper**2 > LEAK)
    return maybe
