"""Representations made from the labels of MPI3D alone: its grid of factors needs no image."""

from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._typing import FloatArray
from unbraid._validation import MIN_ROWS, check_at_least, check_choice
from unbraid.representation import Representation

NAMES = ("colour", "shape", "size", "height", "background", "horizontal angle", "vertical angle")
SIZES = (6, 6, 2, 3, 3, 40, 40)
KINDS = ("categorical", "categorical", "continuous", "continuous", "categorical", "continuous", "continuous")
N_ROWS = int(np.prod(SIZES))
NOISE = 0.1
MIX_NOISE = 0.04

LabelCodes = Literal["labels", "noisy", "mix"]


def mpi3d_labels(
    codes: LabelCodes = "labels", *, n_samples: int = 20_000, scale: float = 1.0, seed: int = 0
) -> Representation:
    r"""Draw rows of MPI3D's grid of seven factors, and make codes from the labels themselves.

    Labels are scaled to [0, 1]. ``"labels"``: the codes are the labels. ``"noisy"``: labels plus Gaussian noise of
    variance 0.01. ``"mix"``: :math:`c = W z` with :math:`W_{ij} = 1/49 + \epsilon_{ij}`, the noise of variance
    0.0016, so that every code is a blend of all factors that a matrix undoes.

    Args:
        codes: How codes follow from labels.
        n_samples: Rows, drawn from the 1 036 800 of the grid without repetition.
        scale: Multiplies the noise of ``"noisy"`` and of ``"mix"``.
        seed: Same seed, same rows and codes; and the same mixing matrix for any number of rows.

    Returns:
        Colour, shape and background as categories, the others as numbers.

    References:
        Eastwood et al. (2023), sec. 6. https://arxiv.org/abs/2210.00364; Gondal et al. (2019), MPI3D.

    Example:
        >>> mpi3d_labels("noisy", n_samples=100).factor_names[:3]
        ('colour', 'shape', 'size')
    """
    check_choice("codes", codes, get_args(LabelCodes))
    check_at_least("n_samples", n_samples, MIN_ROWS)
    if n_samples > N_ROWS:
        raise ValueError(f"n_samples must be at most {N_ROWS}, the size of the grid, got {n_samples}.")
    which, rng = np.random.default_rng([seed, get_args(LabelCodes).index(codes)]).spawn(2)
    rows = which.choice(N_ROWS, size=n_samples, replace=False)
    z = np.stack(np.unravel_index(rows, SIZES), axis=1) / (np.array(SIZES) - 1)
    if codes == "noisy":
        c = z + scale * NOISE * rng.standard_normal(z.shape)
    elif codes == "mix":
        n = len(SIZES)
        c = z @ (1 / n**2 + scale * MIX_NOISE * rng.standard_normal((n, n))).T
    else:
        c = z
    return Representation(c, z, names=NAMES, kinds=KINDS)


def best_noisy_predictions(scale: float = 1.0) -> FloatArray:
    """What the best possible probe gets from one noisy label: accuracy of categories, R² of numbers, ``(7,)``.

    Each factor is drawn evenly from its values, and all its information is in its own code.
    """
    return np.array([_best(n, kind == "categorical", scale * NOISE) for n, kind in zip(SIZES, KINDS, strict=True)])


def _best(n_values: int, is_category: bool, noise: float) -> float:
    values = np.linspace(0, 1, n_values)
    if is_category:
        reach = scipy.special.ndtr(values[1] / 2 / noise)
        return float((2 * reach + (n_values - 2) * (2 * reach - 1)) / n_values)
    seen = np.linspace(-8 * noise, 1 + 8 * noise, 20_001)
    density = np.exp(-(((seen[:, None] - values) / noise) ** 2) / 2) / (np.sqrt(2 * np.pi) * noise * n_values)
    total = density.sum(axis=1)
    mean = density @ values / np.maximum(total, 1e-300)
    unexplained = np.trapezoid((density * (values - mean[:, None]) ** 2).sum(axis=1), seen)
    return float(1 - unexplained / values.var())
