"""The table of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal

from unbraid._validation import did_you_mean
from unbraid.downstream import _targets
from unbraid.downstream._pictures import Pictures
from unbraid.downstream._targets import Target
from unbraid.representation import Representation

Need = Literal["factors", "position", "squares", "masks"]
ONE_FACTOR = "factor:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to predict from codes.

    Attributes:
        name: As tables and study files call it.
        says: What is predicted, in a sentence.
        needs: ``"factors"`` (any, or the one named), ``"position"`` (factors x and y), ``"squares"`` or ``"masks"``
            (from the pictures).
        parts: What is predicted on its own and then averaged; empty where that is each factor.
        build: Makes the target of a representation.
    """

    name: str
    says: str
    needs: Need
    parts: tuple[str, ...]
    build: Callable[[Representation, Pictures | None], Target]


_ROWS = (
    Task(
        name="factors",
        says="Each factor, by its kind: classes, numbers or angles.",
        needs="factors",
        parts=(),
        build=_targets.all_factors,
    ),
    Task(
        name="factors_as_classes",
        says="Each factor, its values as classes.",
        needs="factors",
        parts=(),
        build=_targets.all_factors_as_classes,
    ),
    Task(
        name="position_cartesian",
        says="Where the object is, as x and y.",
        needs="position",
        parts=("x", "y"),
        build=_targets.cartesian,
    ),
    Task(
        name="position_polar",
        says="Where the object is, as distance and direction from the corner.",
        needs="position",
        parts=("radius", "angle"),
        build=_targets.polar,
    ),
    Task(
        name="position_polar_centre",
        says="Where the object is, as distance and direction from the middle; the direction is an angle.",
        needs="position",
        parts=("radius", "angle"),
        build=_targets.polar_about_centre,
    ),
    Task(
        name="square",
        says="Where the middle of the grey square is.",
        needs="squares",
        parts=_targets.SQUARE,
        build=_targets.square,
    ),
    Task(
        name="segmentation",
        says="Which pixels show the object.",
        needs="masks",
        parts=("mask",),
        build=_targets.segmentation,
    ),
)

#: Tasks by name; one factor alone is ``"factor:NAME"``.
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _ROWS})


def check_task(name: str, factor_names: tuple[str, ...] | None = None) -> Task:
    """Return the task of this name.

    Args:
        name: One of :data:`TASKS`, or ``"factor:NAME"``.
        factor_names: Factors there are, to check ``NAME`` against; ``None`` takes any.

    Raises:
        ValueError: No such task, with the nearest name.

    Example:
        >>> check_task("factor:shape").parts
        ('shape',)
    """
    if not isinstance(name, str):
        raise TypeError(f"task must be a name, got {name!r}.")
    if name.startswith(ONE_FACTOR) and len(name) > len(ONE_FACTOR):
        return _one_factor(name.removeprefix(ONE_FACTOR), factor_names)
    if name not in TASKS:
        near = did_you_mean(name, TASKS)
        if name in (factor_names or ()):
            near = f"; did you mean {ONE_FACTOR + name!r}"
        raise ValueError(f"task must be one of {', '.join(TASKS)} or factor:NAME, got {name!r}{near}.")
    return TASKS[name]


def tasks_for(rep: Representation | tuple[str, ...], pictures: Pictures | None = None) -> tuple[str, ...]:
    """Return the names of the tasks that factors and pictures allow, each factor alone last.

    Args:
        rep: A representation, or the names of its factors.
        pictures: What is known of the pictures.

    Example:
        >>> tasks_for(("shape", "x", "y"))[:3]
        ('factors', 'factors_as_classes', 'position_cartesian')
    """
    names = rep.factor_names if isinstance(rep, Representation) else tuple(rep)
    has: dict[Need, bool] = {
        "factors": bool(names),
        "position": _targets.position_names(names) is not None,
        "squares": set(_targets.SQUARE) <= set(names) or (pictures is not None and pictures.squares is not None),
        "masks": pictures is not None and pictures.masks is not None,
    }
    return (*(task.name for task in _ROWS if has[task.needs]), *(ONE_FACTOR + name for name in names))


def build_target(name: str, rep: Representation, pictures: Pictures | None = None) -> Target:
    """Return what the task of this name asks of a representation.

    Raises:
        ValueError: No such task, or the representation or the pictures lack what it needs.
    """
    target = check_task(name, rep.factor_names).build(rep, pictures)
    target.check_rows(rep.n_samples)
    return target


def _one_factor(factor: str, factor_names: tuple[str, ...] | None) -> Task:
    if factor_names is not None and factor not in factor_names:
        near = did_you_mean(factor, factor_names)
        known = ", ".join(factor_names) or "none"
        raise ValueError(f"task {ONE_FACTOR + factor!r} must name one of the factors {known}{near}.")

    return Task(
        name=ONE_FACTOR + factor,
        says=f"The factor {factor}, by its kind.",
        needs="factors",
        parts=(factor,),
        build=partial(_build_one, factor),
    )


def _build_one(factor: str, rep: Representation, pictures: Pictures | None) -> Target:
    return _targets.one_factor(rep, factor)
