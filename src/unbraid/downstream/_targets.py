"""What is to be predicted from codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._typing import BoolArray, FloatArray
from unbraid._validation import did_you_mean
from unbraid.downstream._pictures import Pictures
from unbraid.factor import Factor, make_factor
from unbraid.representation import Representation

#: What the two factors of a position are called.
POSITIONS = (("x", "y"), ("pos_x", "pos_y"), ("position_x", "position_y"))
SQUARE = ("square_x", "square_y")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Target:
    """What a task asks for.

    Attributes:
        name: Of the task.
        parts: Classes, numbers or angles, each predicted on its own; a row without a label is left out.
        masks: Where the object is in each picture, ``(n, height, width)``, when the task is to find it; else ``None``.
    """

    name: str
    parts: tuple[Factor, ...] = ()
    masks: BoolArray | None = None

    def __post_init__(self) -> None:
        if bool(self.parts) == (self.masks is not None):
            raise ValueError(f"target {self.name!r} must have parts to predict, or masks; give one of them.")

    def check_rows(self, n_samples: int) -> None:
        """Raise unless there is something to predict in each row."""
        lengths = {len(part.numbers) for part in self.parts} or {len(self.masks if self.masks is not None else ())}
        if lengths != {n_samples}:
            raise ValueError(
                f"target {self.name!r} must have one entry for each of the {n_samples} rows of codes, "
                f"got {max(lengths)}."
            )


def all_factors(rep: Representation, pictures: Pictures | None) -> Target:
    """Every factor, by its kind."""
    return Target(name="factors", parts=_labelled(rep))


def all_factors_as_classes(rep: Representation, pictures: Pictures | None) -> Target:
    """Every factor, its values as classes."""
    return Target(name="factors_as_classes", parts=tuple(factor.as_classes() for factor in _labelled(rep)))


def one_factor(rep: Representation, name: str) -> Target:
    """One factor, by its kind."""
    found = [factor for factor in rep.factors if factor.name == name]
    if not found:
        known = ", ".join(rep.factor_names) or "none"
        raise ValueError(f"factor {name!r} is not one of {known}{did_you_mean(name, rep.factor_names)}.")
    return Target(name=f"factor:{name}", parts=(found[0],))


def cartesian(rep: Representation, pictures: Pictures | None) -> Target:
    """Both coordinates of the position, as they are."""
    return Target(name="position_cartesian", parts=_position(rep))


def polar(rep: Representation, pictures: Pictures | None) -> Target:
    """Distance and direction from the corner where both coordinates are smallest: no direction comes round again."""
    x, y = (_unit(factor) for factor in _position(rep))
    radius, angle = _polar_parts(x, y, kind="continuous")
    return Target(name="position_polar", parts=(radius, angle))


def polar_about_centre(rep: Representation, pictures: Pictures | None) -> Target:
    """Distance and direction from the middle, where directions close a circle."""
    x, y = (2 * _unit(factor) - 1 for factor in _position(rep))
    radius, angle = _polar_parts(x, y, kind=f"circular:{2 * np.pi!r}")
    return Target(name="position_polar_centre", parts=(radius, angle))


def square(rep: Representation, pictures: Pictures | None) -> Target:
    """Middle of the grey square: from factors of that name, or from the pictures."""
    if set(SQUARE) <= set(rep.factor_names):
        return Target(name="square", parts=rep.select_factors(SQUARE).factors)
    if pictures is None or pictures.squares is None:
        raise ValueError(f"square needs pictures with squares, or the factors {' and '.join(SQUARE)}; got neither.")
    left, top, side = np.asarray(pictures.squares, dtype=np.float64).T
    middles = (left + side / 2, top + side / 2)
    return Target(
        name="square",
        parts=tuple(make_factor(at, name=name, kind="continuous") for at, name in zip(middles, SQUARE, strict=True)),
    )


def segmentation(rep: Representation, pictures: Pictures | None) -> Target:
    """Which pixels show the object."""
    if pictures is None or pictures.masks is None:
        raise ValueError("segmentation needs pictures with masks, got none; see unbraid.downstream.pictures_of.")
    masks = np.asarray(pictures.masks, dtype=bool)
    if masks.ndim != 3:
        raise ValueError(f"masks must have shape (n, height, width), got {masks.shape}.")
    return Target(name="segmentation", masks=masks)


def position_names(factor_names: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what the factors of the position are called, if they are there."""
    return next((pair for pair in POSITIONS if set(pair) <= set(factor_names)), None)


def _labelled(rep: Representation) -> tuple[Factor, ...]:
    if not rep.factors:
        raise ValueError("rep must have at least one factor to predict, got none.")
    return rep.factors


def _position(rep: Representation) -> tuple[Factor, ...]:
    names = position_names(rep.factor_names)
    if names is None:
        wanted = ", or ".join(" and ".join(pair) for pair in POSITIONS)
        raise ValueError(f"position needs the factors {wanted}; got {', '.join(rep.factor_names) or 'none'}.")
    found = rep.select_factors(names).factors
    for factor in found:
        if not factor.is_numeric:
            raise ValueError(f"factor {factor.name!r} must be a number to be a position, got kind {factor.kind}.")
    return found


def _unit(factor: Factor) -> FloatArray:
    """Scale to 0 to 1."""
    low, high = np.nanmin(factor.numbers), np.nanmax(factor.numbers)
    scaled: FloatArray = (factor.numbers - low) / (high - low)
    return scaled


def _polar_parts(x: FloatArray, y: FloatArray, *, kind: str) -> tuple[Factor, Factor]:
    radius = np.hypot(x, y)
    # the origin lies in no direction: such a row has no angle to predict
    angle = np.where(radius > 0, np.arctan2(y, x), np.nan)
    return make_factor(radius, name="radius", kind="continuous"), make_factor(angle, name="angle", kind=kind)
