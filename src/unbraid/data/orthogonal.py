"""Synthetic scheme of the orthogonality paper: factors with known subspaces, IWO and IWR."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import MIN_ROWS, check_at_least, check_choice
from unbraid.representation.representation import Representation

MappingKind = Literal["polynomial", "trigonometric", "permutation", "noisy"]

CLIPPED_PERCENT = 1
N_LEVELS: dict[MappingKind, int] = {"polynomial": 40, "trigonometric": 40, "permutation": 5, "noisy": 5}
NOISE = 0.01


class SchemeTruth(NamedTuple):
    """Result of a perfect measurement of a scheme."""

    iwo_matrix: FloatArray
    iwo: float
    iwr: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrthogonalScheme:
    """Codes and factors, and the right answers about them.

    Attributes:
        representation: Codes and factors, as any metric takes them.
        axes: For each factor, its subspace: orthonormal columns in the coordinates of the codes, ``(n_codes, rank)``.
        iwo_matrix: True importance-weighted orthogonality of every two factors, ``(n_factors, n_factors)``.
        true_iwo: Its mean over pairs of factors.
        true_iwr: True importance-weighted rank, the same for every factor.
    """

    representation: Representation
    axes: tuple[FloatArray, ...]
    iwo_matrix: FloatArray
    true_iwo: float
    true_iwr: float


def orthogonal_scheme(
    n_codes: int,
    n_factors: int,
    rank: int,
    *,
    mapping: MappingKind = "polynomial",
    rotate: bool = False,
    n_samples: int = 10_000,
    n_levels: int | None = None,
    seed: int = 0,
) -> OrthogonalScheme:
    r"""Draw codes and factors whose subspaces share a known number of axes.

    Codes are independent standard Gaussians. Each factor is a symmetric function of ``rank`` successive codes, wrapped
    round at the end; the windows start ``n_codes / n_factors`` apart, so that windows longer than that overlap:

    .. math::

        z_k = \Bigl(\frac{1}{R} \sum_{l \in S_k} c_l^2\Bigr)^{1/2} \text{ (polynomial)}, \qquad
        z_k = \frac{1}{R} \sum_{l \in S_k} \cos c_l \text{ (trigonometric)},

    then clipped to the 1st and 99th percentile, rescaled to [0, 1] and rounded. ``"permutation"`` and ``"noisy"``
    start from factors with evenly spread random levels: codes are the factors in another order, or the factors with
    Gaussian noise of deviation 0.01.

    Every axis of a factor has weight :math:`1/R`, so with :math:`s_{jk}` shared axes
    :math:`\mathrm{IWO}_{jk} = 1 - s_{jk} / R` and :math:`\mathrm{IWR} = 1 - \log_L R`.

    Args:
        n_codes: :math:`L`, a multiple of ``n_factors``.
        n_factors: :math:`K`, at least 2.
        rank: :math:`R`, axes of each factor, at most ``n_codes``.
        mapping: How factors and codes depend on each other; ``"permutation"`` and ``"noisy"`` need
            ``n_codes = n_factors`` and ``rank = 1``.
        rotate: Turn the codes by a random orthogonal matrix. The truth stays.
        n_samples: Rows.
        n_levels: Values each factor takes, evenly spaced in [0, 1]; by default 40, or 5 for ``"permutation"`` and
            ``"noisy"``.
        seed: Same seed, same rows.

    Raises:
        ValueError: Sizes that do not fit each other, or an unknown mapping.

    References:
        Geyer et al. (2024), Measuring Orthogonality in Representations of Generative Models, sec. 4.1 and app. E.2.
        https://arxiv.org/abs/2407.03728

    Example:
        >>> scheme = orthogonal_scheme(10, 5, 5)
        >>> round(scheme.true_iwo, 3), round(scheme.true_iwr, 3)
        (0.6, 0.301)
    """
    check_choice("mapping", mapping, get_args(MappingKind))
    _check_sizes(n_codes, n_factors, rank, mapping)
    levels = N_LEVELS[mapping] if n_levels is None else n_levels
    check_at_least("n_levels", levels, 2)
    check_at_least("n_samples", n_samples, MIN_ROWS)
    check_at_least("seed", seed, 0)
    rng = np.random.default_rng(seed)

    windows = axis_windows(n_codes, n_factors, rank)
    if mapping == "polynomial" or mapping == "trigonometric":
        codes = rng.standard_normal((n_samples, n_codes))
        factors = quantise(_mapped(codes, windows, mapping), levels)
    else:
        factors = rng.integers(levels, size=(n_samples, n_factors)) / (levels - 1)
        codes, windows = _direct(factors, mapping, rng)
    axes = np.eye(n_codes)[windows].transpose(0, 2, 1)
    if rotate:
        turn = _random_rotation(n_codes, rng)
        codes, axes = codes @ turn, turn.T @ axes

    truth = scheme_truth(n_codes, n_factors, rank)
    return OrthogonalScheme(
        representation=Representation(codes, factors),
        axes=tuple(axes),
        iwo_matrix=truth.iwo_matrix,
        true_iwo=truth.iwo,
        true_iwr=truth.iwr,
    )


def scheme_truth(n_codes: int, n_factors: int, rank: int) -> SchemeTruth:
    """Right answers for a scheme, by counting the axes that two factors share; no data are drawn."""
    uses = np.zeros((n_factors, n_codes))
    np.put_along_axis(uses, axis_windows(n_codes, n_factors, rank), 1.0, axis=1)
    matrix = 1 - uses @ uses.T / rank
    return SchemeTruth(
        iwo_matrix=matrix,
        iwo=float(matrix[np.triu_indices(n_factors, 1)].mean()),
        iwr=float(1 - np.log(rank) / np.log(n_codes)),
    )


def axis_windows(n_codes: int, n_factors: int, rank: int) -> IntArray:
    """Codes that each factor is a function of, ``(n_factors, rank)``, when nothing is permuted or rotated."""
    centres = np.arange(0, n_codes, n_codes // n_factors)
    windows: IntArray = (centres[:, None] - rank // 2 + np.arange(rank)) % n_codes
    return windows


def quantise(values: FloatArray, n_levels: int) -> FloatArray:
    """Clip to the 1st and 99th percentile of all values, rescale to [0, 1], round to evenly spaced levels."""
    low, high = np.percentile(values, [CLIPPED_PERCENT, 100 - CLIPPED_PERCENT])
    unit = (np.clip(values, low, high) - low) / (high - low)
    levels: FloatArray = np.round(unit * (n_levels - 1)) / (n_levels - 1)
    return levels


def _mapped(codes: FloatArray, windows: IntArray, mapping: Literal["polynomial", "trigonometric"]) -> FloatArray:
    """Each factor before rounding, ``(n_samples, n_factors)``."""
    parts = (codes[:, window] for window in windows)
    if mapping == "polynomial":
        return np.stack([np.sqrt(np.mean(part**2, axis=1)) for part in parts], axis=1)
    return np.stack([np.mean(np.cos(part), axis=1) for part in parts], axis=1)


def _direct(
    factors: FloatArray, mapping: Literal["permutation", "noisy"], rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Codes that are the factors, reordered or with noise, and where each factor went, ``(n_factors, 1)``."""
    n_factors = factors.shape[1]
    if mapping == "noisy":
        return factors + rng.normal(scale=NOISE, size=factors.shape), np.arange(n_factors)[:, None]
    order = rng.permutation(n_factors)
    return factors[:, order], np.argsort(order)[:, None]


def _random_rotation(size: int, rng: np.random.Generator) -> FloatArray:
    """Orthogonal matrix, uniform over all of them."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    uniform: FloatArray = q * np.sign(np.diagonal(r))
    return uniform


def _check_sizes(n_codes: int, n_factors: int, rank: int, mapping: MappingKind) -> None:
    check_at_least("n_factors", n_factors, 2)
    check_at_least("n_codes", n_codes, n_factors)
    check_at_least("rank", rank, 1)
    if n_codes % n_factors:
        raise ValueError(f"n_codes must be a multiple of n_factors, got {n_codes} and {n_factors}.")
    if rank > n_codes:
        raise ValueError(f"rank must be at most n_codes = {n_codes}, got {rank}.")
    if mapping in ("permutation", "noisy") and (n_codes != n_factors or rank != 1):
        raise ValueError(
            f"n_codes must equal n_factors and rank must be 1 for a {mapping} mapping, "
            f"got {n_codes}, {n_factors} and {rank}."
        )
