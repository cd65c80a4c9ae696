"""Concepts, one for each value of a factor, and their detection by a few codes that are chosen on other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.stats import average_ranks
from unbraid.evidence.information import Binning, check_binning, factor_labels
from unbraid.probes.batched import fit_logistic, log_odds
from unbraid.probes.splits import Split, cross_fit_factor
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

#: Numbers of codes of a probe that are always tried.
KS = (1, 2, 5, 10)
#: Shuffles of the labels behind the chance level of the best of all codes on the rows that it is chosen on.
N_SHUFFLES = 5
#: Cells of columns of probes that are fitted at once, and codes that are ranked at once.
CELLS_AT_ONCE, CODES_AT_ONCE = 4_000_000, 512


class Measure(IntEnum):
    """Row of a table of measures."""

    AUROC = 0
    AVERAGE_PRECISION = 1
    ACCURACY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptOptions:
    """Options of the choice of single codes.

    Attributes:
        n_folds: Codes are chosen on all folds but one, and tested on that one.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
    """

    n_folds: int = 5
    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_at_least("n_folds", self.n_folds, 2)
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseProbeOptions(ConceptOptions):
    """Options of probes of few codes.

    Attributes:
        k: Codes of a probe.
    """

    k: int = 5

    def __post_init__(self) -> None:
        ConceptOptions.__post_init__(self)
        check_at_least("k", self.k, 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConceptProbes:
    """How well few codes find the rows of each concept.

    Attributes:
        concepts: Names of the concepts.
        factor: Position of the factor of each concept, ``(n_concepts,)``.
        n_factors: Number of factors.
        ks: Numbers of codes of the probes.
        held_out: Measures on rows that nothing was chosen or fitted on, ``(n_ks, 3, n_concepts)``, in the order of
            :class:`Measure`; NaN for a concept without rows to test on.
        in_sample: The same on the rows that codes were chosen and probes were fitted on.
        auroc: Area under the ROC curve of every code for every concept on all rows, ``(n_codes, n_concepts)``; below
            1/2 where the code is low for the concept. 1/2 for a dead code.
        chosen: The code chosen first for each concept on all rows, ``(n_concepts,)``.
        chance: The largest such area of all codes, either way, for shuffled labels, ``(n_concepts,)``: the mean over
            shuffles.
        n_codes: Number of codes that vary.
        asked: Position in ``ks`` of the number of codes asked for.
    """

    concepts: tuple[str, ...]
    factor: IntArray
    n_factors: int
    ks: tuple[int, ...]
    held_out: FloatArray
    in_sample: FloatArray
    auroc: FloatArray
    chosen: IntArray
    chance: FloatArray
    n_codes: int
    asked: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RankedCodes:
    """Codes that vary, and the rank of each row in each code.

    Attributes:
        codes: ``(n_rows, n_codes)``.
        ranks: Of the same shape; ties share their mean rank.
    """

    codes: Any
    ranks: Any

    @staticmethod
    def of(codes: FloatArray) -> RankedCodes:
        """Rank the rows of each code."""
        starts = range(0, codes.shape[1], CODES_AT_ONCE)
        ranks = [average_ranks(codes[:, j : j + CODES_AT_ONCE]) for j in starts]
        return RankedCodes(codes, np.concatenate(ranks, axis=1))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[0])

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return int(self.codes.shape[1])

    def take(self, rows: IntArray) -> RankedCodes:
        """Return some rows, ranked among themselves."""
        return RankedCodes.of(self.codes[rows])

    def leads(self, members: BoolArray, rows: IntArray | None = None) -> FloatArray:
        """Mean rank of the rows of a concept less that of the others, ``(n_codes, n_concepts)``; 0 where one is empty.

        Args:
            members: Which of all rows belong to each concept, ``(n_concepts, n_rows)``.
            rows: The rows to average over; all by default.
        """
        ranks, chosen = (self.ranks, members) if rows is None else (self.ranks[rows], members[:, rows])
        return rank_leads(ranks.T @ chosen.T, ranks.sum(axis=0), chosen)

    def columns(self, places: IntArray) -> FloatArray:
        """Return the codes at some places, ``(n_rows, *places.shape)``."""
        found: FloatArray = self.codes[:, places]
        return found


def rank_leads(sums: FloatArray, total: FloatArray, members: BoolArray) -> FloatArray:
    """Leads from the sums of ranks over the rows of each concept, and over all rows."""
    inside = members.sum(axis=1)
    outside = members.shape[1] - inside
    with np.errstate(invalid="ignore", divide="ignore"):
        leads = sums / inside - (total[:, None] - sums) / outside
    return np.where((inside > 0) & (outside > 0), leads, 0.0)


def single_codes(rep: Representation, options: ConceptOptions, rng: np.random.Generator) -> ConceptProbes:
    """Choose the best code for every concept on some rows, and measure it on the others."""
    return single_codes_of(rep, RankedCodes.of(rep.codes[:, rep.active]), options, rng)


def sparse_probes(rep: Representation, options: SparseProbeOptions, rng: np.random.Generator) -> ConceptProbes:
    """Choose the best k codes for every concept, fit a logistic regression to them, and measure it on other rows."""
    return sparse_probes_of(rep, RankedCodes.of(rep.codes[:, rep.active]), options, rng)


def single_codes_of(
    rep: Representation, ranked: RankedCodes, options: ConceptOptions, rng: np.random.Generator
) -> ConceptProbes:
    """The same from codes that are ranked."""
    return _gather(rep, ranked, options, (1,), rng, fitted=False)


def sparse_probes_of(
    rep: Representation, ranked: RankedCodes, options: SparseProbeOptions, rng: np.random.Generator
) -> ConceptProbes:
    """The same from codes that are ranked."""
    ks = tuple(sorted({min(k, ranked.n_codes) for k in (*KS, options.k)}))
    found = _gather(rep, ranked, options, ks, rng, fitted=True)
    return replace(found, asked=ks.index(min(options.k, ranked.n_codes)))


def concepts_of(factor: Factor, options: ConceptOptions) -> tuple[tuple[str, ...], BoolArray]:
    """Return the concepts of a factor and which labelled rows belong to each, ``(n_concepts, n_labelled)``.

    A category has one concept for each value, against the rest (two values: the second). A number has one for each of
    its values but the least, "at least this value", so that a code that follows the factor finds all of them. An angle
    has one for each half of its circle, from each of its values on.
    """
    labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
    labels = labels[factor.labelled]
    level = np.arange(n_levels)[:, None]
    texts = factor.levels if len(factor.levels) == n_levels else tuple(f"bin {i + 1}" for i in range(n_levels))
    if factor.kind is FactorKind.CIRCULAR:
        members, sign = (labels - level) % n_levels < (n_levels + 1) // 2, "half a turn from"
    elif factor.kind is FactorKind.CATEGORICAL:
        members, sign = labels == level, "="
        if n_levels == 2:
            members, texts = members[1:], texts[1:]
    else:
        members, sign, texts = (labels >= level)[1:], "≥", texts[1:]
    there = members.any(axis=1) & ~members.all(axis=1)
    names = tuple(f"{factor.name} {sign} {texts[place]}" for place in np.flatnonzero(there))
    return names, members[there]


def _gather(
    rep: Representation,
    ranked: RankedCodes,
    options: ConceptOptions,
    ks: tuple[int, ...],
    rng: np.random.Generator,
    *,
    fitted: bool,
) -> ConceptProbes:
    parts = [
        _of_factor(ranked, factor, options, ks, child, fitted=fitted)
        for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True)
    ]
    auroc = np.full((rep.n_codes, sum(len(part.concepts) for part in parts)), 0.5)
    auroc[rep.active] = np.concatenate([part.auroc for part in parts], axis=1)
    places = np.flatnonzero(rep.active)
    return ConceptProbes(
        concepts=tuple(name for part in parts for name in part.concepts),
        factor=np.concatenate([np.full(len(part.concepts), k) for k, part in enumerate(parts)]),
        n_factors=rep.n_factors,
        ks=ks,
        held_out=np.concatenate([part.held_out for part in parts], axis=2),
        in_sample=np.concatenate([part.in_sample for part in parts], axis=2),
        auroc=auroc,
        chosen=places[np.concatenate([part.chosen for part in parts])],
        chance=np.concatenate([part.chance for part in parts]),
        n_codes=ranked.n_codes,
    )


def _of_factor(
    ranked: RankedCodes,
    factor: Factor,
    options: ConceptOptions,
    ks: tuple[int, ...],
    rng: np.random.Generator,
    *,
    fitted: bool,
) -> ConceptProbes:
    """Choose and measure for the concepts of one factor, on its labelled rows."""
    rows = np.flatnonzero(factor.labelled)
    if len(rows) < ranked.n_rows:
        ranked = ranked.take(rows)
    splits = cross_fit_factor(factor.take(rows), n_folds=options.n_folds, rng=rng)
    names, members = concepts_of(factor, options)
    auroc = _areas(ranked, members)
    tested = [_tested(ranked, members, split, ks, fitted=fitted) for split in splits]
    return ConceptProbes(
        concepts=names,
        factor=np.zeros(len(names), dtype=np.intp),
        n_factors=1,
        ks=ks,
        held_out=_mean_of([found for found, _ in tested]),
        in_sample=_mean_of([found for _, found in tested]),
        auroc=auroc,
        chosen=np.abs(auroc - 0.5).argmax(axis=0),
        chance=_best_by_chance(ranked, members, rng),
        n_codes=ranked.n_codes,
    )


def _areas(ranked: RankedCodes, members: BoolArray) -> FloatArray:
    """Area under the ROC curve of every code for every concept, ``(n_codes, n_concepts)``.

    The area less 1/2 is the lead of the mean rank of the rows of the concept, over the number of rows.
    """
    return 0.5 + ranked.leads(members) / ranked.n_rows


def _best_by_chance(ranked: RankedCodes, members: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Mean over shuffles of the largest area of all codes, either way."""
    shuffled = (members[:, rng.permutation(ranked.n_rows)] for _ in range(N_SHUFFLES))
    mean: FloatArray = 0.5 + np.mean([np.abs(_areas(ranked, those) - 0.5).max(axis=0) for those in shuffled], axis=0)
    return mean


