"""Groups of rows that share a factor value, and the variances of codes within them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from unbraid._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.evidence.information import Binning, check_binning, factor_labels
from unbraid.probes.bins import MOST_EXACT
from unbraid.representation.representation import Representation

CHUNK_CELLS = 8_000_000
#: Numbers that stay in the cache of a processor.
CACHED_CELLS = 60_000
ROWS_TO_DRAW = "rows to draw"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalOptions:
    """Options for binning continuous factors, so that rows share values."""

    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionalSpread:
    """Rows grouped by the values of each factor.

    Attributes:
        codes: The active codes, centred, ``(n_samples, n_active)``.
        labels: For each factor, the value of each row, -1 where not labelled.
        n_levels: For each factor, how many values it takes.
        active: Which codes vary.
    """

    codes: FloatArray
    labels: tuple[IntArray, ...]
    n_levels: tuple[int, ...]
    active: BoolArray


def conditional_spread(rep: Representation, options: ConditionalOptions, rng: np.random.Generator) -> ConditionalSpread:
    """Group all rows by the values of each factor; draws nothing, so ``rng`` is not used."""
    groups = [factor_labels(factor, options.n_bins, options.binning) for factor in rep.factors]
    for factor, (labels, n_levels) in zip(rep.factors, groups, strict=True):
        if np.bincount(labels[labels >= 0], minlength=n_levels).max() < 2:
            raise ValueError(f"factor {factor.name!r} has no value shared by two rows; use fewer bins or more rows.")
    codes = rep.codes[:, rep.active]
    codes -= codes.mean(axis=0)
    return ConditionalSpread(
        codes=codes,
        labels=tuple(labels for labels, _ in groups),
        n_levels=tuple(n_levels for _, n_levels in groups),
        active=rep.active,
    )


def relative_variances(spread: ConditionalSpread) -> list[tuple[FloatArray, FloatArray]]:
    """For each factor: variance of each code at each value over that in the data, and the share of rows of each value.

    Values seen once are left out.
    """
    total = _variance_of_all(spread)
    found = []
    for within, counts in _variances(spread):
        repeated = counts >= 2
        found.append((within[repeated] / total, counts[repeated] / counts[repeated].sum()))
    return found


def remaining_variance(spread: ConditionalSpread) -> FloatArray:
    """Share of the variance of each code that remains while a factor is held fixed, ``(n_active, n_factors)``.

    It is the mean over values, by their frequency, of the variance at a value, over the variance in the data: one minus
    the squared correlation ratio. Variances are unbiased, so that the share hardly depends on the number of rows; by
    chance it may exceed 1.
    """
    columns = [shares @ relative for relative, shares in relative_variances(spread)]
    return np.stack(columns, axis=1)


def _variance_of_all(spread: ConditionalSpread) -> FloatArray:
    """Unbiased variance of each code in the data; of wide codes without a copy of them."""
    codes = spread.codes
    if codes.shape[1] <= MOST_EXACT:
        return np.asarray(codes.var(axis=0, ddof=1))
    return np.asarray(np.einsum("nc,nc->c", codes, codes) / (len(codes) - 1))


def _variances(spread: ConditionalSpread) -> list[tuple[FloatArray, IntArray]]:
    """Unbiased variance of each code at each value, and rows of each value, for each factor."""
    if spread.codes.shape[1] <= MOST_EXACT:
        return [variance_by_label(spread.codes, *own) for own in zip(spread.labels, spread.n_levels, strict=True)]
    found = []
    for sums, squares, counts in sums_by_label(spread.codes, spread.labels, spread.n_levels):
        within = np.maximum(squares - sums**2 / np.maximum(counts, 1)[:, None], 0.0)
        found.append((within / np.maximum(counts - 1, 1)[:, None], counts))
    return found


def sums_by_label(
    codes: FloatArray, labels: Sequence[IntArray], n_levels: Sequence[int]
) -> list[tuple[FloatArray, FloatArray, IntArray]]:
    """Sums of codes and of their squares at each label, ``(n_levels, n_codes)`` each, and rows of each label.

    Products with indicators of all labels go over wide codes once for all factors; label -1 is left out.
    """
    ends = np.cumsum([0, *n_levels])
    sums, squares = np.zeros((ends[-1], codes.shape[1])), np.zeros((ends[-1], codes.shape[1]))
    step = max(1, CHUNK_CELLS // max(codes.shape[1], int(ends[-1])))
    for start in range(0, len(codes), step):
        own = codes[start : start + step]
        member = np.zeros((len(own), ends[-1]))
        for first, column in zip(ends[:-1], labels, strict=True):
            part = column[start : start + step]
            known = np.flatnonzero(part >= 0)
            member[known, first + part[known]] = 1.0
        sums += member.T @ own
        squares += member.T @ own**2
    counts = [np.bincount(column[column >= 0], minlength=size) for column, size in zip(labels, n_levels, strict=True)]
    parts = [slice(*pair) for pair in pairwise(ends)]
    return [(sums[part], squares[part], own) for part, own in zip(parts, counts, strict=True)]


def variance_by_label(codes: FloatArray, labels: IntArray, n_levels: int) -> tuple[FloatArray, IntArray]:
    """Unbiased variance of centred codes at each label (0 for a label of one row), and rows of each label."""
    order, starts, present = sort_by_label(labels)
    counts = np.bincount(labels[order], minlength=n_levels)
    ordered = codes[order]
    means, squares = np.zeros((n_levels, codes.shape[1])), np.zeros((n_levels, codes.shape[1]))
    means[present] = np.add.reduceat(ordered, starts, axis=0) / counts[present, None]
    squares[present] = np.add.reduceat(ordered**2, starts, axis=0)
    within = np.maximum(squares - counts[:, None] * means**2, 0.0)
    return within / np.maximum(counts - 1, 1)[:, None], counts


def sort_by_label(labels: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return labelled rows in order of label, where each label starts among them, and which labels there are."""
    order = np.argsort(labels.astype(np.int16), kind="stable")[int((labels < 0).sum()) :]
    ordered = labels[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return order, starts, ordered[starts]


class Sampler(Protocol):
    """Draws the codes of new observations, for users who can generate data."""

    def __call__(self, fixed_factor: int, group_size: int, rng: np.random.Generator) -> FloatArray:
        """Fix a value of one factor, draw the others, encode: ``(group_size, n_codes)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """Options for drawing groups.

    Attributes:
        n_votes: Groups to fit the classifier on, and as many again to test it on.
        group_size: Rows, or pairs of rows, in a group.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
        sampler: Draws groups of fresh observations; without one, groups are drawn from the rows.
    """

    n_votes: int = 800
    group_size: int = 200
    n_bins: int = 20
    binning: Binning = "robust"
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        check_at_least("n_votes", self.n_votes, 10)
        check_at_least("group_size", self.group_size, 2)
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupOptions(GroupOptions):
    """Options for groups of rows with one value: smaller groups, fewer than the rows of a value, and more of them."""

    n_votes: int = 2000
    group_size: int = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """One summary of the codes for each group.

    Attributes:
        summary: Variances or mean absolute differences, relative to those of the data, ``(n_groups, n_active)``.
        fixed_factor: The factor that is fixed in each group, ``(n_groups,)``. The groups of the first half and the
            groups of the second half were drawn independently; groups of rows with one value share no rows.
        n_factors: Number of factors there are to guess from.
    """

    summary: FloatArray
    fixed_factor: IntArray
    n_factors: int


def group_variances(rep: Representation, options: GroupOptions, rng: np.random.Generator) -> Groups:
    """Variance of each active code within groups, over its variance in the data.

    Rows of a group are drawn without replacement, so that its variance scatters as that of as many new observations.
    Rows that groups of the first half are drawn from are in no group of the second half.
    """
    if options.sampler is not None:
        known = rep.codes[:, rep.active].var(axis=0, ddof=1)
        return _groups(rep, options, lambda codes: codes.var(axis=1, ddof=1) / known, rows_a_member=1, rng=rng)
    active, deviation = _rows_to_draw(rep)
    halves = [_level_rows(rep, k, options, rng) for k in range(rep.n_factors)]
    summary = np.empty((2 * options.n_votes, active.shape[1]))
    fixed = rng.integers(rep.n_factors, size=2 * options.n_votes)
    for half, votes in enumerate(np.array_split(np.arange(2 * options.n_votes), 2)):
        for k, levels in enumerate(halves):
            chosen = votes[fixed[votes] == k]
            shares = np.array([len(parts[0]) + len(parts[1]) for parts in levels], dtype=float)
            level = rng.choice(len(levels), size=len(chosen), p=shares / shares.sum())
            for value in np.unique(level):
                members = chosen[level == value]
                summary[members] = _drawn_variances(active, levels[value][half], len(members), options.group_size, rng)
    return Groups(summary=summary / deviation**2, fixed_factor=fixed, n_factors=rep.n_factors)


def _rows_to_draw(rep: Representation) -> tuple[AnyArray, FloatArray]:
    """Active codes stored row by row, and the deviation in the data of what is stored, ``(n_active,)``.

    Rows are drawn again and again, and where columns are stored one after the other, each would be gathered from all.
    Wide codes are stored in units of their deviation, around their mean, for which single precision is ample; a few
    columns are converted at a time.
    """
    places = np.flatnonzero(rep.active)
    if len(places) <= MOST_EXACT:
        codes: AnyArray = np.ascontiguousarray(rep.codes[:, places])
        return codes, codes.std(axis=0, ddof=1)

    def made() -> AnyArray:
        stored, step = np.empty((rep.n_samples, len(places)), dtype=np.float32), max(1, CHUNK_CELLS // rep.n_samples)
        for start in range(0, len(places), step):
            part = rep.codes[:, places[start : start + step]].astype(np.float64, copy=False)
            stored[:, start : start + step] = (part - part.mean(axis=0)) / part.std(axis=0, ddof=1)
        return stored

    return rep.memo.once(ROWS_TO_DRAW, made), np.ones(len(places))


def _level_rows(
    rep: Representation, k: int, options: GroupOptions, rng: np.random.Generator
) -> list[tuple[IntArray, IntArray]]:
    """Rows of each value of factor ``k``, in two halves; where no value has four rows, the same rows twice."""
    labels, _ = factor_labels(rep.factors[k], options.n_bins, options.binning)
    shuffled = rng.permutation(len(labels))
    order, starts, _ = sort_by_label(labels[shuffled])
    by_level = [part for part in np.split(shuffled[order], starts[1:]) if len(part) >= 2]
    if not by_level:
        raise ValueError(_no_shared_value(rep, k))
    halves = [(part[0::2], part[1::2]) for part in by_level if len(part) >= 4]
    return halves or [(part, part) for part in by_level]


def _drawn_variances(
    codes: AnyArray, rows: IntArray, n_groups: int, group_size: int, rng: np.random.Generator
) -> FloatArray:
    """Variances of groups drawn from rows without replacement, ``(n_groups, n_codes)``."""
    size = min(group_size, len(rows))
    a_shuffle = len(rows) // size
    n_shuffles = -(-n_groups // a_shuffle)
    places = rng.random((n_shuffles, len(rows))).argsort(axis=1)[:, : a_shuffle * size]
    groups = rows[places.reshape(-1, size)[:n_groups]]
    if codes.dtype == np.float32:
        step = max(1, CACHED_CELLS // (size * codes.shape[1]))
        parts = (codes.take(groups[start : start + step], axis=0) for start in range(0, n_groups, step))
        return np.concatenate([_variances_of_groups(part) for part in parts])
    step = max(1, CHUNK_CELLS // (size * codes.shape[1]))
    found = [codes[groups[start : start + step]].var(axis=1, ddof=1) for start in range(0, n_groups, step)]
    return np.concatenate(found)


def _variances_of_groups(codes: AnyArray) -> FloatArray:
    """Unbiased variances of standardised codes in single precision, ``(n_groups, n_codes)``, without a copy."""
    n_rows = codes.shape[1]
    mean = codes.mean(axis=1, dtype=np.float32).astype(np.float64)
    squares = np.einsum("grc,grc->gc", codes, codes).astype(np.float64)
    return np.asarray(np.maximum(squares - n_rows * mean**2, 0.0) / (n_rows - 1), dtype=np.float64)


def _no_shared_value(rep: Representation, k: int) -> str:
    return f"factor {rep.factors[k].name!r} has no value shared by two rows; use fewer bins or more rows."


def group_differences(rep: Representation, options: GroupOptions, rng: np.random.Generator) -> Groups:
    """Mean absolute difference of each active code over pairs of rows, over its deviation in the data.

    Every pair of a group has a value of its own; only the factor is the same (Alg. 1).
    """

    def summarise(codes: FloatArray) -> FloatArray:
        scale = rep.codes[:, rep.active].std(axis=0, ddof=1)
        return np.asarray(np.abs(codes[:, 0::2] - codes[:, 1::2]).mean(axis=1) / scale)

    return _groups(rep, options, summarise, rows_a_member=2, rng=rng)


def _mean_differences(codes: AnyArray, pairs: IntArray) -> FloatArray:
    """Mean absolute difference of codes over the pairs of each group, ``(n_groups, n_codes)``.

    Args:
        codes: ``(n_samples, n_codes)``.
        pairs: Rows of the pairs, one after the other, ``(n_groups, 2 * group_size)``.
    """
    found = np.empty((len(pairs), codes.shape[1]))
    step = max(1, CACHED_CELLS // (pairs.shape[1] * codes.shape[1]))
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        difference = codes.take(some[:, 0::2], axis=0)
        difference -= codes.take(some[:, 1::2], axis=0)
        found[start : start + step] = np.abs(difference, out=difference).mean(axis=1)
    return found


def _groups(
    rep: Representation,
    options: GroupOptions,
    summarise: Callable[[FloatArray], FloatArray],
    *,
    rows_a_member: int,
    rng: np.random.Generator,
) -> Groups:
    """Draw twice ``n_votes`` groups, pairs of rows or fresh observations, and summarise them, a chunk at a time."""
    fixed = np.sort(rng.integers(rep.n_factors, size=2 * options.n_votes))
    width = options.group_size * rows_a_member
    size = max(1, CHUNK_CELLS // (width * rep.n_codes))
    parts = []
    if options.sampler is None:
        active, deviation = _rows_to_draw(rep)
    for k in range(rep.n_factors):
        count = int((fixed == k).sum())
        if options.sampler is None:
            draw = _pair_drawer(rep, k, options)
        for start in range(0, count, size):
            n_groups = min(size, count - start)
            if options.sampler is None:
                parts.append(_mean_differences(active, draw(n_groups, rng)) / deviation)
            else:
                codes = _sampled(options.sampler, k, n_groups, options.group_size, rows_a_member, rng)[..., rep.active]
                parts.append(summarise(codes))
    order = rng.permutation(len(fixed))
    return Groups(summary=np.concatenate(parts)[order], fixed_factor=fixed[order], n_factors=rep.n_factors)


def _pair_drawer(rep: Representation, k: int, options: GroupOptions) -> Callable[[int, np.random.Generator], IntArray]:
    """Return a function that draws pairs of rows with one value of factor ``k``: a gather on rows sorted by value."""
    labels, n_levels = factor_labels(rep.factors[k], options.n_bins, options.binning)
    order, _, _ = sort_by_label(labels)
    counts = np.bincount(labels[order], minlength=n_levels)
    starts = np.cumsum(counts) - counts
    usable = np.flatnonzero(counts >= 2)
    if not len(usable):
        raise ValueError(_no_shared_value(rep, k))

    def draw(n_groups: int, rng: np.random.Generator) -> IntArray:
        level = rng.choice(usable, size=(n_groups, options.group_size))
        first = (rng.random(level.shape) * counts[level]).astype(np.intp)
        other = (first + 1 + (rng.random(level.shape) * (counts[level] - 1)).astype(np.intp)) % counts[level]
        pairs: IntArray = order[starts[level][..., None] + np.stack([first, other], axis=-1)]
        return pairs.reshape(n_groups, -1)

    return draw


def _sampled(
    sampler: Sampler, k: int, n_groups: int, group_size: int, rows_a_member: int, rng: np.random.Generator
) -> FloatArray:
    """Ask the sampler for groups; a group of pairs is many samples of two rows."""
    if rows_a_member == 1:
        return np.stack([sampler(k, group_size, rng) for _ in range(n_groups)])
    pairs = [np.concatenate([sampler(k, 2, rng) for _ in range(group_size)]) for _ in range(n_groups)]
    return np.stack(pairs)
