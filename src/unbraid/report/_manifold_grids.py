"""Tables and maps of what latents share."""

from __future__ import annotations

import numpy as np

from unbraid._typing import BoolArray, FloatArray, IntArray
from unbraid.manifold import ManifoldAnalysis, ManifoldComparison
from unbraid.report._format import clip
from unbraid.report._grid import Grid, largest, make_rows
from unbraid.report._png import png_address, shrink

MOST_CELLS = 24
MOST_PIXELS = 392
LOW, HIGH = np.array([244, 248, 252]), np.array([0, 54, 111])


def pair_grid(analysis: ManifoldAnalysis) -> Grid | None:
    """Return the mutual information of the most important latents."""
    shown = analysis.order[: min(MOST_CELLS, analysis.n_active)]
    if len(shown) < 2:
        return None
    matrix = analysis.pairwise_mutual_information[np.ix_(shown, shown)]
    return Grid(
        key="pairs",
        title="Mutual information of two latents",
        caption="In nats, latents from the most important to the least. 0: they move the data at right angles.",
        corner="latent by latent",
        columns=tuple(f"z{i}" for i in shown),
        rows=make_rows(matrix, [f"z{i}" for i in shown], top=largest(matrix)),
        left_out=_left_out(len(shown), analysis.n_active),
    )


def pair_map(analysis: ManifoldAnalysis) -> str | None:
    """Return all pairs as one image, sorted by importance, where a table has no room for them."""
    if analysis.n_active <= MOST_CELLS:
        return None
    active = analysis.order[: analysis.n_active]
    return heat_image(analysis.pairwise_mutual_information[np.ix_(active, active)])


def heat_image(matrix: FloatArray) -> str:
    """Return a matrix as an image from light, 0, to dark, its 99th percentile; NaN is light."""
    filled = np.nan_to_num(matrix)
    small = shrink(filled[:, :, None], MOST_PIXELS)
    top = float(np.percentile(small, 99)) or float(small.max()) or 1.0
    share = np.clip(small / top, 0.0, 1.0)
    return png_address(np.round(LOW + share * (HIGH - LOW)).astype(np.uint8))


def set_grid(analysis: ManifoldAnalysis) -> Grid | None:
    """Return entropies of the sets, and what every two share, where a partition was asked for."""
    between = analysis.set_mutual_information
    if between is None:
        return None
    names = list(analysis.partition.names)
    return Grid(
        key="sets",
        title="Mutual information of two sets",
        caption="In nats; 0: the two sets move the data at right angles everywhere.",
        corner="set by set",
        columns=tuple(clip(name) for name in names),
        rows=make_rows(between, names, top=largest(between)),
    )


def cross_grid(comparison: ManifoldComparison, matrix: FloatArray, key: str, title: str, caption: str) -> Grid:
    """Return a matrix of latents of one decoder by those of the other, both by importance."""
    rows, columns = _most(comparison.order_a, comparison.active_a), _most(comparison.order_b, comparison.active_b)
    part = matrix[np.ix_(rows, columns)]
    return Grid(
        key=key,
        title=title,
        caption=caption,
        corner="a by b",
        columns=tuple(f"z{j}" for j in columns),
        rows=make_rows(part, [f"z{i}" for i in rows], top=largest(part)),
        left_out=_left_out(len(rows), int(comparison.active_a.sum())),
    )


def _most(order: IntArray, active: BoolArray) -> IntArray:
    return order[: min(MOST_CELLS, int(active.sum()))]


def _left_out(shown: int, total: int) -> str:
    return f"Shown: the {shown} most important of {total:,} active latents." if shown < total else ""
