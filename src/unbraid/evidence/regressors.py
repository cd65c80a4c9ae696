"""Regressions of codes on factors and back: the regressors, the variables and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import active_codes, check_choice
from unbraid.probes.growing import SharedCodes
from unbraid.probes.one_input import predict_from_one
from unbraid.probes.splits import Split
from unbraid.probes.trees import ForestRegressor, forest_grower
from unbraid.representation.blocks import parts_of_codes
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

RegressorName = Literal["forest", "extra", "linear"]
#: Groups that are the blocks of the representation.
ByBlock = Literal["blocks"]
[BY_BLOCK] = get_args(ByBlock)
#: Columns of each group, the blocks of the representation, or ``None`` for every column by itself.
Groups = tuple[tuple[int, ...], ...] | ByBlock | None


def check_regressor(regressor: object) -> None:
    """Raise unless it is a known name or can fit and predict."""
    if isinstance(regressor, str):
        check_choice("regressor", regressor, get_args(RegressorName))
    elif isinstance(regressor, type) or not (hasattr(regressor, "fit") and hasattr(regressor, "predict")):
        raise TypeError(
            f"regressor must be one of {', '.join(get_args(RegressorName))} or a scikit-learn regressor, "
            f"got {regressor!r}."
        )


def is_forest(regressor: object) -> bool:
    """Whether trees of a regressor are bagged and take the best splits."""
    return isinstance(regressor, str) and regressor == "forest"


def make_regressor(regressor: Any, *, n_trees: int, min_leaf: int, seed: int) -> Any:
    """Return a new regressor with random state ``seed``."""
    if regressor in ("forest", "extra"):
        return ForestRegressor(n_trees=n_trees, min_leaf=min_leaf, is_extra=regressor == "extra", seed=seed)
    from sklearn import base, linear_model

    if regressor == "linear":
        return linear_model.LinearRegression()
    fresh = base.clone(regressor)
    seeds = {name: seed for name in fresh.get_params() if name.rpartition("__")[2] == "random_state"}
    return fresh.set_params(**seeds)


def predict(
    inputs: FloatArray,
    targets: FloatArray,
    splits: list[Split],
    regressor: Any,
    *,
    n_trees: int,
    min_leaf: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Predict every target on the test rows of the splits; NaN on rows of no test set."""
    found = np.full(targets.shape, np.nan)
    for split, child in zip(splits, rng.spawn(len(splits)), strict=True):
        # Forests grow one tree for all columns of a target; other estimators may not, so they get one at a time.
        together = isinstance(regressor, str)
        parts = [np.arange(targets.shape[1])] if together else [np.array([c]) for c in range(targets.shape[1])]
        for part in parts:
            seed = int(child.integers(2**31))
            model = make_regressor(regressor, n_trees=n_trees, min_leaf=min_leaf, seed=seed)
            wanted = targets[np.ix_(split.train, part)]
            model.fit(inputs[split.train], wanted[:, 0] if len(part) == 1 else wanted)
            predicted = np.asarray(model.predict(inputs[split.test]))
            found[np.ix_(split.test, part)] = predicted.reshape(len(split.test), len(part))
    return found


def predict_from_one_column(
    inputs: Sequence[FloatArray],
    targets: Sequence[FloatArray],
    splits: list[Split],
    *,
    n_trees: int,
    min_leaf: int,
    rngs: Sequence[np.random.Generator],
) -> FloatArray:
    """Predict each target from one input of its own by forests, as :func:`predict` does, all at once.

    Args:
        inputs: Of one column each.
        targets: Of as many columns each.
        splits: Training and test rows.
        n_trees: Trees of a forest.
        min_leaf: Fewest rows in a leaf.
        rngs: Source of chance of each.

    Returns:
        ``(n_targets, n_rows, n_columns)``; NaN on rows of no test set.
    """
    known, wanted = np.stack([column[:, 0] for column in inputs]), np.stack(targets)
    found = np.full(wanted.shape, np.nan)
    children = [rng.spawn(len(splits)) for rng in rngs]
    for s, split in enumerate(splits):
        weights = np.empty((len(rngs), n_trees, len(split.train)), dtype=np.uint16)
        for own, child in zip(weights, children, strict=True):
            seed = int(child[s].integers(2**31))
            forest = ForestRegressor(n_trees=n_trees, min_leaf=min_leaf, is_extra=False, seed=seed)
            for t, (_, drawn) in enumerate(forest.draws(len(split.train))):
                own[t] = drawn
        found[:, split.test] = predict_from_one(
            known[:, split.train], wanted[:, split.train], known[:, split.test], weights, min_leaf=min_leaf
        )
    return found


