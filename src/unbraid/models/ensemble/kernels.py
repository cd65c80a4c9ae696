"""Kernels of :mod:`~unbraid.models.ensemble.products` for a GPU, in Triton: patches are read where they lie.

Pictures and weights are bfloat16 and contiguous; products are added up in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

TAPS = 16
#: Rows of a tile of pictures, and of a step of the sum over rows; warps and stages. The fastest of eight of each.
ROWS, STEP = 128, 64
WARPS, STAGES = 4, 2
#: Programs that a reduction over rows is spread over, several for each of the processors of a GPU.
PROGRAMS = 528
#: Channels of big pictures from which a tile takes whole rows of a kernel, and not all of it.
FEWEST = 16


@triton.jit  # type: ignore[untyped-decorator]
def _pixels(rows, n_rows, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return whether a row is a pixel of a small picture; and the picture, the row and the column of the pixel."""
    return rows < n_rows, rows // (width * height), (rows // width) % height, rows % width


@triton.jit  # type: ignore[untyped-decorator]
def _corners(n, i, j, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the upper left pixel of the patch of each small pixel, which may lie outside the big picture."""
    return (n * 2 * height + 2 * i - 1) * 2 * width + 2 * j - 1


@triton.jit  # type: ignore[untyped-decorator]
def _whole_patches(  # type: ignore[no-untyped-def]
    big, is_row, n, i, j, k, height: tl.constexpr, width: tl.constexpr, BIG: tl.constexpr
):
    """Load the patches of small pixels, all taps and channels of a patch beside each other; 0 outside the picture."""
    y = (2 * i - 1)[:, None] + (k // (4 * BIG))[None, :]
    x = (2 * j - 1)[:, None] + ((k // BIG) % 4)[None, :]
    inside = is_row[:, None] & (y >= 0) & (y < 2 * height) & (x >= 0) & (x < 2 * width) & (k < 16 * BIG)[None, :]
    offset = (k // (4 * BIG)) * 2 * width * BIG + k % (4 * BIG)
    corner = _corners(n, i, j, height, width) * BIG
    return tl.load(big + corner[:, None] + offset[None, :], mask=inside, other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _store(out, place, total, mask, is_row, RELU: tl.constexpr, MASK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write sums, the positive part where there is a rectifier, and 0 where the mask is not positive."""
    if RELU:
        total = tl.maximum(total, 0.0)
    if MASK:
        seen = tl.load(mask + place, mask=is_row[:, None], other=0.0)
        total = tl.where(seen > 0, total, 0.0)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=is_row[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _down(  # type: ignore[no-untyped-def]
    big, weight, bias, mask, small, n_rows, stride_k, stride_s,
    height: tl.constexpr, width: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr, R: tl.constexpr,
    WHOLE: tl.constexpr, HAS_BIAS: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * R + tl.arange(0, R)
    is_row, n, i, j = _pixels(rows, n_rows, height, width)
    big += model * n_rows * 4 * BIG
    weight += model * 16 * BIG * SMALL
    channels = tl.arange(0, SMALL)
    total = tl.zeros((R, SMALL), dtype=tl.float32)
    if WHOLE > 0:
        k = tl.arange(0, WHOLE)
        patch = _whole_patches(big, is_row, n, i, j, k, height, width, BIG)
        w = tl.load(
            weight + k[:, None] * stride_k + channels[None, :] * stride_s, mask=k[:, None] < 16 * BIG, other=0.0
        )
        total = tl.dot(patch, w, total)
    else:
        inner = tl.arange(0, BIG)
        corner = _corners(n, i, j, height, width) * BIG
        for row in range(4):
            y = 2 * i - 1 + row
            in_row = is_row & (y >= 0) & (y < 2 * height)
            for column in tl.static_range(4):
                inside = in_row
                if column == 0:
                    inside = in_row & (j > 0)
                if column == 3:
                    inside = in_row & (j < width - 1)
                from_ = corner + (row * 2 * width + column) * BIG
                patch = tl.load(big + from_[:, None] + inner[None, :], mask=inside[:, None], other=0.0)
                k = (row * 4 + column) * BIG + inner
                w = tl.load(weight + k[:, None] * stride_k + channels[None, :] * stride_s)
                total = tl.dot(patch, w, total)
    if HAS_BIAS:
        total += tl.load(bias + model * SMALL + channels).to(tl.float32)[None, :]
    place = model * n_rows * SMALL + rows[:, None] * SMALL + channels[None, :]
    _store(small, place, total, mask, is_row, RELU, MASK)


@triton.jit  # type: ignore[untyped-decorator]
def _up(  # type: ignore[no-untyped-def]
    small, weight, bias, mask, big, n_rows, stride_k, stride_s,
    height: tl.constexpr, width: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr, R: tl.constexpr,
    HAS_BIAS: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(2).to(tl.int64)
    # all four corners of the same rows follow each other, so that their input is still near
    down = tl.program_id(0) // 2
    right = tl.program_id(0) % 2
    rows = tl.program_id(1) * R + tl.arange(0, R)
    is_row, n, i, j = _pixels(rows, n_rows, height, width)
    small += model * n_rows * SMALL
    weight += model * 16 * BIG * SMALL
    channels = tl.arange(0, BIG)
    inner = tl.arange(0, SMALL)
    total = tl.zeros((R, BIG), dtype=tl.float32)
    for a in range(2):
        # pixel 2 p + down has patches of rows p + down - a, at row 1 - down + 2 a of their kernel
        y = i + down - a
        in_row = is_row & (y >= 0) & (y < height)
        for b in tl.static_range(2):
            x = j + right - b
            inside = in_row & (x >= 0) & (x < width)
            from_ = ((n * height + y) * width + x) * SMALL
            patch = tl.load(small + from_[:, None] + inner[None, :], mask=inside[:, None], other=0.0)
            k = ((1 - down + 2 * a) * 4 + (1 - right + 2 * b)) * BIG + channels
            w = tl.load(weight + inner[:, None] * stride_s + k[None, :] * stride_k)
            total = tl.dot(patch, w, total)
    if HAS_BIAS:
        total += tl.load(bias + model * BIG + channels).to(tl.float32)[None, :]
    pixel = (n * 2 * height + 2 * i + down) * 2 * width + 2 * j + right
    place = model * n_rows * 4 * BIG + pixel[:, None] * BIG + channels[None, :]
    _store(big, place, total, mask, is_row, RELU, MASK)


@triton.jit  # type: ignore[untyped-decorator]
def _weight(  # type: ignore[no-untyped-def]
    big, small, found, n_rows, stride_k, stride_s, part_size,
    height: tl.constexpr, width: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr, R: tl.constexpr,
    WHOLE: tl.constexpr, PER_PART: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2)
    row = tl.program_id(0)
    big += model * n_rows * 4 * BIG
    small += model * n_rows * SMALL
    found += part * part_size + model * 16 * BIG * SMALL
    channels = tl.arange(0, SMALL)
    if WHOLE > 0:
        k = tl.arange(0, WHOLE)
        total = tl.zeros((WHOLE, SMALL), dtype=tl.float32)
        for begin in range(0, PER_PART, R):
            rows = part * PER_PART + begin + tl.arange(0, R)
            is_row, n, i, j = _pixels(rows, n_rows, height, width)
            patch = _whole_patches(big, is_row, n, i, j, k, height, width, BIG)
            g = tl.load(small + rows[:, None] * SMALL + channels[None, :], mask=is_row[:, None], other=0.0)
            total = tl.dot(tl.trans(patch), g, total)
        place = k[:, None] * stride_k + channels[None, :] * stride_s
        tl.store(found + place, total, mask=k[:, None] < 16 * BIG)
    else:
        inner = tl.arange(0, BIG)
        total_0 = tl.zeros((BIG, SMALL), dtype=tl.float32)
        total_1 = tl.zeros((BIG, SMALL), dtype=tl.float32)
        total_2 = tl.zeros((BIG, SMALL), dtype=tl.float32)
        total_3 = tl.zeros((BIG, SMALL), dtype=tl.float32)
        for begin in range(0, PER_PART, R):
            rows = part * PER_PART + begin + tl.arange(0, R)
            is_row, n, i, j = _pixels(rows, n_rows, height, width)
            y = 2 * i - 1 + row
            from_ = ((n * 2 * height + y) * 2 * width + 2 * j - 1) * BIG
            in_row = is_row & (y >= 0) & (y < 2 * height)
            at = big + from_[:, None] + inner[None, :]
            g = tl.load(small + rows[:, None] * SMALL + channels[None, :], mask=is_row[:, None], other=0.0)
            patch = tl.load(at, mask=(in_row & (j > 0))[:, None], other=0.0)
            total_0 = tl.dot(tl.trans(patch), g, total_0)
            patch = tl.load(at + BIG, mask=in_row[:, None], other=0.0)
            total_1 = tl.dot(tl.trans(patch), g, total_1)
            patch = tl.load(at + 2 * BIG, mask=in_row[:, None], other=0.0)
            total_2 = tl.dot(tl.trans(patch), g, total_2)
            patch = tl.load(at + 3 * BIG, mask=(in_row & (j < width - 1))[:, None], other=0.0)
            total_3 = tl.dot(tl.trans(patch), g, total_3)
        place = (row * 4 * BIG + inner)[:, None] * stride_k + channels[None, :] * stride_s
        tl.store(found + place, total_0)
        tl.store(found + place + BIG * stride_k, total_1)
        tl.store(found + place + 2 * BIG * stride_k, total_2)
        tl.store(found + place + 3 * BIG * stride_k, total_3)


def _strides(turned: bool, n_big: int, n_small: int) -> tuple[int, int]:
    """Return the steps in memory from one row of a kernel to the next, and from one channel of small pictures."""
    return (1, TAPS * n_big) if turned else (n_small, 1)


def _whole(n_big: int) -> int:
    """Return the size of a tile that holds whole kernels, for few channels, or else 0: tiles of one tap each."""
    return int(triton.next_power_of_2(TAPS * n_big)) if n_big < FEWEST else 0


def down(
    big: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_small: int, turned: bool, relu: bool
) -> Tensor:
    """Return the small pictures of big ones."""
    n_models, n, height, width, n_big = big.shape
    h, w = height // 2, width // 2
    small = big.new_empty(n_models, n, h, w, n_small)
    n_rows = n * h * w
    grid = (triton.cdiv(n_rows, ROWS), n_models)
    _down[grid](
        big, weight, bias, mask, small, n_rows, *_strides(turned, n_big, n_small),
        height=h, width=w, BIG=n_big, SMALL=n_small, R=ROWS, WHOLE=_whole(n_big),
        HAS_BIAS=bias is not None, RELU=relu, MASK=mask is not None, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return small


def up(
    small: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None, n_big: int, turned: bool, relu: bool
) -> Tensor:
    """Return the big pictures of small ones."""
    n_models, n, h, w, n_small = small.shape
    big = small.new_empty(n_models, n, 2 * h, 2 * w, n_big)
    n_rows = n * h * w
    grid = (4, triton.cdiv(n_rows, ROWS), n_models)
    _up[grid](
        small, weight, bias, mask, big, n_rows, *_strides(turned, n_big, n_small),
        height=h, width=w, BIG=n_big, SMALL=n_small, R=ROWS,
        HAS_BIAS=bias is not None, RELU=relu, MASK=mask is not None, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return big


def n_parts(big: Sequence[int], small: Sequence[int]) -> int:
    """Return how many parts rows of pictures of these shapes are cut into, so that all processors have work."""
    n_programs = big[0] * (1 if big[-1] < FEWEST else 4)
    n_rows = math.prod(small[1:-1])
    return max(1, min(-(-PROGRAMS // n_programs), -(-n_rows // (8 * STEP))))


def weight_gradient(big: Tensor, small: Tensor, turned: bool, n_parts: int) -> Tensor:
    """Return the derivative by weights in float32, in parts that add up to it."""
    n_models, n, h, w, n_small = small.shape
    n_big = big.shape[-1]
    n_rows = n * h * w
    per_part = triton.cdiv(triton.cdiv(n_rows, n_parts), STEP) * STEP
    sides = (n_small, TAPS * n_big) if turned else (TAPS * n_big, n_small)
    found = big.new_empty(n_parts, n_models, *sides, dtype=torch.float32)
    _weight[(1 if n_big < FEWEST else 4, n_models, n_parts)](
        big, small, found, n_rows, *_strides(turned, n_big, n_small), found[0].numel(),
        height=h, width=w, BIG=n_big, SMALL=n_small, R=STEP, WHOLE=_whole(n_big), PER_PART=per_part,
        num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return found
