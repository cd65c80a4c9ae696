"""The spectrum of manifold entropies, as paths on a canvas that stretches with the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._typing import FloatArray
from unbraid.manifold import ManifoldAnalysis
from unbraid.report._format import short

WIDTH, HEIGHT = 1000.0, 220.0
MOST_TIPS = 200
MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Two curves and what goes beside them.

    Attributes:
        as_numbered: Path of the entropies in the order of the latents.
        as_sorted: Path of the entropies from the highest to the lowest.
        band: Path round the sorted curve, two standard errors to either side.
        levels: Share of the height from above, and label, of the lines to read entropies by.
        ends: Labels of the first and last place.
        tips: Start and width of a strip of the canvas, and what to say of it.
        says: What the chart shows, in words.
    """

    as_numbered: str
    as_sorted: str
    band: str
    levels: tuple[tuple[float, str], ...]
    ends: tuple[str, str]
    tips: tuple[tuple[float, float, str], ...]
    says: str


def make_spectrum(analysis: ManifoldAnalysis) -> Spectrum:
    """Return the spectrum of all active latents, numbered and sorted."""
    numbered = analysis.latent_entropy
    order = analysis.order[: analysis.n_active]
    ranked, errors = numbered[order], np.nan_to_num(analysis.latent_entropy_error[order])
    low, high = float((ranked - 2 * errors).min()), float((ranked + 2 * errors).max())
    low, high = (low - 0.5, high + 0.5) if high - low < 1e-6 else (low, high)
    room = MARGIN * (high - low)
    scale = _Scale(low - room, high + room, analysis.latent_dim)
    return Spectrum(
        as_numbered=scale.path(numbered),
        as_sorted=scale.path(ranked),
        band=scale.band(ranked - 2 * errors, ranked + 2 * errors),
        levels=tuple((scale.share(level), short(level)) for level in _levels(low, high)),
        ends=("1 (z0)", f"{analysis.latent_dim:,} (z{analysis.latent_dim - 1})"),
        tips=_tips(analysis, scale),
        says=f"Entropies of {len(order)} active latents fall from {short(high)} to {short(low)} nats.",
    )


class _Scale:
    """From places and entropies to the canvas."""

    def __init__(self, low: float, high: float, n_places: int) -> None:
        self._low, self._high, self._n = low, high, n_places

    def share(self, value: float) -> float:
        return round(100 * (self._high - value) / (self._high - self._low), 2)

    def x(self, place: float) -> float:
        return (place + 0.5) * WIDTH / self._n

    def y(self, value: float) -> float:
        return HEIGHT * (self._high - value) / (self._high - self._low)

    def path(self, values: FloatArray) -> str:
        """Join the points that are finite; a latent that stands still breaks the line."""
        parts, pen = [], "M"
        for place, value in enumerate(values):
            if not np.isfinite(value):
                pen = "M"
                continue
            # A point alone is drawn as a short dash.
            parts.append(f"{pen}{self.x(place):.1f} {self.y(float(value)):.1f}{'h.1' if pen == 'M' else ''}")
            pen = "L"
        return "".join(parts)

    def band(self, lower: FloatArray, upper: FloatArray) -> str:
        there = [f"{self.x(k):.1f} {self.y(float(v)):.1f}" for k, v in enumerate(upper)]
        back = [f"{self.x(k):.1f} {self.y(float(v)):.1f}" for k, v in enumerate(lower)]
        return "M" + "L".join(there + back[::-1]) + "Z"


def _levels(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between the ends."""
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    return [float(step * k) for k in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]


def _tips(analysis: ManifoldAnalysis, scale: _Scale) -> tuple[tuple[float, float, str], ...]:
    if analysis.n_active > MOST_TIPS:
        return ()
    width = WIDTH / analysis.latent_dim
    return tuple(
        (
            round(rank * width, 2),
            round(width, 2),
            f"{rank + 1}: z{latent}, {analysis.latent_entropy[latent]:.3f} ± "
            f"{analysis.latent_entropy_error[latent]:.3f} nats",
        )
        for rank, latent in enumerate(analysis.order[: analysis.n_active])
    )
