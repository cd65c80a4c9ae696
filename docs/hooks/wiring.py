"""A drawing of what an encoder of the audit does: factors on the left, codes on the right, joined by lines."""

from itertools import pairwise

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.audit import Case

WIDTH, HEIGHT, EDGE = 112, 76, 10
N_ROWS = 500
#: Influences below this share of a code's deviation are rounding.
LEAST = 1e-6


def influence(case: Case) -> FloatArray:
    """Return how far each code moves with each factor alone, ``(n_codes, n_factors)``, as a share of its deviation.

    One factor at a time is shuffled and encoded again, with the same chance for all else. Half the mean squared
    change, over the variance of the code, is the total effect of the factor (Sobol); its root is returned.
    """
    factors = case.structure.draw(np.random.default_rng(0), N_ROWS)
    before = case.encoder(factors, np.random.default_rng(1))
    columns = []
    for k in range(factors.shape[1]):
        moved = factors.copy()
        moved[:, k] = np.random.default_rng(2).permutation(moved[:, k])
        change = case.encoder(moved, np.random.default_rng(1)) - before
        columns.append(np.sqrt((change**2).mean(axis=0) / (2 * before.var(axis=0))))
    shares: FloatArray = np.clip(np.column_stack(columns), 0.0, 1.0)
    return shares


def drawing(case: Case) -> str:
    """Return the wiring of a case as an SVG element."""
    strength = influence(case)
    n_codes, n_factors = strength.shape
    lefts, rights = _places(n_factors), _places(n_codes)
    lines = [
        f'<path class="f{k}" d="{_strand(lefts[k], rights[j])}" stroke-width="{4 * strength[j, k]:.1f}"/>'
        for j in range(n_codes)
        for k in range(n_factors)
        if strength[j, k] > LEAST
    ]
    dots = [f'<circle class="f{k}" cx="{EDGE}" cy="{y:g}" r="5"/>' for k, y in enumerate(lefts)]
    boxes = [f'<rect class="code" x="{WIDTH - EDGE - 4}" y="{y - 4:g}" width="8" height="8" rx="1"/>' for y in rights]
    return (
        f'<svg class="wiring" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_in_words(strength)}">'
        + "".join([*lines, *_ties(case, lefts), *dots, *boxes])
        + "</svg>"
    )


def _places(n: int) -> list[float]:
    """Return the heights of points in a column, no further apart than three would be."""
    gap = (HEIGHT - 2 * EDGE) / max(n - 1, 2)
    return [HEIGHT / 2 + gap * (i - (n - 1) / 2) for i in range(n)]


def _strand(left: float, right: float) -> str:
    start, end, middle = EDGE, WIDTH - EDGE - 4, WIDTH / 2  # up to the edge of the box
    return f"M{start} {left:g}C{middle:g} {left:g} {middle:g} {right:g} {end} {right:g}"


def _ties(case: Case, lefts: list[float]) -> list[str]:
    """Return what joins the factors, where they depend on each other."""
    if case.structure.name != "correlated":
        return []
    return [
        f'<path class="tie" d="M{EDGE} {top:g}Q{EDGE - 13} {(top + low) / 2:g} {EDGE} {low:g}"/>'
        for top, low in pairwise(lefts)
    ]


def _in_words(strength: FloatArray) -> str:
    n_codes, n_factors = strength.shape
    per_code = [int(count) for count in (strength > LEAST).sum(axis=1)]
    return f"{n_factors} factors, {n_codes} codes; factors in each code: {', '.join(map(str, per_code))}"
