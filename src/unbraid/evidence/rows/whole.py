"""Information, correlation and covariance of all rows, from counts and sums that were merged over blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.association import (
    Association,
    CodeCovariance,
    CorrelationOptions,
    NoOptions,
    code_covariance,
    correlations,
)
from unbraid.evidence.counting import chance_variance, rough_information
from unbraid.evidence.information import (
    Halves,
    InformationOptions,
    InformationTable,
    bin_codes,
    factor_labels,
    information_table,
    joint_counts,
    resampled_tables,
    table_of_counts,
)
from unbraid.evidence.rows.blocks import BlockCounts, CountingRule, FactorMoments
from unbraid.representation.factor import FactorKind
from unbraid.representation.representation import Representation
from unbraid.representation.sampled import SampledRepresentation

#: Directions of the targets with less than this share of the largest variance are rounding error.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whole:
    """Counts and sums of all rows, and the rule they were counted by."""

    rule: CountingRule
    counted: BlockCounts

    def answers(self, options: InformationOptions) -> bool:
        """Whether the counts are in the bins that are asked for."""
        return (options.n_bins, options.binning) == (self.rule.n_bins, self.rule.binning)


def _whole(rep: Representation) -> Whole | None:
    """Return what is known of all rows; ``None`` for a part of the sample."""
    return rep.whole if isinstance(rep, SampledRepresentation) else None


def whole_information_table(
    rep: Representation, options: InformationOptions, rng: np.random.Generator
) -> InformationTable:
    """Information of the codes about the factors in all rows; draws nothing, so ``rng`` is not used."""
    whole = _whole(rep)
    if whole is None or not whole.answers(options):
        return information_table(rep, options)
    return table_of_counts(whole.counted.counts, whole.rule.code_bins, rep, options)


def resampled_whole_tables(
    rep: SampledRepresentation, options: InformationOptions, *, n_resamples: int, rng: np.random.Generator
) -> Iterator[InformationTable]:
    """Yield tables that scatter as those of as many fresh rows as all rows are; their spread is that of the sample."""
    whole = _whole(rep)
    if whole is None or not whole.answers(options):
        yield from resampled_tables(rep, options, n_resamples=n_resamples, rng=rng)
        return
    point, halves = whole_information_table(rep, options, rng), Halves(n_rows=rep.n_all)
    drawn = []
    for rows in Halves(n_rows=rep.n_samples).draw(n_resamples, rng):
        half = rep.take(rows)
        bins, sizes = bin_codes(half, options)
        labels = [factor_labels(factor, options.n_bins, options.binning) for factor in half.factors]
        counts = [joint_counts(bins, int(sizes.max()), *one) for one in labels]
        drawn.append([rough_information(one, sizes, options.estimator) for one in counts])
    shares = 1.0, halves.size / halves.n_rows
    chance = np.stack(
        [
            [chance_variance(counts, options.estimator, share=share) for share in shares]
            for counts in whole.counted.counts
        ],
        axis=-1,
    )

    def deviations(name: str, chance: FloatArray | None = None) -> FloatArray:
        found = np.array([[getattr(part, name) for part in half] for half in drawn])
        return halves.deviations(found.swapaxes(1, 2) if found.ndim == 3 else found, chance)

    mi, h_code = deviations("mutual_information", chance), deviations("code_entropy")
    h_factor = deviations("factor_entropy")
    for r in range(n_resamples):
        own_code = np.maximum(point.code_entropy + h_code[r], 0.0)
        own_factor = np.maximum(point.factor_entropy + h_factor[r], 0.0)
        own = np.minimum(point.mutual_information + mi[r], np.minimum(own_code, own_factor))
        if not point.corrected:
            own = np.maximum(own, 0.0)
        yield replace(point, mutual_information=own, code_entropy=own_code, factor_entropy=own_factor, plug_in=None)


def whole_correlations(rep: Representation, options: CorrelationOptions, rng: np.random.Generator) -> Association:
    """Absolute correlation of every code with every factor in all rows; ranks are those of the sample."""
    whole = _whole(rep)
    if whole is None or options.correlation != "pearson":
        return correlations(rep, options, rng)
    columns = [np.sqrt(_explained(moments)) * rep.active for moments in whole.counted.by_factor]
    angles = tuple(factor.name for factor in rep.factors if factor.kind is FactorKind.CIRCULAR)
    return Association(matrix=np.stack(columns, axis=1), active=rep.active, angles=angles)


def _explained(moments: FactorMoments) -> FloatArray:
    """Share of each code's variance accounted for by the targets, ``(n_codes,)``."""
    n = max(int(moments.n), 1)
    total = moments.xx - moments.x**2 / n
    targets = moments.tt - np.outer(moments.t, moments.t) / n
    shared = moments.xt - np.outer(moments.x, moments.t) / n
    values, axes = np.linalg.eigh(targets)
    used = values > LEAST_VARIANCE * max(float(values[-1]), 1e-300)
    kept = ((shared @ axes[:, used]) ** 2 / values[used]).sum(axis=1)
    share = np.divide(kept, total, out=np.zeros_like(total), where=total > LEAST_VARIANCE * moments.xx)
    return np.asarray(np.clip(share, 0.0, 1.0))


def whole_covariance(rep: Representation, options: NoOptions, rng: np.random.Generator) -> CodeCovariance:
    """Unbiased covariance of the codes that vary, in all rows."""
    whole: Any = _whole(rep)
    if whole is None or not whole.counted.products.size:
        return code_covariance(rep, options, rng)
    counted, used = whole.counted, np.flatnonzero(rep.active)
    around = counted.products - np.outer(counted.sums, counted.sums) / counted.n_rows
    return CodeCovariance(matrix=around[np.ix_(used, used)] / (counted.n_rows - 1), active=rep.active)
