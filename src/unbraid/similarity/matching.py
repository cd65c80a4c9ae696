"""Agreement of two dictionaries: does each code, or decoder column, of one have a partner in the other?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score
from unbraid.similarity.uncertainty import N_SHUFFLES, paired_codes, with_uncertainty

Matching = Literal["one_to_one", "best"]
DictionaryPart = Literal["codes", "columns"]
N_TURNS = 12
#: With more codes than this in both dictionaries, correlations are taken in single precision, and few shuffles or
#: turns are enough: the mean over so many codes hardly varies between them.
MANY_CODES, N_DRAWS_OF_MANY = 1024, 4
#: Correlations that are computed at once.
CELLS = 16_000_000


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
    kind = _precision(x, y)

    def matched_on(i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
        return _matched(_units(x[i], kind, centred=True), _units(y[j], kind, centred=True), matching)

    every = np.arange(len(x))
    matched = matched_on(every, every)
    return with_uncertainty(
        lambda i, j: _agreement(matched_on(i, j)),
        len(x),
        value=_agreement(matched),
        bounds=(0.0, 1.0),
        interval=interval,
        chance=chance,
        n_shuffles=N_DRAWS_OF_MANY if kind is np.float32 else N_SHUFFLES,
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
    kind = _precision(x, y)
    first = _units(x, kind, centred=False)
    matched = _matched(first, _units(y, kind, centred=False), matching)
    null = None
    if chance:
        draw = np.random.default_rng(rng)
        n_turns = N_DRAWS_OF_MANY if kind is np.float32 else N_TURNS
        turns = (np.linalg.qr(draw.normal(size=(len(y), len(y))))[0] for _ in range(n_turns))
        turned = (_units(turn @ y, kind, centred=False) for turn in turns)
        null = float(np.mean([_agreement(_matched(first, own, matching)) for own in turned]))
    return Score(value=_agreement(matched), null=null, per_code=matched[0], evidence=_found(matched, threshold))


def _precision(x: FloatArray, y: FloatArray) -> type[np.float32] | type[np.float64]:
    return np.float32 if min(x.shape[1], y.shape[1]) > MANY_CODES else np.float64


def _units(columns: FloatArray, kind: type[np.floating[Any]], *, centred: bool) -> AnyArray:
    """Return columns of length 1, or 0 where they are constant, so that products are correlations, or cosines."""
    moved = columns - columns.mean(axis=0) if centred else columns
    norms = np.linalg.norm(moved, axis=0)
    return np.asarray(np.divide(moved, norms, out=np.zeros_like(moved), where=norms > 0), dtype=kind)


def _matched(x: AnyArray, y: AnyArray, matching: Matching) -> tuple[FloatArray, FloatArray]:
    """Return the absolute correlation of each code with its partner, for both dictionaries; NaN for a code without one.

    Args:
        x: Codes of one dictionary, centred where correlations are wanted, of length 1, ``(n_rows, n_codes)``.
        y: Codes of the other, alike.
        matching: One to one, or the best for each.
    """
    if x.shape[1] > y.shape[1]:
        second, first = _matched(y, x, matching)
        return first, second
    if matching == "best":
        best, best_of_other = np.empty(x.shape[1]), np.zeros(y.shape[1])
        for part, correlations in _correlations(x, y):
            best[part] = correlations.max(axis=1)
            np.maximum(best_of_other, correlations.max(axis=0), out=best_of_other)
        return best, best_of_other
    from scipy.optimize import linear_sum_assignment

    costs = np.empty((x.shape[1], y.shape[1]))
    for part, correlations in _correlations(x, y):
        np.negative(correlations, out=costs[part])
    rows, columns = linear_sum_assignment(costs)
    first, second = (np.full(size, np.nan) for size in costs.shape)
    first[rows] = second[columns] = -costs[rows, columns]
    return first, second


def _correlations(x: AnyArray, y: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Yield some codes of one dictionary, and their absolute correlations with all codes of the other."""
    step = max(1, CELLS // y.shape[1])
    for start in range(0, x.shape[1], step):
        part = slice(start, start + step)
        products = x[:, part].T @ y
        yield part, np.minimum(np.abs(products, out=products), 1.0, out=products)


def _agreement(matched: tuple[FloatArray, FloatArray]) -> float:
    """Mean over the codes that have a partner, of both dictionaries alike."""
    return float(np.mean([np.nanmean(side) for side in matched]))


def _found(matched: tuple[FloatArray, FloatArray], threshold: float) -> dict[str, FloatArray]:
    """Share of the codes of each dictionary whose partner is close enough."""
    return {"share_found": np.array([float(np.mean(np.nan_to_num(side) >= threshold)) for side in matched])}
