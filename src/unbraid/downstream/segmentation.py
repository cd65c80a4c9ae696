"""Segmentation: masks of the object predicted from codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.optional import require
from unbraid.probes.linear import ridge_solver

PIXEL_RIDGE = 1e-3
#: Most numbers in memory while masks are predicted, about 30 MB.
CELLS_AT_ONCE = 4_000_000
#: A pixel shows the object if its prediction exceeds one of these thresholds, chosen on training rows.
THRESHOLDS = np.linspace(0.05, 0.95, 19)
ROWS_TO_CHOOSE_BY = 500

Decode = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class MasksFound:
    """Test performance of predicted masks.

    Attributes:
        iou: Mean over test rows of the pixels in both masks over the pixels in either, in [0, 1].
        blind: The same for the best single mask for all rows.
    """

    iou: float
    blind: float


def find_masks(
    codes: FloatArray,
    test_codes: FloatArray,
    masks: BoolArray,
    *,
    train: IntArray,
    test: IntArray,
    predictor: str,
    seed: int,
) -> MasksFound:
    """Train a decoder from codes to masks on some rows, and compare its masks with the true ones on others.

    Args:
        codes: Scaled codes of the rows learned from.
        test_codes: Scaled codes of the rows tested on.
        masks: Pixels of the object, in all rows, ``(n, height, width)``.
        train: Rows learned from.
        test: Rows tested on.
        predictor: ``"linear"`` or ``"mlp"``.
        seed: Of all chance.
    """
    flat = masks.reshape(len(masks), -1)
    decode = _fit_linear(codes, flat, train) if predictor == "linear" else _fit_network(codes, flat, train, seed)
    common = mean_mask(flat, train)
    return MasksFound(
        iou=_best_iou(decode, codes, test_codes, flat, train, test),
        blind=_best_iou(lambda rows: np.tile(common, (len(rows), 1)), codes, test_codes, flat, train, test),
    )


def mean_iou(predicted: BoolArray, true: BoolArray) -> FloatArray:
    """Pixels in both over pixels in either, row by row; two empty masks agree."""
    both, either = (predicted & true).sum(axis=1), (predicted | true).sum(axis=1)
    return np.where(either > 0, both / np.maximum(either, 1), 1.0)


def mean_mask(flat: BoolArray, rows: IntArray) -> FloatArray:
    """Share of rows in which each pixel shows the object."""
    counts = np.zeros(flat.shape[1])
    for some in _chunks(len(rows), flat.shape[1]):
        counts += flat[rows[some]].sum(axis=0)
    return counts / len(rows)


def _best_iou(
    decode: Decode, codes: FloatArray, test_codes: FloatArray, flat: BoolArray, train: IntArray, test: IntArray
) -> float:
    """Choose the threshold on training rows, and test with it on the others."""
    few = slice(0, ROWS_TO_CHOOSE_BY)
    learned = _iou(decode, codes[few], flat, train[few], THRESHOLDS)
    best = THRESHOLDS[[int(learned.argmax())]]
    return float(_iou(decode, test_codes, flat, test, best)[0])


def _iou(decode: Decode, codes: FloatArray, flat: BoolArray, rows: IntArray, thresholds: FloatArray) -> FloatArray:
    """Mean intersection over union at each threshold, a few rows at a time."""
    total = np.zeros(len(thresholds))
    for some in _chunks(len(rows), flat.shape[1]):
        predicted, true = decode(codes[some]), flat[rows[some]]
        total += [mean_iou(predicted >= threshold, true).sum() for threshold in thresholds]
    return total / len(rows)


def _fit_linear(codes: FloatArray, flat: BoolArray, train: IntArray) -> Decode:
    """Ridge regression of every pixel on the codes, from sums over rows."""
    centre = mean_mask(flat, train)
    moment = np.zeros((codes.shape[1], flat.shape[1]))
    for some in _chunks(len(train), flat.shape[1]):
        moment += codes[some].T @ (flat[train[some]] - centre)
    weights = ridge_solver(codes.T @ codes, PIXEL_RIDGE * len(codes))(moment)
    return lambda rows: np.asarray(rows @ weights + centre)


def _fit_network(codes: FloatArray, flat: BoolArray, train: IntArray, seed: int) -> Decode:
    require("the mlp predictor", "torch", extra="torch")
    from unbraid.downstream.mask_network import train_decoder

    return train_decoder(codes, flat, train, seed=seed)


def _chunks(n_rows: int, n_pixels: int) -> list[slice]:
    size = max(1, CELLS_AT_ONCE // n_pixels)
    return [slice(start, start + size) for start in range(0, n_rows, size)]
