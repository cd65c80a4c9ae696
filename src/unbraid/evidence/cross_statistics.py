"""One pass over the Jacobians of two decoders at the same points: the angles between their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._typing import BoolArray, FloatArray
from unbraid.evidence import gram as grams
from unbraid.evidence.gram_statistics import Advance
from unbraid.evidence.jacobians import JacobianSource
from unbraid.evidence.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossStatistics:
    """What two decoders' Jacobians say about each other.

    Attributes:
        log_lengths_a: Logarithm of each column's length, ``(n_samples, latent_a)``.
        log_lengths_b: The same for the other, ``(n_samples, latent_b)``.
        active_a: Which columns are never too short to move the data.
        active_b: The same for the other.
        information: Mean mutual information of column i of ``a`` and j of ``b``; NaN where one is inactive.
        information_error: Its standard error.
    """

    log_lengths_a: FloatArray
    log_lengths_b: FloatArray
    active_a: BoolArray
    active_b: BoolArray
    information: FloatArray
    information_error: FloatArray


def collect_across(a: JacobianSource, b: JacobianSource, *, advance: Advance = lambda: None) -> CrossStatistics:
    """Go through all samples of two sources side by side.

    A column that stands still in some sample counts 0 there, and is left out at the end, so one pass is enough.
    """
    pairs = Moments()
    lengths: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    flat: tuple[list[BoolArray], list[BoolArray]] = ([], [])
    size = min(a.chunk_size, b.chunk_size)
    for one, other in zip(a.chunks(size), b.chunks(size), strict=True):
        divisors = []
        for k, jacobian in enumerate((one.jacobian, other.jacobian)):
            long = grams.direct_lengths(jacobian)
            still = grams.as_numpy(grams.flat_columns(long)).astype(bool)
            flat[k].append(still)
            with np.errstate(divide="ignore"):
                lengths[k].append(np.log(grams.as_numpy(long)))
            divisors.append(grams.without(long, still) if still.any() else long)
        pairs.add(grams.pair_information(_cosines(one.jacobian, other.jacobian, divisors[0], divisors[1])))
        advance()
    active: list[BoolArray] = [np.logical_not(np.concatenate(each).any(axis=0)) for each in flat]
    left_out = ~(active[0][:, None] & active[1])
    return CrossStatistics(
        log_lengths_a=np.concatenate(lengths[0]),
        log_lengths_b=np.concatenate(lengths[1]),
        active_a=active[0],
        active_b=active[1],
        information=np.where(left_out, np.nan, pairs.mean()),
        information_error=np.where(left_out, np.nan, pairs.standard_error()),
    )


def _cosines(a: Any, b: Any, lengths_a: Any, lengths_b: Any) -> Any:
    if a.dtype != b.dtype:
        a, b = grams.as_double(a), grams.as_double(b)
    return grams.cosines(a.swapaxes(1, 2) @ b, lengths_a, lengths_b)
