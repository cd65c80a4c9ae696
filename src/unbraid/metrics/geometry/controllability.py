"""Smoothness and monotonicity of an attribute of decoded observations along one code."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_at_least, check_matrix
from unbraid._base.stats import student_quantile
from unbraid.metrics.table.metric import BesideThePanel, not_one_number
from unbraid.results.score import Score


class Controllability(NamedTuple):
    """How an attribute follows a code, :func:`controllability`."""

    smoothness: Score
    monotonicity: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def controllability(
    attribute: Callable[[FloatArray], Any],
    codes: Any,
    *,
    code: int,
    n_points: int = 9,
    reach: float = 2.0,
    threshold: float = 1e-3,
    rng: np.random.Generator | int = 0,
) -> Controllability:
    r"""Score how smoothly, and in one direction, an attribute of decoded observations follows one code.

    From each row, one code is moved over evenly spaced points while the others stay. With :math:`D` and :math:`D^2` the
    first and second difference quotients of the attribute along the code, step :math:`\delta`,

    .. math:: \text{smoothness} = 1 - \delta\, \frac{\sum |D^2|^2 / \sum |D^2|}{\max D - \min D}, \qquad
        \text{monotonicity} = \frac{\sum \operatorname{sign} D}{\#\{|D| > \epsilon\}},

    where differences of at most :math:`\epsilon` in size count as no change. Both are averaged over rows.

    Args:
        attribute: From codes, ``(n, n_codes)``, to the attribute of what they decode to, ``(n,)``: a decoder, then a
            measurement of its output.
        codes: Rows to start from, ``(n_samples, n_codes)``.
        code: Number of the code to move.
        n_points: Points on the way, at least four.
        reach: The points lie between the mean of the code, less and plus so many deviations.
        threshold: :math:`\epsilon`, in units of the attribute over units of the code.
        rng: Source of chance, or its seed, for the chance level: the points in random order.

    Returns:
        ``smoothness``, at most 1 and higher is better: 1 for a straight line, 0 for a step. ``monotonicity`` in
        [-1, 1]: 1 where the attribute rises at every step, -1 where it falls, near 0 where it wavers; a row whose
        attribute does not change has none. Each has the confidence interval of its mean over rows, of which the points
        depend on the rows too (the attribute is called on points moved and spread a little), and the chance level of
        the points in random order.

    Raises:
        ValueError: A code that is not there or does not vary, too few points, or an attribute that is not one number
            for each row.

    References:
        Watcharasupat (2021), Controllable Music: Supervised Learning of Disentangled Representations for Music
        Generation; latte 0.1, ``smoothness`` and ``monotonicity``. https://github.com/kwatcharasupat/latte

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(30, 2))
        >>> found = controllability(lambda z: 3 * z[:, 0] + z[:, 1], codes, code=0)
        >>> float(found.smoothness), float(found.monotonicity)
        (1.0, 1.0)
    """
    z = check_matrix(codes)
    check_at_least("n_points", n_points, 4)
    if not 0 <= code < z.shape[1]:
        raise ValueError(f"code must be between 0 and {z.shape[1] - 1}, got {code}.")
    middle, deviation = float(z[:, code].mean()), float(z[:, code].std())
    if not deviation > 0 or not reach > 0:
        raise ValueError(f"code {code} must vary, and reach be above 0, got deviation {deviation:g}, reach {reach:g}.")
    even = np.linspace(-reach, reach, n_points)

    def along(middle: float, deviation: float) -> tuple[FloatArray, float]:
        points = middle + deviation * even
        return _curves(attribute, z, code, points), float(points[1] - points[0])

    curves, step = along(middle, deviation)
    shuffled = np.random.default_rng(rng).permuted(curves, axis=1)
    # Mean and deviation are those of the rows: by how much they may be off, and what each row adds to them.
    apart = (z[:, code] - middle) / deviation
    nudges = (1 / np.sqrt(len(z)), 1 / np.sqrt(2 * len(z)))
    moved = along(middle + nudges[0] * deviation, deviation), along(middle, (1 + nudges[1]) * deviation)

    def score(of: Callable[[FloatArray, float], FloatArray]) -> Score:
        slopes = [_mean(of(*other)) - _mean(of(curves, step)) for other in moved]
        through = slopes[0] / nudges[0] * apart + slopes[1] / nudges[1] * (apart**2 - 1) / 2
        return _score(of(curves, step), of(shuffled, step), through)

    return Controllability(score(smoothness_of_curves), score(partial(monotonicity_of_curves, threshold=threshold)))


def _curves(attribute: Callable[[FloatArray], Any], z: FloatArray, code: int, points: FloatArray) -> FloatArray:
    """The attribute of every row as one code moves over the points, ``(n_samples, n_points)``."""
    moved = np.repeat(z, len(points), axis=0)
    moved[:, code] = np.tile(points, len(z))
    values = np.asarray(attribute(moved), dtype=np.float64)
    if values.shape not in ((len(moved),), (len(moved), 1)):
        raise ValueError(f"attribute must return one number for each of {len(moved)} rows, got shape {values.shape}.")
    return values.reshape(len(z), len(points))


def _mean(values: FloatArray) -> float:
    """Mean over the rows that have a value, 0 where none has."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else 0.0


def smoothness_of_curves(curves: FloatArray, step: float) -> FloatArray:
    """Smoothness of each curve of evenly spaced points; 1 for a straight line."""
    slope = np.diff(curves, axis=1) / step
    bend = np.abs(np.diff(slope, axis=1)) / step
    total, spread = bend.sum(axis=1), np.ptp(slope, axis=1)
    # Rounding errors of a straight line are no bend.
    bent = spread > 1e-9 * np.maximum(np.abs(slope).max(axis=1), 1e-300)
    largest = np.divide((bend**2).sum(axis=1), total, out=np.zeros_like(total), where=bent)
    found: FloatArray = 1 - np.divide(largest * step, spread, out=np.zeros_like(total), where=bent)
    return found


def monotonicity_of_curves(curves: FloatArray, step: float, threshold: float) -> FloatArray:
    """Mean sign of the steps of each curve that are larger than a threshold; NaN where none is."""
    slope = np.diff(curves, axis=1) / step
    sign = np.sign(slope) * (np.abs(slope) > threshold)
    counted = np.abs(sign).sum(axis=1)
    found: FloatArray = np.divide(sign.sum(axis=1), counted, out=np.full(len(sign), np.nan), where=counted > 0)
    return found


def _score(values: FloatArray, by_chance: FloatArray, through_points: FloatArray) -> Score:
    """Mean over rows with its confidence interval, from what each row adds to the mean, itself and by the points."""
    is_known = np.isfinite(values)
    if not is_known.any():
        return Score(value=0.0, notes=("The attribute does not change along the code in any row.",))
    mean, n_known = _mean(values), int(is_known.sum())
    half = None
    if n_known > 1:
        added = np.where(is_known, values - mean, 0.0) * (len(values) / n_known) + through_points
        half = student_quantile(0.975, n_known - 1) * float(added.std(ddof=1)) / np.sqrt(len(values))
    chance = by_chance[np.isfinite(by_chance)]
    return Score(
        value=mean,
        low=None if half is None else float(mean - half),
        high=None if half is None else float(mean + half),
        null=float(chance.mean()) if len(chance) else None,
        evidence={"by_row": values},
    )


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="controllability",
        summary="How smoothly, and in one direction, does an attribute of decoded observations follow one code?",
        needs="a decoder and an attribute",
        call="unbraid.metrics.controllability(attribute, codes, code=0)",
        also="for decoders without an attribute, see unbraid.manifold",
    ),
)
