"""Pages about decoders: an analysis of one, or a comparison of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.images import png_address, shrink, to_pixels, to_signed_pixels
from unbraid._base.text import MINUS, clip, count, listing, number
from unbraid.manifold import ManifoldAnalysis, ManifoldComparison, Pictures
from unbraid.report.charts import SPECTRUM_HEIGHT, SPECTRUM_WIDTH, make_spectrum
from unbraid.report.grids import cross_grid, pair_grid, pair_map, set_grid
from unbraid.report.shell import carried, fill

IMAGE_SIDE = 64
NAMED = 3
NEXT_TO_NOTHING = 0.01
MOST_LATENTS = 100
TIMES = " \u00d7 "


def render_manifold_page(analysis: ManifoldAnalysis, pictures: Pictures | None = None) -> str:
    """Return the analysis of a decoder as one HTML page that needs nothing else."""
    context = {
        "meta": analysis.meta,
        "heading": "Which latents matter, and which move the data together?",
        "facts": _facts(analysis),
        "opening": opening(analysis),
        "headlines": _headlines(analysis),
        "notes": analysis.notes,
        "spectrum": make_spectrum(analysis),
        "canvas": (SPECTRUM_WIDTH, SPECTRUM_HEIGHT),
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


def _render(template: str, context: dict[str, Any], numbers: str) -> str:
    return fill(template, context | {"data": carried(numbers)}, "manifold.css")


def opening(analysis: ManifoldAnalysis) -> str:
    """Say in a few sentences what the numbers mean."""
    active = analysis.n_active
    top = [f"z{i}" for i in analysis.order[: min(NAMED, active)]]
    sentences = [
        f"{active:,} of {count(analysis.latent_dim, 'latent')} move the data at all, {listing(top)} the most; "
        f"together they move it as {number(analysis.effective_dimension)} equal ones would."
    ]
    if active > 1:
        shared = analysis.total_correlation_per_latent
        alone = "each moves the data in directions of its own."
        verdict = f"next to nothing, so that {alone}" if shared < NEXT_TO_NOTHING else f"0 would mean that {alone}"
        sentences.append(f"They share {number(shared)} nats per latent: {verdict}")
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


def _jacobian_images(pictures: Pictures | None) -> list[tuple[str, str]]:
    if pictures is None or pictures.mean_jacobian is None:
        return []
    images = (shrink(image, IMAGE_SIDE) for image in pictures.mean_jacobian)
    return [
        (f"z{latent}", png_address(to_signed_pixels(image)))
        for latent, image in zip(pictures.latents, images, strict=True)
    ]


def _traversals(pictures: Pictures | None) -> dict[str, Any] | None:
    if pictures is None or pictures.traversals is None:
        return None
    low, high = float(pictures.traversals.min()), float(pictures.traversals.max())
    rows = []
    for latent, images in zip(pictures.latents, pictures.traversals, strict=True):
        strip = np.concatenate([shrink(image, IMAGE_SIDE) for image in images], axis=1)
        rows.append((f"z{latent}", png_address(to_pixels(strip, low, high))))
    return {"steps": [f"{step:g}".replace("-", MINUS) for step in pictures.steps], "rows": rows}


def _contours(pictures: Pictures | None) -> dict[str, Any] | None:
    """Return the curves in a square of 400, upwards as in a plot."""
    if pictures is None or pictures.contours is None:
        return None
    points = pictures.contours
    low, high = points.min(axis=(0, 1, 2)), points.max(axis=(0, 1, 2))
    size = float((high - low).max()) or 1.0
    place = (points - (low + high) / 2) / size * 380 + 200
    place[..., 1] = 400 - place[..., 1]
    return {"along": [[_polyline(curve) for curve in family] for family in place]}


def _polyline(curve: FloatArray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in curve)
