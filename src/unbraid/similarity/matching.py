"""Agreement of two dictionaries: does each code, or decoder column, of one have a partner in the other?"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score
from unbraid.similarity.uncertainty import paired_codes, with_uncertainty

Matching = Literal["one_to_one", "best"]
DictionaryPart = Literal["codes", "columns"]
N_TURNS = 12


def dictionaries(
    a: Any,
    b: Any,
    *,
    of: DictionaryPart = "codes",
    matching: Matching = "one_to_one",
    threshold: float = 0.7,
    interval: bool = True,
    chance: bool = True,
    rng: np.random.Generator | int = 0,
) -> Score:
    """Mean correlation of matched codes of two models, such as two sparse autoencoders of different seeds.

    Args:
        a: Codes, ``(n_samples, n_codes)``; with ``of="columns"``, decoder weights, ``(n_outputs, n_codes)``.
        b: Codes of the same rows, or decoder weights of the same outputs.
        of: ``"codes"`` correlates codes over rows, ``"columns"`` takes the cosine of decoder columns; without sign.
        matching: ``"one_to_one"`` assigns each code of the smaller dictionary a partner of its own (Hungarian method),
            ``"best"`` takes the best partner of each code, whoever else has it, averaged over both directions.
        threshold: Correlation from which a code counts as found again; ``evidence["share_found"]`` has the share.
        interval: Whether to compute a confidence interval, from random halves of the rows; columns have none.
        chance: Whether to compute the chance level: rows shuffled, or columns turned by a random rotation.
        rng: Chooses halves, shuffles and rotations, or its seed.

    Returns:
        1 where every code has a copy; ``per_code`` is the correlation of each code of ``a`` with its partner. Chance is
        well above 0, as the best of many partners is good by luck.

    References:
        Song et al. (2025), Mechanistic Interpretability Should Prioritize Feature Consistency in SAEs,
        https://arxiv.org/abs/2505.20254

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(float(dictionaries(codes, -2 * codes[:, ::-1])), 9)
        1.0
    """
    check_choice("of", of, get_args(DictionaryPart))
    check_choice("matching", matching, get_args(Matching))
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, got {threshold}.")
    if of == "columns":
        return _of_columns(a, b, matching, threshold, chance, rng)
    x, y = paired_codes(a, b)

    def agreement(i: IntArray, j: IntArray) -> float:
        return _agreement(_matched(_correlations(x[i], y[j], centred=True), matching))

    matched = _matched(_correlations(x, y, centred=True), matching)
    return with_uncertainty(
        agreement,
        len(x),
        bounds=(0.0, 1.0),
        interval=interval,
        chance=chance,
        rng=rng,
        per_code=matched[0],
        evidence=_found(matched, threshold),
    )


def _of_columns(
    a: Any, b: Any, matching: Matching, threshold: float, chance: bool, rng: np.random.Generator | int
) -> Score:
    """Compare decoder columns; their rows are outputs of a model and no sample, so that there is no interval."""
    x, y = as_representation(a).codes, as_representation(b).codes
    if len(x) != len(y):
        raise ValueError(f"b must have the outputs of a, got {len(y)} for {len(x)}; give decoders of the same data.")
    matched = _matched(_correlations(x, y, centred=False), matching)
    null = None
    if chance:
        draw = np.random.default_rng(rng)
        turns = (np.linalg.qr(draw.normal(size=(len(y), len(y))))[0] for _ in range(N_TURNS))
        null = float(np.mean([_agreement(_matched(_correlations(x, t @ y, centred=False), matching)) for t in turns]))
    return Score(value=_agreement(matched), null=null, per_code=matched[0], evidence=_found(matched, threshold))


def _correlations(x: FloatArray, y: FloatArray, *, centred: bool) -> FloatArray:
    """Return the absolute correlation, or cosine, of every column of one with every column of the other."""

    def unit(columns: FloatArray) -> FloatArray:
        moved = columns - columns.mean(axis=0) if centred else columns
        norms = np.linalg.norm(moved, axis=0)
        return np.asarray(np.divide(moved, norms, out=np.zeros_like(moved), where=norms > 0))

    return np.asarray(np.minimum(np.abs(unit(x).T @ unit(y)), 1.0))


def _matched(correlations: FloatArray, matching: Matching) -> tuple[FloatArray, FloatArray]:
    """Return the correlation of each code with its partner, for both dictionaries; NaN for a code without one."""
    if matching == "best":
        return correlations.max(axis=1), correlations.max(axis=0)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(correlations, maximize=True)
    first, second = (np.full(size, np.nan) for size in correlations.shape)
    first[rows] = second[columns] = correlations[rows, columns]
    return first, second


def _agreement(matched: tuple[FloatArray, FloatArray]) -> float:
    """Mean over the codes that have a partner, of both dictionaries alike."""
    return float(np.mean([np.nanmean(side) for side in matched]))


def _found(matched: tuple[FloatArray, FloatArray], threshold: float) -> dict[str, FloatArray]:
    """Share of the codes of each dictionary whose partner is close enough."""
    return {"share_found": np.array([float(np.mean(np.nan_to_num(side) >= threshold)) for side in matched])}
