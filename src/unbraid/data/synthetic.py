"""Synthetic codes with known scores: cosines of factors, MPI3D labels, and the demo."""

from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import MIN_ROWS, check_at_least, check_choice
from unbraid.representation.representation import Representation

CosineScenario = Literal[
    "Cos0", "Cos1I", "Cos2I", "Cos3I", "Cos1D", "Cos2D", "Cos3D", "CosNuis2I", "CosNuis3I", "CosNuis2D", "CosNuis3D"
]
# Each code is the cosine of a mean of y1, y2, y3 and the nuisance n; these are the weights of the means.
ANGLES: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "1": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
    "2": ((1, 0, 0, 0), (0, 1, 0, 0), (0.75, 0.25, 0, 0)),
    "3": ((0.5, 0.5, 0, 0), (0.5, 0, 0.5, 0), (0, 0.5, 0.5, 0)),
    "Nuis2": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0.5, 0.5)),
    "Nuis3": ((0.5, 0.5, 0, 0), (0.5, 0, 0.5, 0), (0, 0.25, 0.25, 0.5)),
}


def cosine_dependence(scenario: CosineScenario, *, n_samples: int = 10_000, seed: int = 0) -> Representation:
    r"""Draw three factors and codes that are cosines of means of them.

    :math:`y_1, y_2 \sim U[0, \pi)`. In scenarios that end in I the third factor is drawn alike, and all are
    independent; in those that end in D it is :math:`(y_1 + y_2) / 2`. The number says how the codes hold the
    factors: 1, each in a code of its own; 2, the third is not there, and a mixture of the others is; 3, every code
    mixes two. ``Nuis2`` and ``Nuis3`` mix a nuisance into the third code. A fourth code is noise, but for ``Cos0``.

    Args:
        scenario: One of ``Cos0``, ``Cos1I`` to ``Cos3I``, ``Cos1D`` to ``Cos3D``, ``CosNuis2I``, ``CosNuis3I``,
            ``CosNuis2D``, ``CosNuis3D``.
        n_samples: Rows.
        seed: Same seed, same rows.

    Raises:
        ValueError: An unknown scenario, fewer than four rows or a negative seed.

    References:
        Almudévar et al. (2024), sec. 5 and app. C, Tables 1 and 9; https://arxiv.org/abs/2408.07016. Two slips of
        Table 9 are mended so that they agree with Tables 1 and 10: in Cos1D :math:`z_3 = \cos y_3`, and in CosNuis2D
        :math:`z_1 = \cos y_1`, :math:`z_2 = \cos y_2`.

    Example:
        >>> rep = cosine_dependence("Cos1D", n_samples=100)
        >>> rep.codes.shape, rep.factor_names
        ((100, 4), ('y1', 'y2', 'y3'))
    """
    check_choice("scenario", scenario, get_args(CosineScenario))
    check_at_least("n_samples", n_samples, MIN_ROWS)
    check_at_least("seed", seed, 0)
    rng = np.random.default_rng(seed)
    y1, y2, y3, nuisance = rng.uniform(0, np.pi, (4, n_samples))
    noise = rng.uniform(size=n_samples)
    if scenario.endswith("D"):
        y3 = (y1 + y2) / 2
    kind = "1" if scenario == "Cos0" else scenario.removeprefix("Cos")[:-1]
    angles: FloatArray = np.stack([y1, y2, y3, nuisance], axis=1) @ np.array(ANGLES[kind]).T
    codes = np.cos(angles) if scenario == "Cos0" else np.column_stack([np.cos(angles), noise])
    return Representation(
        codes, {"y1": y1, "y2": y2, "y3": y3}, code_names=[f"z{j + 1}" for j in range(codes.shape[1])]
    )


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
        codes: ``"labels"``, ``"noisy"`` or ``"mix"``, as above.
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
        c = z @ mixing_matrix(seed=seed, scale=scale).T
    else:
        c = z
    return Representation(c, z, names=NAMES, kinds=KINDS)


def mixing_matrix(*, seed: int = 0, scale: float = 1.0) -> FloatArray:
    """Return the matrix W of the codes ``"mix"`` of :func:`mpi3d_labels`, codes by factors, ``(7, 7)``."""
    _, rng = np.random.default_rng([seed, get_args(LabelCodes).index("mix")]).spawn(2)
    n = len(SIZES)
    return np.asarray(1 / n**2 + scale * MIX_NOISE * rng.standard_normal((n, n)))


def mixing_importance(matrix: FloatArray) -> FloatArray:
    r"""Return the importances of mixed codes to the probe that undoes the mix, codes by factors; columns sum to 1.

    For independent factors :math:`z` and codes :math:`c = W z`, the SAGE value of code :math:`j` for the exact inverse
    is :math:`(W^{-1})_{kj} \mathrm{Cov}(c_j, z_k) = (W^{-1})_{kj} W_{jk} \mathrm{Var}(z_k)`, so that importances are in
    proportion to :math:`|W^{-\top} \circ W|`.
    """
    values = np.abs(np.linalg.inv(matrix).T * matrix)
    return np.asarray(values / values.sum(axis=0))


def best_noisy_predictions(scale: float = 1.0) -> FloatArray:
    """Return the score of the best possible probe on one noisy label: accuracy of categories, R² of numbers, ``(7,)``.

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


SHAPES = np.array(["square", "ellipse", "heart"])


def example(n_samples: int = 3000, *, seed: int = 0) -> Representation:
    """Make codes of a picture of one shape on a plane, with faults that are known.

    Five factors: shape, size, angle, and position x and y. Eight codes: the shape has a code to itself and so has
    the size, bent by a curve; the angle needs two, its cosine and sine; the position
    is there, but turned by 30 degrees, so two codes share two factors; one code is noise and one is dead.

    Args:
        n_samples: Rows.
        seed: Same seed, same rows.
    """
    rng = np.random.default_rng(seed)
    shape = rng.integers(3, size=n_samples)
    size = rng.integers(6, size=n_samples)
    angle = rng.integers(40, size=n_samples) * 9.0
    x, y = rng.integers(32, size=(2, n_samples)) / 31 - 0.5
    turn, radians = np.pi / 6, np.deg2rad(angle)
    noise = 0.03 * rng.standard_normal((n_samples, 7))
    codes = {
        "shape": shape - 1.0 + noise[:, 0],
        "size": (size / 5) ** 1.5 + noise[:, 1],
        "angle_cos": np.cos(radians) + noise[:, 2],
        "angle_sin": np.sin(radians) + noise[:, 3],
        "place_a": np.cos(turn) * x - np.sin(turn) * y + noise[:, 4],
        "place_b": np.sin(turn) * x + np.cos(turn) * y + noise[:, 5],
        "noise": 30 * noise[:, 6],
        "dead": np.zeros(n_samples),
    }
    rep = Representation(
        np.stack(list(codes.values()), axis=1),
        {"shape": SHAPES[shape], "size": size, "angle": angle, "x": x, "y": y},
        kinds={"size": "ordinal", "angle": "circular:360"},
        code_names=codes,
    )
    rep.source = f"ub.data.example(n_samples={n_samples}, seed={seed})"
    return rep
