"""Codes that are cosines of factors, independent or not: the scenarios of the paper on dependent factors."""

from typing import Literal, get_args

import numpy as np

from unbraid._typing import FloatArray
from unbraid._validation import MIN_ROWS, check_at_least, check_choice
from unbraid.representation import Representation

CosineScenario = Literal[
    "Cos0",
    "Cos1I",
    "Cos2I",
    "Cos3I",
    "Cos1D",
    "Cos2D",
    "Cos3D",
    "CosNuis2I",
    "CosNuis3I",
    "CosNuis2D",
    "CosNuis3D",
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
        codes,
        {"y1": y1, "y2": y2, "y3": y3},
        code_names=[f"z{j + 1}" for j in range(codes.shape[1])],
    )
