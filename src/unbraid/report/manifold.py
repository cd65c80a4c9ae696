"""The pages of decoders: an analysis of one, of one class by class, and a comparison of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.images import png_address, shrink, to_pixels, to_signed_pixels
from unbraid._base.text import clip, count, listing, number, short
from unbraid.manifold import ClassAnalysis, DecoderPictures, ManifoldAnalysis, ManifoldComparison
from unbraid.report.charts import (
    TOP,
    Bar,
    Chart,
    PlaneChart,
    Scale,
    Series,
    line_chart,
    plane_chart,
    spanning,
    tick_text,
)
from unbraid.report.grids import Grid, largest, make_rows
from unbraid.report.shell import carried, fill

IMAGE_SIDE = 64
NAMED = 3
NEXT_TO_NOTHING = 0.01
MOST_LATENTS = 100
TIMES = " \u00d7 "
#: Pixels from the top of the spectrum to its lowest value, and latents up to which each has a text.
SPECTRUM, MOST_TIPS = 234.0, 200
#: Latents of a table of pairs, and pixels of either side of an image of all pairs.
MOST_CELLS, MOST_PIXELS = 24, 392
LOW, HIGH = np.array([244, 248, 252]), np.array([0, 54, 111])


def render_manifold_page(analysis: ManifoldAnalysis, pictures: DecoderPictures | None = None) -> str:
    """Return the analysis of a decoder as one HTML page that needs nothing else."""
    context = {
        "meta": analysis.meta,
        "heading": "Which latents matter, and which move the data together?",
        "facts": _facts(analysis),
        "opening": opening(analysis),
        "headlines": _headlines(analysis),
        "notes": analysis.notes,
        "spectrum": make_spectrum(analysis),
        "pair_grid": pair_grid(analysis),
        "pair_map": pair_map(analysis),
        "sets": None if analysis.partition.is_default else _set_rows(analysis),
        "set_grid": set_grid(analysis),
        "latents": [row.texts() for row in analysis.rows()[:MOST_LATENTS]],
        "left_out": f"The first {MOST_LATENTS} of {analysis.latent_dim:,}."
        if analysis.latent_dim > MOST_LATENTS
        else "",
        "convergence": _convergence(analysis),
        "jacobian_images": _jacobian_images(pictures),
        "traversals": _traversals(pictures),
        "contours": _contours(pictures),
    }
    return _render("manifold.html", context, analysis.to_json())


def render_manifold_comparison(comparison: ManifoldComparison) -> str:
    """Return the comparison of two decoders as one HTML page that needs nothing else."""
    where = {"data": "at the same data", "latents": "at the same latents", "jacobians": "at the points given"}
    grids = [
        cross_grid(
            comparison,
            comparison.cross_mutual_information,
            "cross",
            "Cross mutual information",
            f"In nats, {where[comparison.meta['at']]}; latents of both from the most important to the least. Large: "
            "the two latents do the same. If the decoders agree latent by latent, only the diagonal stands out.",
        )
    ]
    if comparison.pearson is not None:
        grids.append(
            cross_grid(
                comparison,
                comparison.pearson,
                "pearson",
                "Pearson correlation",
                "Of a latent of a with what the encoder of b finds in the data that a makes from it.",
            )
        )
    sizes = comparison.meta["latent_dim"]
    context = {
        "meta": comparison.meta,
        "heading": "Do two decoders' latents move the data the same way?",
        "facts": [
            ("Latents", f"{sizes[0]:,} and {sizes[1]:,}"),
            ("Samples", f"{comparison.n_samples:,}"),
            ("Seed", f"{comparison.meta['seed']}"),
            ("Unbraid", f"{comparison.meta['unbraid']}"),
        ],
        "notes": comparison.notes,
        "grids": grids,
    }
    return _render("manifold_comparison.html", context, comparison.to_json())


def render_manifold_classes(analysis: ClassAnalysis, pictures: Mapping[str, DecoderPictures] | None = None) -> str:
    """Return a decoder measured class by class as one HTML page that needs nothing else."""
    meta = analysis.analyses[0].meta
    names = [clip(name) for name in analysis.names]
    entropies = [analysis.latent_entropy, *(one.latent_entropy for one in analysis.analyses)]
    rows = [
        (
            name,
            (
                f"{share:.3f}",
                f"{one.total_entropy:.3f} ± {one.total_entropy_error:.3f}",
                f"{one.total_correlation:.4f} ± {one.total_correlation_error:.4f}",
                f"{one.n_active:,} of {one.latent_dim:,}",
                f"{one.effective_dimension:.3f}",
            ),
        )
        for name, share, one in zip(names, analysis.shares, analysis.analyses, strict=True)
    ]
    mean = ("1", f"{analysis.total_entropy:.3f}", f"{analysis.total_correlation:.4f}", "", "")
    shown = analysis.order[:MOST_LATENTS]
    drawn = [
        {"name": clip(name), "jacobian_images": _jacobian_images(one), "traversals": strips}
        for name, one in (pictures or {}).items()
        if (strips := _traversals(one)) is not None
    ]
    top = [f"z{i}" for i in analysis.order[:NAMED]]
    context = {
        "meta": meta,
        "heading": "Which latents matter, class by class?",
        "facts": [
            ("Classes", f"{len(names):,}"),
            ("Latents", f"{meta['latent_dim']:,}"),
            ("Samples of each", f"{meta['n_samples']:,}"),
            ("Seed", f"{meta['seed']}"),
            ("Unbraid", f"{meta['unbraid']}"),
        ],
        "opening": f"On average over classes, {listing(top)} move the data the most; the total "
        f"correlation is {number(analysis.total_correlation)} nats, and 0 would mean that the latents move "
        "the data in orthogonal directions.",
        "rows": [*rows, ("mean", mean)],
        "notes": [
            f"Class {name}: {note}" for name, one in zip(names, analysis.analyses, strict=True) for note in one.notes
        ],
        "names": names,
        "latents": [(f"z{i}", tuple(f"{values[i]:.3f}" for values in entropies)) for i in shown],
        "left_out": f"The first {len(shown)} of {len(analysis.order):,}." if len(shown) < len(analysis.order) else "",
        "drawn_classes": drawn,
        "steps": [tick_text(step) for one in (pictures or {}).values() for step in one.steps],
    }
    return _render("manifold_classes.html", context, analysis.to_json())


def _render(template: str, context: dict[str, Any], numbers: str) -> str:
    return fill(template, context | {"data": carried(numbers)}, "manifold.css")


def opening(analysis: ManifoldAnalysis) -> str:
    """Say in a few sentences what the numbers mean."""
    active = analysis.n_active
    top = analysis.names(analysis.order[: min(NAMED, active)])
    sentences = [
        f"{active:,} of {count(analysis.latent_dim, 'latent')} move the data, {listing(top)} the most; "
        f"the effective dimension is {number(analysis.effective_dimension)}."
    ]
    if active > 1:
        shared = analysis.total_correlation_per_latent
        orthogonal = "the latents move the data in orthogonal directions."
        meaning = f"near 0, so {orthogonal}" if shared < NEXT_TO_NOTHING else f"0 would mean that {orthogonal}"
        sentences.append(f"The total correlation is {number(shared)} nats per latent: {meaning}")
    return " ".join(sentences)


def _facts(analysis: ManifoldAnalysis) -> list[tuple[str, str]]:
    inactive = analysis.latent_dim - analysis.n_active
    return [
        ("Latents", f"{analysis.latent_dim:,}" + (f", {inactive:,} inactive" if inactive else "")),
        ("Output", TIMES.join(str(size) for size in analysis.output_shape) or "1"),
        ("Samples", f"{analysis.n_samples:,}"),
        ("Prior", f"{analysis.meta['prior']}"),
        ("Seed", f"{analysis.meta['seed']}"),
        ("Unbraid", f"{analysis.meta['unbraid']}"),
    ]


def _headlines(analysis: ManifoldAnalysis) -> list[tuple[str, str, str]]:
    per_latent = analysis.total_correlation_error / analysis.n_active
    rows = [
        ("Effective dimension", analysis.effective_dimension, analysis.effective_dimension_error, "latents"),
        ("Total correlation", analysis.total_correlation, analysis.total_correlation_error, "nats"),
        ("Total correlation per latent", analysis.total_correlation_per_latent, per_latent, "nats"),
        ("Total entropy", analysis.total_entropy, analysis.total_entropy_error, "nats"),
    ]
    return [(name, f"{number(value)} ± {number(error)}", unit) for name, value, error, unit in rows]


def _set_rows(analysis: ManifoldAnalysis) -> list[tuple[str, int, str]]:
    values = zip(analysis.manifold_entropy, analysis.manifold_entropy_error, strict=True)
    entropies = [f"{number(value)} ± {number(error)}" for value, error in values]
    sizes = [len(members) for members in analysis.partition.sets]
    return list(zip(map(clip, analysis.partition.names), sizes, entropies, strict=True))


def _convergence(analysis: ManifoldAnalysis) -> dict[str, Any]:
    table = analysis.convergence()
    names = list(dict.fromkeys(table["quantity"]))
    rows = []
    for size, part in table.groupby("n_samples", sort=True):
        cells = part.set_index("quantity").loc[names]
        rows.append(
            (f"{size:,}", [f"{number(v)} ± {number(e)}" for v, e in zip(cells["value"], cells["error"], strict=True)])
        )
    return {"names": [name.replace("_", " ") for name in names], "rows": rows}


def _jacobian_images(pictures: DecoderPictures | None) -> list[tuple[str, str]]:
    if pictures is None or pictures.mean_jacobian is None:
        return []
    images = (shrink(image, IMAGE_SIDE) for image in pictures.mean_jacobian)
    return [
        (f"z{latent}", png_address(to_signed_pixels(image)))
        for latent, image in zip(pictures.latents, images, strict=True)
    ]


def _traversals(pictures: DecoderPictures | None) -> dict[str, Any] | None:
    if pictures is None or pictures.traversals is None:
        return None
    low, high = float(pictures.traversals.min()), float(pictures.traversals.max())
    rows = []
    for latent, images in zip(pictures.latents, pictures.traversals, strict=True):
        strip = np.concatenate([shrink(image, IMAGE_SIDE) for image in images], axis=1)
        rows.append((f"z{latent}", png_address(to_pixels(strip, low, high))))
    return {"steps": [tick_text(step) for step in pictures.steps], "rows": rows}


def _contours(pictures: DecoderPictures | None) -> PlaneChart | None:
    if pictures is None or pictures.contours is None:
        return None
    curves = [(latent, curve) for latent, family in enumerate(pictures.contours) for curve in family]
    return plane_chart(curves, title="Contours", caption="Curves along each of the two latents.")


def make_spectrum(analysis: ManifoldAnalysis) -> Chart:
    """Draw the entropies of all latents, numbered, and of the active ones, sorted, with two standard errors."""
    n, order = analysis.latent_dim, analysis.order[: analysis.n_active]
    ranked, errors = analysis.latent_entropy[order], 2 * np.nan_to_num(analysis.latent_entropy_error[order])
    y = spanning([ranked - errors, ranked + errors], start=SPECTRUM, stop=TOP, margin=0.05)
    numbered = Series(
        name="in the order of the latents",
        x=np.arange(1.0, n + 1),
        y=np.where(np.isfinite(analysis.latent_entropy), analysis.latent_entropy, np.nan),
        mark="faint",
        colour=5,
    )
    by_rank = Series(
        name="sorted from the most important, with two standard errors",
        x=np.arange(1.0, len(order) + 1),
        y=ranked,
        low=ranked - errors,
        high=ranked + errors,
        mark="plain",
    )
    low, high = float((ranked - errors).min()), float((ranked + errors).max())
    first, last = analysis.latents[0], analysis.latents[-1]
    return line_chart(
        [by_rank, numbered],
        title="Spectrum",
        description=f"Entropies of {len(order)} active latents fall from {short(high)} to {short(low)} nats.",
        x_label="rank (or number of the latent)",
        base=SPECTRUM,
        x=Scale(low=0.5, high=n + 0.5),
        y=y,
        x_marks=[(1.0, f"1 (z{first})"), (float(n), f"{n:,} (z{last})")][: min(n, 2)],
        columns=_columns(analysis),
    )


def _columns(analysis: ManifoldAnalysis) -> list[Bar]:
    """Return a column over each place, which tells the latent there and its entropy."""
    if analysis.n_active > MOST_TIPS:
        return []
    width = 100 / analysis.latent_dim
    return [
        Bar(
            round(rank * width, 2),
            round(width, 2),
            TOP,
            SPECTRUM - TOP,
            f"{rank + 1}: z{analysis.latents[latent]}, {analysis.latent_entropy[latent]:.3f} ± "
            f"{analysis.latent_entropy_error[latent]:.3f} nats",
        )
        for rank, latent in enumerate(analysis.order[: analysis.n_active])
    ]


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
        columns=tuple(analysis.names(shown)),
        rows=make_rows(matrix, analysis.names(shown), top=largest(matrix)),
        left_out=_latents_left_out(len(shown), analysis.n_active),
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
        left_out=_latents_left_out(len(rows), int(comparison.active_a.sum())),
    )


def _most(order: IntArray, active: BoolArray) -> IntArray:
    return order[: min(MOST_CELLS, int(active.sum()))]


def _latents_left_out(shown: int, total: int) -> str:
    return f"Shown: the {shown} most important of {total:,} active latents." if shown < total else ""