def predict_on_shared_bins(
    inputs: FloatArray,
    bins: SharedCodes,
    targets: FloatArray,
    splits: list[Split],
    *,
    n_trees: int,
    min_leaf: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Predict one target as :func:`predict` does, by forests whose trees split at the ends of bins that targets share.

    Each tree grows on as many rows as a bootstrap has distinct ones, each of them once.
    """
    grower, every = forest_grower(n_trees, min_leaf), np.arange(inputs.shape[1])
    found = np.full(targets.shape, np.nan)
    for split, child in zip(splits, rng.spawn(len(splits)), strict=True):
        data = bins.data(split.train, every, targets[split.train, 0])
        model = grower.finished(grower.started(data, int(child.integers(2**31))), 0)
        found[split.test, 0] = model.predict(inputs[split.test])
    return found


ErrorKind = Literal["absolute", "squared"]
Scaling = Literal["spread", "range"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variable:
    """One code, group of codes or factor.

    Attributes:
        columns: Its values as numbers, ``(n_rows, n_columns)``.
        share: Factor on the sum of the errors of its columns: one over their number for a group of codes,
            a half for the indicators of a category, so that a wrong category is wrong by 1.
        is_circular: Two columns, cosine and sine: an absolute error is the chord between two points of the circle.
        parts: Factors of a factor that is a vector, side by side in ``columns``; its error is the mean of theirs.
    """

    columns: FloatArray
    share: float = 1.0
    is_circular: bool = False
    parts: tuple[Variable, ...] = ()

    def errors(self, guess: FloatArray, truth: FloatArray, error: ErrorKind) -> FloatArray:
        """Error of each row."""
        if self.parts:
            ends = np.cumsum([part.columns.shape[1] for part in self.parts])[:-1]
            pairs = zip(self.parts, np.split(guess, ends, axis=-1), np.split(truth, ends, axis=-1), strict=True)
            mean: FloatArray = np.mean([part.errors(a, b, error) for part, a, b in pairs], axis=0)
            return mean
        difference = guess - truth
        if error == "squared":
            squared: FloatArray = (difference**2).sum(axis=1) * self.share
            return squared
        if self.is_circular:
            chord: FloatArray = np.linalg.norm(difference, axis=1) * self.share
            return chord
        absolute: FloatArray = np.abs(difference).sum(axis=1) * self.share
        return absolute


def factor_variable(factor: Factor, rows: IntArray, scaling: Scaling) -> Variable:
    """Numbers as a number, angles as cosine and sine, categories as indicators."""
    columns = factor.targets(rows)
    if factor.kind is FactorKind.CIRCULAR:
        # Half the radius under "range", so that the longest chord is 1 as the longest distance of a number is.
        return Variable(columns=columns / 2 if scaling == "range" else columns, is_circular=True)
    if factor.kind is FactorKind.CATEGORICAL:
        return Variable(columns=columns, share=0.5)
    return Variable(columns=scaled(columns, scaling))


def vector_variable(parts: Sequence[Variable]) -> Variable:
    """One factor made of several; a single one stays as it is."""
    if len(parts) == 1:
        return parts[0]
    return Variable(columns=np.hstack([part.columns for part in parts]), parts=tuple(parts))


def code_variable(codes: FloatArray, scaling: Scaling) -> Variable:
    """One or more columns, each scaled on its own."""
    return Variable(columns=scaled(codes, scaling), share=1 / codes.shape[1])


def scaled(columns: FloatArray, scaling: Scaling) -> FloatArray:
    """Bring each column to range [0, 1], or to mean 0 and mean absolute deviation 1; constant columns become 0."""
    if scaling == "range":
        start, size = columns.min(axis=0), np.ptp(columns, axis=0)
    else:
        start = columns.mean(axis=0)
        size = np.abs(columns - start).mean(axis=0)
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 1e-12 * (1 + np.abs(start)))
    result: FloatArray = (columns - start) * inverse
    return result


def complete_rows(rep: Representation, min_rows: int) -> IntArray:
    """Rows that every factor has a label for, or raise if there are too few."""
    labelled = np.all([factor.labelled for factor in rep.factors], axis=0)
    rows = np.flatnonzero(labelled)
    if len(rows) < min_rows:
        raise ValueError(
            f"factors must have at least {min_rows} rows with a label in every column, got {len(rows)}; "
            "leave out the factors with few labels."
        )
    for factor in rep.factors:
        values = factor.numbers[rows]
        if values.min() == values.max():
            raise ValueError(
                f"factor {factor.name!r} takes one value only on the {len(rows)} rows that every factor has a "
                "label for; leave it out."
            )
    return rows


def code_groups(rep: Representation, groups: Groups) -> list[list[int]]:
    """Columns of each code: every column by itself, or the groups asked for; raise if they do not fit the codes."""
    if groups is None:
        return [[j] for j in range(rep.n_codes)]
    if isinstance(groups, str):
        parts = parts_of_codes(tuple(rep.blocks.values()), rep.n_codes, option=f"groups={BY_BLOCK!r}")
        return [list(part) for part in parts[: len(rep.blocks)]]
    for j in (j for group in groups for j in group):
        if not 0 <= j < rep.n_codes:
            raise ValueError(f"groups must name columns of codes from 0 to {rep.n_codes - 1}, got {j}.")
    return [list(group) for group in groups]


def live_columns(codes: FloatArray, columns: Sequence[int]) -> list[int]:
    """Columns that vary."""
    active = active_codes(codes[:, list(columns)])
    return [column for column, alive in zip(columns, active, strict=True) if alive]


def check_groups(groups: object) -> Groups:
    """Return groups as tuples, from lists of columns or from text such as ``"0+1,2"``; raise on anything else."""
    if groups is None or groups == BY_BLOCK:
        return groups  # type: ignore[return-value]
    if isinstance(groups, str):
        groups = [part.split("+") for part in groups.split(",")]
    try:
        found = tuple(tuple(_column(j) for j in group) for group in groups)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"groups must be lists of columns such as [[0, 1], [2]], got {groups!r}.") from None
    columns = [j for group in found for j in group]
    if not found or not all(found):
        raise ValueError(f"groups must have at least one column each, got {groups!r}.")
    if len(set(columns)) != len(columns):
        raise ValueError(f"groups must not share columns, got {groups!r}.")
    return found


#: For a factor, the factors that are known beside it.
Given = tuple[tuple[str, tuple[str, ...]], ...]
#: Names of the factors that make up each factor.
Vectors = tuple[tuple[str, ...], ...]


def check_vectors(vectors: object) -> Vectors:
    """Return the names of vector-valued factors as tuples, from lists of names or text such as ``"r+g+b"``.

    Raises:
        ValueError: Anything else, or a factor in two vectors.
    """
    if vectors is None:
        return ()
    listed: Any = [part.split("+") for part in vectors.split(",")] if isinstance(vectors, str) else vectors
    try:
        found = tuple(tuple(str(name).strip() for name in group) for group in listed)
    except TypeError:
        found = ()
    names = [name for group in found for name in group]
    if not found or not all(len(group) > 1 for group in found) or len(set(names)) != len(names):
        raise ValueError(
            f"vectors must be lists of two or more factors that make up one, such as [['x', 'y']] or 'x+y', and each "
            f"factor in one of them, got {vectors!r}."
        )
    return found


def check_given(given: object) -> Given:
    """Return the factors that are known beside each factor, from a mapping or text such as ``"size:shape+colour"``.

    Raises:
        ValueError: Anything else, or a factor that is given itself.
    """
    if given is None:
        return ()
    listed: Any = given
    if isinstance(given, str):
        listed = {name: rest.split("+") for name, _, rest in (part.partition(":") for part in given.split(","))}
    try:
        items = listed.items() if isinstance(listed, Mapping) else listed
        found = tuple((str(name).strip(), tuple(str(one).strip() for one in others)) for name, others in items)
    except (TypeError, ValueError):
        found = (("", ()),)
    if any(not name or not others or not all(others) or name in others for name, others in found):
        raise ValueError(
            f"given must name, for a factor, others that are known beside it, such as {{'size': ['shape']}} or "
            f"'size:shape+colour', got {given!r}."
        )
    return found


def factor_places(vectors: Vectors, names: Sequence[str]) -> list[list[int]]:
    """Columns of each factor: of a vector those that make it up, in the order of their first.

    Raises:
        ValueError: A name that is no factor.
    """
    for name in (name for group in vectors for name in group):
        check_choice("vectors", name, names)
    owner = {name: group for group in vectors for name in group}
    found = dict.fromkeys(owner.get(name, (name,)) for name in names)
    return [[list(names).index(name) for name in group] for group in found]


def _column(value: object) -> int:
    if isinstance(value, str | int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise TypeError(value)
