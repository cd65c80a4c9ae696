"""Evaluation of one downstream task, and of a table of tasks, predictors and training sizes."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, ParamSpec, TypeVar, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid._base.progress import Show, track
from unbraid.downstream.predictors import PREDICTORS, Predictor, check_predictor
from unbraid.downstream.segmentation import find_masks
from unbraid.downstream.tasks import Pictures, Target, build_target, check_task, tasks_for
from unbraid.probes.importance import ProbeTask, held_out_performance
from unbraid.probes.splits import MIN_ROWS, N_RANGES, Split, TrainSize, combination_split, split_rows, standardise
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

SplitKind = Literal["rows", "combinations"]
#: Ends of the names of tasks on held-out combinations, and of the gap to a random split.
HELD_OUT, GAP = "@combinations", "@gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """Test performance on one part of a target.

    Attributes:
        name: Of the factor, coordinate or mask.
        measure: Measure of ``value``: ``"accuracy"``, ``"R²"``, ``"R² of cosine and sine"`` or ``"IoU"``.
        value: On the test rows, in [0, 1], higher is better.
        blind: Performance of the best guess without codes.
        seconds: That this took.
        note: Limitation of the result, or empty.
    """

    name: str
    measure: str
    value: float
    blind: float
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """Test performance on one task.

    Attributes:
        name: Of the task.
        predictor: Name of the predictor.
        measure: Measure of ``value``, or of the numbers it is the mean of.
        value: Mean over the parts, on the test rows, in [0, 1], higher is better.
        blind: The same mean of guesses made without codes: 0 for numbers and angles, the share of the commonest class.
        parts: Each part.
        n_train: Rows it was learned from.
        n_test: Rows it was tested on.
        seconds: That its parts took, whether or not another task had them done.
        notes: Limitations of the result.
        gap: Of a test on held-out combinations, the value on random rows less this value; ``None`` for random rows.
    """

    name: str
    predictor: str
    measure: str
    value: float
    blind: float
    parts: tuple[PartResult, ...]
    n_train: int
    n_test: int
    seconds: float
    notes: tuple[str, ...]
    gap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """Codes of the training and test rows, standardised on the training rows; shared by all tasks of a size.

    Attributes:
        train: Rows to learn from.
        test: Rows to test on.
        codes: Codes of ``train``, mean 0 and deviation 1; constant ones are 0.
        test_codes: Codes of ``test``, scaled in the same way.
        seed: Of all chance.
    """

    train: IntArray
    test: IntArray
    codes: FloatArray
    test_codes: FloatArray
    seed: int


def solve(
    rep: Representation,
    target: str | Target,
    *,
    predictor: str,
    n_train: TrainSize = None,
    test_rows: Any = None,
    split: SplitKind = "rows",
    combinations: Iterable[str] | None = None,
    seed: int = 0,
    pictures: Pictures | None = None,
) -> TaskResult:
    """Train a predictor of a task on the codes of some rows, and test it on others.

    The test rows depend on the number of rows and on ``seed`` alone, so that every model, predictor and training size
    is tested on the same; a smaller training set is the beginning of a larger one.

    Args:
        rep: Codes and factors.
        target: A task by name (see :data:`~unbraid.downstream.TASKS`, or ``"factor:NAME"``), or a target.
        predictor: ``"linear"``, ``"boosting"``, ``"forest"`` or ``"mlp"``.
        n_train: Rows to learn from: a whole number, a share in (0, 1] of the rows not tested on, or ``None`` for all.
        test_rows: Row numbers to test on, or how many to draw; three tenths by default.
        split: ``"rows"``: test on random rows; ``"combinations"``: test on combinations of factor values that are not
            in the training set, though each of the values is.
        combinations: Factors whose combinations are held out, at least two; by default the two whose values make the
            most combinations, numbers in five ranges.
        seed: Same seed, same rows and same result.
        pictures: Masks and squares, for the tasks that ask for them.

    Returns:
        A result whose ``value`` is in [0, 1], higher is better: accuracy for classes; R², not below 0, for numbers;
        R² of cosine and sine together, so that an angle near its end counts as near its beginning; mean
        intersection over union for masks.

    Raises:
        ValueError: An unknown task or predictor, a task that lacks what it needs, or too few rows.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> codes = rng.normal(size=(400, 3))
        >>> rep = Representation(codes, {"sum": codes[:, 0] + codes[:, 1]})
        >>> result = solve(rep, "factor:sum", predictor="linear")
        >>> round(result.value, 3), result.blind, result.measure
        (1.0, 0.0, 'R²')
    """
    solver = check_predictor(predictor)
    wanted = build_target(target, rep, pictures) if isinstance(target, str) else target
    wanted.check_rows(rep.n_samples)
    chosen = choose_split(rep, split, combinations, test_rows, seed)
    with threadpool_limits(1):
        found = solve_on(set_up(rep, chosen, n_train, seed), wanted, solver, {})
        if split == "rows":
            return found
        random = solve_on(set_up(rep, random_split(chosen, seed), n_train, seed), wanted, solver, {})
    return replace(found, gap=random.value - found.value)


def choose_split(
    rep: Representation, split: SplitKind, combinations: Iterable[str] | None, test_rows: Any, seed: int
) -> Split:
    """Return random rows, or held-out combinations of the named factors.

    Raises:
        ValueError: Options that exclude each other, an unknown factor, or too few rows.
    """
    check_choice("split", split, get_args(SplitKind))
    if split == "rows":
        if combinations is not None:
            raise ValueError('combinations must be left out with split="rows", which holds out random rows.')
        return split_rows(rep.n_samples, test_rows=test_rows, seed=seed)
    if test_rows is not None:
        raise ValueError('test_rows must be left out with split="combinations", which chooses the test set.')
    if combinations is not None:
        return combination_split(rep.select_factors(_named("combinations", combinations)).factors, seed=seed)
    most = sorted(range(rep.n_factors), key=lambda k: -min(len(np.unique(rep.factors[k].numbers)), N_RANGES))[:2]
    return combination_split([rep.factors[k] for k in sorted(most)], seed=seed)


def random_split(split: Split, seed: int) -> Split:
    """Return random rows of the same number, among the same rows, to compare held-out combinations with."""
    rows = np.random.default_rng([int(seed), len(split.train), len(split.test)]).permutation(
        np.concatenate([split.train, split.test])
    )
    return Split(train=rows[len(split.test) :], test=np.sort(rows[: len(split.test)]))


def set_up(rep: Representation, split: Split, n_train: TrainSize, seed: int) -> Bench:
    """Standardise the codes on the training rows."""
    train = split.train_rows(n_train)
    codes, test_codes = standardise(rep.codes[train], rep.codes[split.test])
    return Bench(train=train, test=split.test, codes=codes, test_codes=test_codes, seed=seed)


def solve_on(
    bench: Bench, target: Target, predictor: Predictor, known: dict[tuple[int, str], PartResult]
) -> TaskResult:
    """Solve each part that is not ``known`` from another task on the same bench, and take the mean."""
    if target.masks is not None:
        parts = [_masks_found(bench, target, predictor)]
    else:
        parts = []
        for factor in target.parts:
            key = (id(factor), predictor.name)
            if key not in known:
                known[key] = _solve_part(bench, factor, predictor)
            parts.append(known[key])
    measures = list(dict.fromkeys(part.measure for part in parts))
    return TaskResult(
        name=target.name,
        predictor=predictor.name,
        measure=measures[0] if len(measures) == 1 else f"mean of {' and '.join(measures)}",
        value=float(np.mean([part.value for part in parts])),
        blind=float(np.mean([part.blind for part in parts])),
        parts=tuple(parts),
        n_train=len(bench.train),
        n_test=len(bench.test),
        seconds=sum(part.seconds for part in parts),
        notes=tuple(part.note for part in parts if part.note),
    )


def _solve_part(bench: Bench, factor: Factor, predictor: Predictor) -> PartResult:
    started = time.perf_counter()
    train, test = factor.labelled[bench.train], factor.labelled[bench.test]
    if min(train.sum(), test.sum()) < MIN_ROWS:
        raise ValueError(
            f"factor {factor.name!r} has {train.sum()} labelled rows to learn from and {test.sum()} to be tested on; "
            f"a task needs at least {MIN_ROWS} of each."
        )
    task = ProbeTask(
        factor=factor,
        train=bench.train[train],
        test=bench.test[test],
        codes=bench.codes[train],
        test_codes=bench.test_codes[test],
    )
    # by name, so that a part has the same prediction in every task
    rng = np.random.default_rng([bench.seed, zlib.crc32(factor.name.encode())])
    guess = _blind_guess(task)
    is_settled = len(np.unique(factor.numbers[task.train])) == 1
    predicted = guess if is_settled else predictor.predict(task, rng)
    return PartResult(
        name=factor.name,
        measure=_measure(factor),
        value=held_out_performance(factor, task.test, predicted),
        blind=held_out_performance(factor, task.test, guess),
        seconds=time.perf_counter() - started,
        note=_note(task, is_settled),
    )


def _blind_guess(task: ProbeTask) -> FloatArray:
    """Predict the commonest class, or the mean, of the training rows."""
    factor = task.factor
    if factor.is_numeric:
        mean = factor.targets(task.train).mean(axis=0)
        return np.broadcast_to(mean, (len(task.test), len(mean)))
    assert factor.labels is not None
    return np.full(len(task.test), float(np.bincount(factor.labels[task.train]).argmax()))


def _measure(factor: Factor) -> str:
    if not factor.is_numeric:
        return "accuracy"
    return "R² of cosine and sine" if factor.kind is FactorKind.CIRCULAR else "R²"


def _note(task: ProbeTask, is_settled: bool) -> str:
    factor = task.factor
    if is_settled:
        return f"{factor.name} takes one value only in the {len(task.train)} rows learned from, so that one is guessed."
    if factor.is_numeric and len(np.unique(factor.numbers[task.test])) == 1:
        return f"{factor.name} takes one value only in the {len(task.test)} rows tested on; R² of a constant counts 0."
    if not factor.is_numeric:
        unseen = ~np.isin(factor.numbers[task.test], factor.numbers[task.train])
        if unseen.any():
            return f"{factor.name}: {unseen.sum()} rows tested on have a value never learned from, and count as wrong."
    return ""


def _masks_found(bench: Bench, target: Target, predictor: Predictor) -> PartResult:
    assert target.masks is not None
    if not predictor.finds_masks:
        raise ValueError(f"segmentation is solved by linear or mlp, got {predictor.name!r}.")
    started = time.perf_counter()
    found = find_masks(
        bench.codes,
        bench.test_codes,
        target.masks,
        train=bench.train,
        test=bench.test,
        predictor=predictor.name,
        seed=bench.seed,
    )
    seconds = time.perf_counter() - started
    return PartResult(name="mask", measure="IoU", value=found.iou, blind=found.blind, seconds=seconds)


Given = ParamSpec("Given")
Made = TypeVar("Made")

#: As in the table of a study: ``factor`` is empty in the row for the whole task, ``n_rows`` are the training rows,
#: ``chance`` is a guess without codes, and ``value`` is NaN where ``failure`` gives a reason.
COLUMNS = ("name", "predictor", "factor", "n_rows", "value", "chance", "failure", "seconds")


def solve_all(
    rep: Representation,
    *,
    tasks: Iterable[str] | None = None,
    predictors: Iterable[str] = tuple(PREDICTORS),
    train_sizes: Sequence[TrainSize] = (None,),
    test_rows: Any = None,
    split: SplitKind = "rows",
    combinations: Iterable[str] | None = None,
    seed: int = 0,
    pictures: Pictures | None = None,
    progress: Show = None,
) -> pd.DataFrame:
    """Solve every task with every predictor at every training size, on the same test rows.

    What can be shared is: the split and the scaled codes of a size; a factor that several tasks ask for is predicted
    once.

    Args:
        rep: Codes and factors.
        tasks: By name; all that the representation and the pictures allow by default.
        predictors: By name; all by default.
        train_sizes: Whole numbers of rows, shares in (0, 1] of the rows not tested on, or ``None`` for all.
        test_rows: Row numbers to test on, or how many to draw; three tenths by default.
        split: ``"rows"``: test on random rows; ``"combinations"``: test on combinations of factor values that are not
            in the training set, though each of the values is.
        combinations: Factors whose combinations are held out, at least two; by default the two whose values make the
            most combinations, numbers in five ranges.
        seed: Same seed, same rows and same numbers.
        pictures: Masks and squares, for the tasks that ask for them.
        progress: Show a bar; by default when standard error is a terminal.

    Returns:
        A row for each task, predictor and size, and one for each of its parts if it has several, with the
        columns of :data:`COLUMNS`. What cannot be solved has the reason in ``failure``, and no value. Of held-out
        combinations, names end in ``"@combinations"``, and for each row there is one whose name ends in ``"@gap"``: the
        value on random rows less that on held-out combinations.

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
    chosen = choose_split(rep, split, combinations, test_rows, seed)
    splits = [chosen] if split == "rows" else [chosen, random_split(chosen, seed)]
    sizes = {size: chosen.rounded(size) for size in train_sizes}
    targets = {name: _or_reason(build_target, name, rep, pictures) for name in names}
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1), track(len(sizes) * len(names) * len(solvers), progress, doing="solving") as bar:
        for size, n_rows in sizes.items():
            benches = [_or_reason(set_up, rep, one, size, seed) for one in splits]
            known: list[dict[tuple[int, str], PartResult]] = [{} for _ in splits]
            for name, solver in product(names, solvers):
                bar.tell(f"{name} by {solver.name}")
                found = [
                    _solved(name, targets[name], bench, solver, parts, n_rows=n_rows)
                    for bench, parts in zip(benches, known, strict=True)
                ]
                rows += found[0] if split == "rows" else _with_gaps(*found)
                bar.advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _with_gaps(held_out: list[dict[str, Any]], random: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows on held-out combinations, and the gap of each to random rows; a guess without codes has a gap as well."""
    rows = [{**row, "name": row["name"] + HELD_OUT} for row in held_out]
    for row, other in zip(held_out, random, strict=False):
        failure = row["failure"] or other["failure"]
        gap = {key: other[key] - row[key] for key in ("value", "chance")}
        rows.append({**row, **gap, "name": row["name"] + GAP, "failure": failure, "seconds": other["seconds"]})
    return rows


def _named(argument: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a list of names, got the text {names!r}; give [{names!r}].")
    return tuple(names)


def _or_reason(make: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made | str:
    """Return the result, or the reason of a failure."""
    try:
        return make(*given, **named)
    except ValueError as error:
        return str(error)
    except Exception as error:  # an error of one task must not stop the others; its row gives the reason
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