def _tested(
    ranked: RankedCodes, members: BoolArray, split: Split, ks: tuple[int, ...], *, fitted: bool
) -> tuple[FloatArray, FloatArray]:
    """Measures on the test rows and on the training rows of one split, ``(n_ks, 3, n_concepts)`` each.

    Codes are ranked once, over all rows: the choice sees which rows belong to a concept among the training rows only.
    """
    train, test = split.train, split.test
    leads = ranked.leads(members, train)
    k_most = max(ks)
    order = np.argsort(-np.abs(leads), axis=0, kind="stable")[:k_most]
    found = np.full((2, len(ks), len(Measure), len(members)), np.nan)
    step = max(1, CELLS_AT_ONCE // (ranked.n_rows * (k_most + 1)))
    for first in range(0, len(members), step):
        part = slice(first, first + step)
        inside = members[part]
        columns = ranked.columns(order[:, part]).transpose(2, 0, 1)
        middle, scale = columns[:, train].mean(axis=1), columns[:, train].std(axis=1)
        columns = (columns - middle[:, None]) / np.where(scale > 0, scale, 1.0)[:, None]
        for place, k in enumerate(ks):
            if fitted:
                weights = fit_logistic(columns[:, train, :k], inside[:, train])
                odds, cut = log_odds(columns[..., :k], weights), np.zeros(len(inside))
            else:
                signs = np.sign(leads[order[0, part], np.arange(len(members))[part]])
                odds = columns[..., 0] * signs[:, None]
                cut = np.array([_best_cut(o, m) for o, m in zip(odds[:, train], inside[:, train], strict=True)])
            for side, rows in enumerate((test, train)):
                found[side, place, :, part] = _measures(odds[:, rows], inside[:, rows], cut)
    return found[0], found[1]


def _best_cut(odds: FloatArray, members: BoolArray, *, balanced: bool = False) -> float:
    """Value above which calling a row a member is right most often; ``balanced``: members and others counting alike."""
    order = np.argsort(odds, kind="stable")
    values, inside = odds[order], members[order]
    gain = 1 / max(1, int(inside.sum())) if balanced else 1.0
    loss = 1 / max(1, int((~inside).sum())) if balanced else 1.0
    right = np.concatenate([[0.0], np.cumsum(np.where(inside, -gain, loss))])
    ends = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
    between = ends[1:] > ends[:-1]
    best = int(np.where(between, right, -np.inf).argmax())
    return float((ends[best] + ends[best + 1]) / 2)


def chosen_and_fired(
    ranked: RankedCodes, members: BoolArray, n_folds: int, rng: np.random.Generator
) -> tuple[int, BoolArray]:
    """Return the best code for one concept, and in which rows it speaks, by a code and threshold of the other folds.

    The threshold is where recall exceeds the rate of false alarms by most.
    """
    fold = np.empty(ranked.n_rows, dtype=np.intp)
    for side in (members, ~members):
        rows = rng.permutation(np.flatnonzero(side))
        fold[rows] = np.arange(len(rows)) % n_folds
    fired = np.zeros(ranked.n_rows, dtype=bool)
    for k in range(n_folds):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        leads = ranked.leads(members[None], train)[:, 0]
        code = int(np.abs(leads).argmax())
        odds = ranked.codes[:, code] * np.sign(leads[code])
        fired[test] = odds[test] > _best_cut(odds[train], members[train], balanced=True)
    return int(np.abs(ranked.leads(members[None])[:, 0]).argmax()), fired


def _measures(odds: FloatArray, members: BoolArray, cut: FloatArray) -> FloatArray:
    """Area under the ROC curve, average precision and accuracy of each concept, ``(3, n_concepts)``."""
    n_rows, inside = odds.shape[1], members.sum(axis=1)
    ranks = average_ranks(odds.T)
    pairs = inside * (n_rows - inside)
    with np.errstate(invalid="ignore", divide="ignore"):
        area = ((ranks * members.T).sum(axis=0) - inside * (inside + 1) / 2) / pairs
    precision = np.array([average_precision(o, m) for o, m in zip(odds, members, strict=True)])
    accuracy = ((odds > cut[:, None]) == members).mean(axis=1)
    both = pairs > 0
    return np.where(both, np.stack([area, precision, accuracy]), np.nan)


def average_precision(odds: FloatArray, members: BoolArray) -> float:
    """Mean precision over the rows of a concept, in the order of the odds; rows with the same odds count together.

    Example:
        >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
        0.8333333333333333
    """
    if not members.any():
        return float("nan")
    order = np.argsort(-odds, kind="stable")
    last = np.append(np.diff(odds[order]) != 0, True)
    hits, above = np.cumsum(members[order])[last], np.flatnonzero(last) + 1
    return float((np.diff(hits, prepend=0) * hits / above).sum() / hits[-1])


def _mean_of(parts: list[FloatArray]) -> FloatArray:
    """Mean over folds that have a value."""
    stacked = np.stack(parts)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    mean: FloatArray = np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(count > 0, mean, np.nan)
