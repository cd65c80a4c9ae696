"""Many tasks, predictors and training sizes on one representation, as a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from unbraid._progress import track
from unbraid.downstream._pictures import Pictures
from unbraid.downstream._predictors import PREDICTORS, Predictor, check_predictor
from unbraid.downstream._solve import Bench, PartResult, TaskResult, set_up, solve_on
from unbraid.downstream._split import TrainSize, split_rows
from unbraid.downstream._targets import Target
from unbraid.downstream._tasks import build_target, check_task, tasks_for
from unbraid.representation import Representation

Given = ParamSpec("Given")
Made = TypeVar("Made")

#: As in the table of a study: ``factor`` is empty in the row for the whole task, ``n_rows`` are those learned from,
#: ``null`` is a guess without codes, and ``value`` is NaN where ``failure`` gives a reason.
COLUMNS = ("name", "predictor", "factor", "n_rows", "value", "null", "failure", "seconds")


def solve_all(
    rep: Representation,
    *,
    tasks: Iterable[str] | None = None,
    predictors: Iterable[str] = tuple(PREDICTORS),
    train_sizes: Sequence[TrainSize] = (None,),
    test_rows: Any = None,
    seed: int = 0,
    pictures: Pictures | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Solve every task with every predictor at every training size, on the same test rows.

    What can be shared is: the split and the scaled codes of a size; a factor that several tasks ask for is predicted
    once.

    Args:
        rep: Codes and factors.
        tasks: By name; all that the representation and the pictures allow by default.
        predictors: By name; all by default.
        train_sizes: Whole numbers of rows, shares in (0, 1] of those not judged on, or ``None`` for all.
        test_rows: Row numbers to judge on, or how many to draw; three tenths by default.
        seed: Same seed, same rows and same numbers.
        pictures: Masks and squares, for the tasks that ask for them.
        progress: Show a bar; by default when standard error is a terminal.

    Returns:
        A row for each task, predictor and size, and one for each of its parts if it has several, with the
        columns of :data:`COLUMNS`. What cannot be solved has the reason in ``failure``, and no value.

    Raises:
        ValueError: An unknown task or predictor, a size that is none, or too few rows in all.

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(300, 2))
        >>> rep = Representation(codes, {"x": codes[:, 0], "y": codes[:, 1]})
        >>> table = solve_all(rep, tasks=["position_cartesian"], predictors=["linear"], train_sizes=[0.5, None])
        >>> table[["factor", "n_rows", "value"]].round(2).values.tolist()
        [['', 105, 1.0], ['x', 105, 1.0], ['y', 105, 1.0], ['', 210, 1.0], ['x', 210, 1.0], ['y', 210, 1.0]]
    """
    names = tuple(tasks_for(rep, pictures) if tasks is None else _named("tasks", tasks))
    solvers = [check_predictor(name) for name in _named("predictors", predictors)]
    for name in names:
        check_task(name)
    split = split_rows(rep.n_samples, test_rows=test_rows, seed=seed)
    sizes = {size: split.rounded(size) for size in train_sizes}
    targets = {name: _or_reason(build_target, name, rep, pictures) for name in names}
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), track(len(sizes) * len(names) * len(solvers), progress, doing="solving") as bar:
        for size, n_rows in sizes.items():
            bench = _or_reason(set_up, rep, split, size, seed)
            known: dict[tuple[int, str], PartResult] = {}
            for name, solver in product(names, solvers):
                bar.tell(f"{name} by {solver.name}")
                rows += _solved(name, targets[name], bench, solver, known, n_rows=n_rows)
                bar.advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _named(argument: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a list of names, got the text {names!r}; give [{names!r}].")
    return tuple(names)


def _or_reason(make: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made | str:
    """Return what is made, or why it cannot be."""
    try:
        return make(*given, **named)
    except ValueError as error:
        return str(error)
    except Exception as error:  # one task must never take the others down; its row carries the reason
        return f"{type(error).__name__}: {error}"


def _solved(
    name: str,
    target: Target | str,
    bench: Bench | str,
    solver: Predictor,
    known: dict[tuple[int, str], PartResult],
    *,
    n_rows: int,
) -> list[dict[str, Any]]:
    """Rows of one task, one predictor and one size."""
    started = time.perf_counter()
    if isinstance(bench, str):
        result: TaskResult | str = bench
    elif isinstance(target, str):
        result = target
    else:
        result = _or_reason(solve_on, bench, target, solver, known)
    if isinstance(result, TaskResult):
        return _rows_of(result)
    seconds = time.perf_counter() - started
    return [_row(name, solver.name, "", n_rows, np.nan, np.nan, result, seconds)]


def _rows_of(result: TaskResult) -> list[dict[str, Any]]:
    """The whole, then its parts where there are several; seconds are those of the whole."""
    wholes = [("", result.value, result.blind)]
    parts = [(part.name, part.value, part.blind) for part in result.parts] if len(result.parts) > 1 else []
    return [
        _row(result.name, result.predictor, factor, result.n_train, value, blind, "", result.seconds)
        for factor, value, blind in (*wholes, *parts)
    ]


def _row(*cells: Any) -> dict[str, Any]:
    return dict(zip(COLUMNS, cells, strict=True))
