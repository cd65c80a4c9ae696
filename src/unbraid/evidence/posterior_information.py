"""Information in the codes of an encoder that gives a mean and a variance: about the data, and about each factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import to_array
from unbraid.evidence.counting import entropy
from unbraid.evidence.information import Binning, factor_labels
from unbraid.representation.representation import Representation

#: Pieces that the range of a code is cut into, twice, and points in a piece.
N_PIECES, N_POINTS = 125, 4
REACH = 6.0
CHUNK = 2_000


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
    labels = [factor_labels(factor, n_bins, binning) for factor in rep.factors]
    members = [(values[:, None] == np.arange(size)).astype(float) for values, size in labels]
    with_data, with_factors = np.zeros(rep.n_codes), np.zeros((rep.n_codes, rep.n_factors))
    for j in range(rep.n_codes):
        mean, deviation = rep.codes[:, j], np.sqrt(variances[:, j])
        points, widths = _points(mean, deviation)
        whole, parts = _densities(mean, deviation, points, members)
        noise = float((0.5 * np.log(2 * np.pi * np.e) + np.log(deviation)).mean())
        with_data[j] = np.clip(_differential_entropy(whole / len(mean), widths) - noise, 0.0, np.log(len(mean)))
        with_factors[j] = [
            _with_factor(part, member.sum(axis=0), widths) for part, member in zip(parts, members, strict=True)
        ]
    return PosteriorInformation(
        with_data=with_data,
        with_factors=np.minimum(with_factors, with_data[:, None]),
        factor_entropy=np.array([float(entropy(member.sum(axis=0))) for member in members]),
        saturated=np.median(np.diff(np.sort(rep.codes, axis=0), axis=0), axis=0)
        > np.sqrt(np.median(variances, axis=0)) / 2,
    )


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


def _densities(
    mean: FloatArray, deviation: FloatArray, points: FloatArray, members: list[FloatArray]
) -> tuple[FloatArray, list[FloatArray]]:
    """Densities of the posteriors, summed over all rows and over the rows of each value of each factor."""
    whole, parts = np.zeros(len(points)), [np.zeros((member.shape[1], len(points))) for member in members]
    for start in range(0, len(mean), CHUNK):
        rows = slice(start, start + CHUNK)
        scale = deviation[rows, None]
        kernel = np.exp(-0.5 * ((points - mean[rows, None]) / scale) ** 2) / (scale * np.sqrt(2 * np.pi))
        whole += kernel.sum(axis=0)
        for part, member in zip(parts, members, strict=True):
            part += member[rows].T @ kernel
    return whole, parts


def _differential_entropy(density: FloatArray, widths: FloatArray) -> float:
    return float(-(density * np.log(np.maximum(density, 1e-300))) @ widths)


#: Densities of samples under posteriors that are held at once.
CELLS_AT_ONCE = 4_000_000


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

    def of(self, rows: IntArray) -> Self:
        """Return the samples of these rows, which are numbered anew in their order."""
        place = np.full(1 + max(int(self.rows.max()), int(rows.max())), -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        return replace(self, rows=place[self.rows[kept]], values=self.values[kept])


def posterior_separation(means: FloatArray, variances: FloatArray, samples: PosteriorSamples) -> PosteriorSeparation:
    """Estimate the information of one code, of all others and of all about the observation, from posterior samples.

    A code of an observation drawn from the rows has the density of the mixture of all posteriors; the information is
    the mean over samples of the logarithm of their own density over that of the mixture.
    """
    n_rows, n_codes = means.shape
    n_samples, deviation = len(samples.rows), np.sqrt(variances)
    sums = np.zeros((3, n_codes))
    for start in range(0, n_samples, step := max(1, CELLS_AT_ONCE // (n_rows * n_codes))):
        values, rows = samples.values[start : start + step], samples.rows[start : start + step]
        density = _log_density(values[:, None, :], means, deviation)
        own = _log_density(values, means[rows], deviation[rows])
        whole, of_own = density.sum(axis=2, keepdims=True), own.sum(axis=1, keepdims=True)
        sums[0] += (own - _log_mean(density)).sum(axis=0)
        sums[1] += (of_own - own - _log_mean(whole - density)).sum(axis=0)
        sums[2] += (of_own - _log_mean(whole)).sum()
    alone, others, together = np.maximum(sums / n_samples, 0.0)
    return PosteriorSeparation(alone=alone, others=others, together=float(together[0]), ceiling=float(np.log(n_rows)))


def _log_density(values: FloatArray, means: FloatArray, deviation: FloatArray) -> FloatArray:
    found: FloatArray = -0.5 * ((values - means) / deviation) ** 2 - np.log(deviation * np.sqrt(2 * np.pi))
    return found


def _log_mean(density: FloatArray) -> FloatArray:
    """Logarithm of the mean density over rows, the second axis."""
    top = density.max(axis=1, keepdims=True)
    found: FloatArray = top[:, 0] + np.log(np.exp(density - top).mean(axis=1))
    return found
