"""Pictures of a decoder: traversals of each code, and blocks of codes alone or swapped between pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid._base.arrays import ByteArray, FloatArray
from unbraid._base.images import png

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble

N_STEPS = 9
GAP = 2


def traversal_png(model: TrainedEnsemble, codes: FloatArray, *, n_steps: int = N_STEPS) -> bytes:
    """Return a PNG with one row of pictures for each code, from its lowest to its highest value among ``codes``.

    Rows start from the row of ``codes`` in the middle, whose other codes are kept. Codes that the data use most, by
    their variance, come first.

    Args:
        model: A single model of pictures with one or three channels.
        codes: Its codes of some data, ``(n, n_codes)``.
        n_steps: Pictures in a row.

    Raises:
        ValueError: Not a model of pictures.
    """
    shape = _picture_shape(model)
    moved = moved_codes(codes, model.settings.categories, n_steps=n_steps)
    pictures = model.decode(moved.reshape(1, -1, codes.shape[1]))[0]
    return png(_sheet(pictures.reshape(*moved.shape[:2], *shape)))


def moved_codes(codes: FloatArray, categories: Sequence[int] = (), *, n_steps: int = N_STEPS) -> FloatArray:
    """Return the codes of a traversal, ``(n_rows, n_columns, n_codes)``.

    Args:
        codes: Of some data, ``(n, n_codes)``.
        categories: Number of values of each categorical code, whose columns come first.
        n_steps: Columns, more where a categorical code has more values.

    Returns:
        For each categorical code a row through its values, one-hot; then for each other code a row from low to high,
        the code of the largest variance first.
    """
    n_columns, n_values = max([n_steps, *categories]), sum(categories)
    low, high = np.quantile(codes, [0.02, 0.98], axis=0)
    start = codes[np.abs(codes - np.median(codes, axis=0)).sum(axis=1).argmin()].copy()
    blocks = [slice(sum(categories[:k]), sum(categories[: k + 1])) for k in range(len(categories))]
    for block in blocks:
        start[block] = np.arange(block.stop - block.start) == start[block].argmax()
    order = n_values + np.argsort(-codes[:, n_values:].var(axis=0), kind="stable")
    moved = np.tile(start, (len(categories) + len(order), n_columns, 1))
    for row, block in enumerate(blocks):
        size = block.stop - block.start
        moved[row, :, block] = np.eye(size)[np.arange(n_columns) * size // n_columns]
    for row, code in enumerate(order, start=len(categories)):
        moved[row, :, code] = np.linspace(low[code], high[code], n_columns)
    return moved


def blocks_png(model: TrainedEnsemble, pictures: FloatArray) -> bytes:
    """Return a PNG that shows what each block of codes draws: one column for each picture.

    Rows are the pictures themselves, their reconstructions, for each block the reconstructions from that block alone
    with the others set to 0 (Fig. 4 of Ilse et al. 2020), and for each block the reconstructions with that block taken
    from the next picture.

    Args:
        model: A single model of pictures, with blocks.
        pictures: Some data, ``(n, channels, height, width)``, from 0 to 1.

    Raises:
        ValueError: Not a model of pictures, or one without blocks.
    """
    shape, blocks = _picture_shape(model), model.settings.block_columns()
    if not blocks:
        raise ValueError(f"{model.settings.model} has no blocks of codes to show; give diva or dc_ign.")
    codes = model.encode(pictures)[0]
    rows = [codes]
    for columns in blocks.values():
        alone = np.zeros_like(codes)
        alone[:, columns] = codes[:, columns]
        rows.append(alone)
    for columns in blocks.values():
        swapped = codes.copy()
        swapped[:, columns] = np.roll(codes, -1, axis=0)[:, columns]
        rows.append(swapped)
    drawn = model.decode(np.concatenate(rows)[None])[0].reshape(len(rows), len(pictures), *shape)
    return png(_sheet(np.concatenate([np.asarray(pictures)[None], drawn])))


def _picture_shape(model: TrainedEnsemble) -> tuple[int, ...]:
    shape = model.settings.shape
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise ValueError(f"traversals need a model of pictures with 1 or 3 channels, got rows of shape {shape}.")
    return shape


def _sheet(pictures: FloatArray) -> ByteArray:
    """Lay out ``(rows, columns, channels, height, width)`` from 0 to 1 with grey gaps."""
    rows, columns, channels, height, width = pictures.shape
    sheet = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, channels), 128, dtype=np.uint8)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (height + GAP), j * (width + GAP)
            bytes_ = np.round(255 * np.clip(pictures[i, j], 0, 1)).astype(np.uint8)
            sheet[top : top + height, left : left + width] = np.moveaxis(bytes_, 0, -1)
    return sheet
