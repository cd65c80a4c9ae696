"""Information in the codes of an encoder that gives a mean and a variance: about the data, and about each factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import to_array
from unbraid.evidence.counting import entropy
from unbraid.evidence.information import Binning, factor_labels
from unbraid.representation.representation import Representation

#: Pieces that the range of a code is cut into, twice, and points in a piece.
N_PIECES, N_POINTS = 125, 4
REACH = 6.0
CHUNK = 2_000
#: Densities that are worked on at once: few enough to stay in the cache of a processor.
CELLS_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorInformation:
    """Information from which minimality and sufficiency are computed, in nats.

    Attributes:
        with_data: Between each code and the observation, ``(n_codes,)``.
        with_factors: Between each code and each factor, ``(n_codes, n_factors)``.
        factor_entropy: Of each factor, ``(n_factors,)``.
        saturated: Which codes are so narrow that the rows cannot fill the gaps between them, ``(n_codes,)``.
    """

    with_data: FloatArray
    with_factors: FloatArray
    factor_entropy: FloatArray
    saturated: BoolArray


def check_code_variances(variances: Any, rep: Representation) -> FloatArray:
    """Return variances of the posteriors of all codes, checked.

    Raises:
        ValueError: Another shape than the codes, or variances that are not finite and above 0.
    """
    array = np.asarray(to_array(variances), dtype=np.float64)
    if array.shape != rep.codes.shape:
        raise ValueError(f"code_variances must have the shape of codes, {rep.codes.shape}, got {array.shape}.")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(
            "code_variances must be finite and above 0, got others; give variances, not their logarithms, "
            "and use dependent.minimality for an encoder without noise."
        )
    return array


def posterior_information(
    rep: Representation, variances: FloatArray, *, n_bins: int, binning: Binning
) -> PosteriorInformation:
    r"""Estimate information from the mixture of posteriors, one code at a time.

    The code of an observation drawn from the rows is a mixture of their posteriors. With :math:`h` for differential
    entropy, :math:`I(z; x) = h(z) - \text{mean}_n h(z \mid x_n)` and :math:`I(z; y) = h(z) - \sum_v p(v) h(z \mid v)`,
    where :math:`z \mid v` is the mixture over rows with that value. Both mixtures are integrated on the same points, so
    :math:`I(z; y) \le I(z; x)` holds exactly but for the integration.
    """
    drawn = DrawnRows.of(rep, np.arange(rep.n_samples), n_bins=n_bins, binning=binning)
    return posterior_information_of_draws(rep.codes, variances, [drawn])[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnRows:
    """Some rows of a representation, and what is known of their factors.

    Attributes:
        rows: Positions among all rows.
        labels: For each factor the value of each of these rows, -1 where it is not known, and the number of values.
    """

    rows: IntArray
    labels: tuple[tuple[IntArray, int], ...]

    @classmethod
    def of(cls, rep: Representation, rows: IntArray, *, n_bins: int, binning: Binning) -> Self:
        """Return the factors of a representation of these rows."""
        return cls(rows=rows, labels=tuple(factor_labels(factor, n_bins, binning) for factor in rep.factors))

    def members(self, n_rows: int) -> scipy.sparse.csr_array:
        """Return which of all rows are among these, and which of these have each value of each factor: 0 or 1."""
        sets = [self.rows, *(self.rows[values == value] for values, size in self.labels for value in range(size))]
        ends = np.cumsum([0, *map(len, sets)])
        entries = (np.ones(ends[-1]), np.concatenate(sets), ends)
        return scipy.sparse.csr_array(entries, shape=(len(sets), n_rows))


def posterior_information_of_draws(
    codes: FloatArray, variances: FloatArray, draws: Sequence[DrawnRows]
) -> list[PosteriorInformation]:
    """Estimate information from the mixtures of several draws of rows, or of other labels for the same rows.

    The densities of a code, which take most of the time, are computed once for all draws.
    """
    (n_rows, n_codes), n_factors = codes.shape, len(draws[0].labels)
    members = [draw.members(n_rows) for draw in draws]
    counts = [np.diff(of_draw.indptr) for of_draw in members]
    ends = [np.cumsum([1, *(size for _, size in draw.labels)]) for draw in draws]
    parts = [slice(start, start + CHUNK) for start in range(0, n_rows, CHUNK)]
    stacked = scipy.sparse.vstack(members, format="csr")
    in_parts = [stacked[:, part] for part in parts]
    with_data, with_factors = np.zeros((len(draws), n_codes)), np.zeros((len(draws), n_codes, n_factors))
    for j in range(n_codes):
        mean, deviation = np.ascontiguousarray(codes[:, j]), np.sqrt(variances[:, j])
        points, widths = _points(mean, deviation)
        sums = sum(
            own @ _densities(mean[part], deviation[part], points) for own, part in zip(in_parts, parts, strict=True)
        )
        noise = 0.5 * np.log(2 * np.pi * np.e) + np.log(deviation)
        of_draws = np.split(sums, np.cumsum([len(own) for own in counts])[:-1])
        for d, (draw, density, n_each, edges) in enumerate(zip(draws, of_draws, counts, ends, strict=True)):
            information = _differential_entropy(density[0] / n_each[0], widths) - noise[draw.rows].mean()
            with_data[d, j] = np.clip(information, 0.0, np.log(len(draw.rows)))
            for k, (start, end) in enumerate(pairwise(edges)):
                with_factors[d, j, k] = _with_factor(density[start:end], n_each[start:end], widths)
    return [
        PosteriorInformation(
            with_data=with_data[d],
            with_factors=np.minimum(with_factors[d], with_data[d][:, None]),
            factor_entropy=np.array([float(entropy(counts[d][start:end])) for start, end in pairwise(ends[d])]),
            saturated=_saturated(codes[draw.rows], variances[draw.rows]),
        )
        for d, draw in enumerate(draws)
    ]


def _saturated(codes: FloatArray, variances: FloatArray) -> BoolArray:
    """Which codes have gaps between rows that are wide beside their posteriors."""
    gaps = np.median(np.diff(np.sort(codes, axis=0), axis=0), axis=0)
    found: BoolArray = gaps > np.sqrt(np.median(variances, axis=0)) / 2
    return found


def _with_factor(part: FloatArray, counts: FloatArray, widths: FloatArray) -> float:
    """Mutual information of a code and a factor, from the summed densities of each value, ``(n_values, n_points)``."""
    part, counts = part[counts > 0], counts[counts > 0]
    within = [_differential_entropy(row / count, widths) for row, count in zip(part, counts, strict=True)]
    between = _differential_entropy(part.sum(axis=0) / counts.sum(), widths)
    return max(0.0, between - float(np.average(within, weights=counts)))


def _points(mean: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points of Gauss and Legendre in pieces that are narrow where posteriors are, and the width of each point.

    Pieces end at quantiles of the means spread by their deviations, and at even steps.
    """
    spread = np.concatenate([mean + step * deviation for step in np.linspace(-REACH, REACH, 25)])
    even = np.linspace(spread.min(), spread.max(), N_PIECES)
    ends = np.unique(np.concatenate([np.quantile(spread, np.linspace(0, 1, N_PIECES)), even]))
    nodes, weights = np.polynomial.legendre.leggauss(N_POINTS)
    middle, half = (ends[1:] + ends[:-1])[:, None] / 2, np.diff(ends)[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def _densities(mean: FloatArray, deviation: FloatArray, points: FloatArray) -> FloatArray:
    """Density of the posterior of each row at each point, ``(n_rows, n_points)``."""
    found = np.empty((len(mean), len(points)))
    step = max(1, CELLS_AT_ONCE // len(points))
    for start in range(0, len(mean), step):
        rows = slice(start, start + step)
        own = found[rows]
        np.subtract(points, mean[rows, None], out=own)
        own *= np.sqrt(0.5) / deviation[rows, None]
        np.multiply(own, own, out=own)
        np.exp(np.negative(own, out=own), out=own)
        own *= 1 / (deviation[rows, None] * np.sqrt(2 * np.pi))
    return found


def _differential_entropy(density: FloatArray, widths: FloatArray) -> float:
    return float(-(density * np.log(np.maximum(density, 1e-300))) @ widths)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorSeparation:
    """Information about the observation, in nats.

    Attributes:
        alone: Of each code, ``(n_codes,)``.
        others: Of all codes but one, ``(n_codes,)``.
        together: Of all codes.
        ceiling: The most that so many rows can show: the logarithm of their number.
    """

    alone: FloatArray
    others: FloatArray
    together: float
    ceiling: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorSamples:
    """Codes drawn from the posteriors of rows.

    Attributes:
        rows: The row that each sample is of; all rows in turn, in an order by chance.
        values: The samples, ``(n_samples, n_codes)``.
    """

    rows: IntArray
    values: FloatArray

    @classmethod
    def draw(cls, means: FloatArray, variances: FloatArray, *, n_samples: int, rng: np.random.Generator) -> Self:
        """Draw as many samples of each row, up to one."""
        n_rows, n_codes = means.shape
        rows = np.resize(rng.permutation(n_rows), n_samples)
        noise = rng.standard_normal((n_samples, n_codes))
        return cls(rows=rows, values=means[rows] + np.sqrt(variances[rows]) * noise)


def posterior_separation(
    means: FloatArray, variances: FloatArray, samples: PosteriorSamples, parts: Sequence[IntArray]
) -> list[PosteriorSeparation]:
    """Estimate the information of one code, of all others and of all about the observation, from posterior samples.

    A code of an observation drawn from the rows has the density of the mixture of all posteriors; the information is
    the mean over samples of the logarithm of their own density over that of the mixture.

    Args:
        means: ``(n_rows, n_codes)``.
        variances: In the same shape.
        samples: Samples of the posteriors.
        parts: Rows whose mixtures are looked at, each with the samples of its own rows; the densities, which take most
            of the time, are computed once for all parts.
    """
    n_rows, n_codes = means.shape
    member = np.zeros((len(parts), n_rows), dtype=bool)
    for own, rows in zip(member, parts, strict=True):
        own[rows] = True
    shares = (member / member.sum(axis=1, keepdims=True)).T
    posteriors = _Posteriors.of(means, np.sqrt(variances))
    sums = np.zeros((3, n_codes, len(parts)))
    step = max(1, CELLS_AT_ONCE // n_rows)
    for start in range(0, len(samples.rows), step):
        rows = samples.rows[start : start + step]
        values, counted = np.ascontiguousarray(samples.values[start : start + step].T), member[:, rows].T
        # Densities are taken relative to those of the sample's own row, whose share of every sum is then 1: a sum
        # cannot be 0, nor overflow, as a sample hardly ever has a density e^700 times higher in another row.
        whole, density = np.zeros((len(rows), n_rows)), np.empty((len(rows), n_rows))
        for j in range(n_codes):
            whole += posteriors.relative_log_density(j, values[j], rows, density)
        sums[2] -= np.log(np.exp(whole) @ shares, where=counted, out=np.zeros(counted.shape)).sum(axis=0)
        for j in range(n_codes):
            posteriors.relative_log_density(j, values[j], rows, density)
            others = np.exp(whole - density) @ shares
            alone = np.exp(density, out=density) @ shares
            for of_kind, found in zip(sums, (alone, others), strict=False):
                of_kind[j] -= np.log(found, where=counted, out=np.zeros(counted.shape)).sum(axis=0)
    n_samples = member[:, samples.rows].sum(axis=1)
    return [
        PosteriorSeparation(alone=alone, others=others, together=float(together[0]), ceiling=float(np.log(len(rows))))
        for (alone, others, together), rows in zip(
            np.moveaxis(np.maximum(sums / n_samples, 0.0), 2, 0), parts, strict=True
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Posteriors:
    """Posteriors of all rows, ``(n_codes, n_rows)``: scaled so that minus a square is the exponent of a density.

    Attributes:
        means: Over the deviation and the root of two.
        scales: One over both.
        logs: Logarithms of the deviations.
    """

    means: FloatArray
    scales: FloatArray
    logs: FloatArray

    @classmethod
    def of(cls, means: FloatArray, deviations: FloatArray) -> Self:
        scales = np.ascontiguousarray(np.sqrt(0.5) / deviations.T)
        return cls(means=means.T * scales, scales=scales, logs=np.log(np.ascontiguousarray(deviations.T)))

    def relative_log_density(self, code: int, values: FloatArray, own: IntArray, out: FloatArray) -> FloatArray:
        """Log-density of values of a code at each row, less that at the row of each value, ``(n_values, n_rows)``."""
        mean, scale, log = self.means[code], self.scales[code], self.logs[code]
        np.multiply(values[:, None], scale, out=out)
        out -= mean
        np.multiply(out, out, out=out)
        out += log
        return np.subtract(out[np.arange(len(own)), own][:, None], out, out=out)
