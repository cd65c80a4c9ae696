"""Table of a study: its schema with a row for each measurement, and its pivot with a row for each model."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from unbraid._base.checks import check_choice
from unbraid.metrics import METRICS

#: Kinds of rows.
SCORE, TASK, AGREEMENT, MODEL = "score", "task", "agreement", "model"


class FailureKind(StrEnum):
    """Why a row of the table has no value.

    Attributes:
        NONE: It has a value.
        FAILED: An error, or a worker that died; the next run tries again.
        DIVERGED: The loss of the model was not finite; training again would diverge again.
        COLLAPSED: All codes of the model are constant, so there is nothing to measure; a finding and not a failure.
    """

    NONE = ""
    FAILED = "failed"
    DIVERGED = "diverged"
    COLLAPSED = "collapsed"


class Failure(NamedTuple):
    """Why a measurement has no value: the kind, and the reason in a sentence."""

    kind: FailureKind
    reason: str

    def columns(self) -> dict[str, str]:
        """Return the columns of the table that describe the failure."""
        return {"failure": self.reason, "failure_kind": self.kind.value}


NO_FAILURE = Failure(FailureKind.NONE, "")
#: The failure of every score and task of a model whose codes are all constant.
NOTHING_TO_MEASURE = Failure(FailureKind.COLLAPSED, "all codes are constant, so there is nothing to measure.")
#: Beginnings of the reasons in tables of earlier versions, which have no column ``failure_kind``.
EARLIER_BEGINNINGS = {FailureKind.DIVERGED: "training diverged", FailureKind.COLLAPSED: "collapsed:"}

#: Columns of the table.
#:
#: ``key`` is a hash of everything that decides the row; ``model`` of everything that decides the codes. ``dataset``,
#: ``family``, ``hyperparameter`` (the number that names the setting; NaN for a family without one) and ``seed``
#: identify the model. ``kind`` is ``"score"``, ``"task"``, ``"agreement"`` (with other models) or ``"model"`` (the loss
#: after training); ``name`` is the name of the metric or task, ``predictor`` the predictor of a task. ``factor`` is
#: empty in the row of the whole score; ``n_rows`` are the rows scored or trained on. Where ``value`` is NaN,
#: ``failure`` is the reason in a sentence and ``failure_kind`` a :class:`FailureKind`.
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("model", pa.string()),
        ("dataset", pa.string()),
        ("family", pa.string()),
        ("hyperparameter", pa.float64()),
        ("seed", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("predictor", pa.string()),
        ("factor", pa.string()),
        ("n_rows", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("chance", pa.float64()),
        ("failure", pa.string()),
        ("failure_kind", pa.string()),
        ("seconds", pa.float64()),
        ("version", pa.string()),
    ]
)


def empty_table() -> pd.DataFrame:
    """Return a table of a study without rows."""
    table: pd.DataFrame = SCHEMA.empty_table().to_pandas()
    return table


NEEDED = (
    *("model", "dataset", "family", "hyperparameter", "seed", "kind", "name", "predictor", "factor"),
    *("n_rows", "value", "failure"),
)
WORDS = ("model", "dataset", "family", "kind", "name", "predictor", "factor", "failure", "failure_kind")
ABOUT = ["dataset", "family", "hyperparameter", "seed"]
SETTING = ["dataset", "family", "hyperparameter"]
CELL = ["model", "kind", "name", "predictor", "factor", "n_rows"]
KINDS = (SCORE, AGREEMENT, TASK, MODEL)
TASK_MARK = "task:"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelTable:
    """Scores and tasks of a study, with a row for each model.

    Attributes:
        values: A row for each model (or setting), a column for each score and task; NaN where there is no value.
        about: For each row its ``dataset``, ``family``, ``hyperparameter`` and ``seed``; or, averaged over seeds,
            ``n_models`` instead of the seed.
        counts: For each column the number of models with a value (``values``), with a failure (``failed``), and
            without a value for another reason (``absent``), such as codes that are all constant.
        per: What a row is: ``"model"`` or ``"setting"``.
        agreements: Columns that are agreements of models with others.
    """

    values: pd.DataFrame
    about: pd.DataFrame
    counts: pd.DataFrame
    per: str
    agreements: tuple[str, ...] = ()

    @property
    def scores(self) -> list[str]:
        """Columns that are scores or agreements."""
        return [str(name) for name in self.values if not str(name).startswith(TASK_MARK)]

    @property
    def tasks(self) -> list[str]:
        """Columns that are tasks."""
        return [str(name) for name in self.values if str(name).startswith(TASK_MARK)]

    def part(self, kept: pd.Series[bool]) -> ModelTable:
        """Return some of the rows; ``counts`` are still of all rows."""
        return replace(self, values=self.values[kept], about=self.about[kept])


def pivot(
    table: pd.DataFrame,
    *,
    per: Literal["model", "setting"] = "model",
    n_rows: int | None = None,
    task_rows: int | None = None,
    families: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    without_family: str | None = None,
    factors: bool | Mapping[str, Collection[str]] = False,
) -> ModelTable:
    """Turn the table of a study into a row for each model and a column for each score and task.

    The column of a score has the name of the metric, ``mig``; the column of a task names the task, the predictor and
    the number of training rows, ``task:position_polar/linear@1000``. Where data sets differ in the number of training
    rows, the column names the share of the largest number of the data set, ``@100%``.

    Args:
        table: The tidy table of a study, a row for each number.
        per: ``"model"``, or ``"setting"`` for the mean over the seeds of each data set, family and hyperparameter.
        n_rows: Sample size of the scores; ``None`` takes the largest of each data set and score.
        task_rows: Training rows of the tasks; ``None`` keeps a column for each size.
        families: Only these families.
        datasets: Only these data sets.
        without_family: All families but this one.
        factors: Whether to add a column for each factor where a score has them, ``mig[shape]``; or the factors to add,
            by name: ``{"shape": ["shape"], "position": ["x", "y"]}`` adds ``mig[shape]``, and ``mig[position]``, the
            mean of x and y.

    Returns:
        Values, the identity of each row, and counts of failures. A measurement that failed for every model has no
        column. The order of rows and columns does not depend on the order of the table; a value that is not finite
        is missing.

    Raises:
        ValueError: Columns are missing, a filter leaves nothing, or a model has two rows for one score.
    """
    row = _row(per)
    rows = check_table(table)
    rows = rows[rows["kind"] != MODEL]
    rows = _only(rows, "family", families, "families")
    rows = _only(rows, "dataset", datasets, "datasets")
    if without_family is not None:
        check_choice("without_family", without_family, sorted(rows["family"].unique()))
        rows = rows[rows["family"] != without_family]
    rows = rows if factors is True else _with_factors(rows, factors or {})
    if rows.empty:
        raise ValueError("table must hold scores or tasks after filtering, got none; filter less, or run the study.")
    worked = rows[rows["failure_kind"] == FailureKind.NONE]
    found = _at_size(worked, n_rows, task_rows)
    found = found.assign(column=column_names(found))
    about = rows.drop_duplicates("model")[["model", *ABOUT]].sort_values([*ABOUT, "model"]).set_index("model")
    values = found.pivot(index="model", columns="column", values="value").reindex(about.index)[_in_order(found)]
    values.columns.name = None
    failed = _failed(rows[has_failed(rows)], found, set(worked["n_rows"]), values)
    counts = pd.DataFrame({"values": values.notna().sum(), "failed": failed})
    counts = counts.assign(absent=len(values) - counts["values"] - counts["failed"])
    compared = dict.fromkeys(found.loc[found["kind"] == AGREEMENT, "column"])
    result = ModelTable(values=values, about=about, counts=counts, per="model", agreements=tuple(compared))
    return result if row == "model" else mean_over_seeds(result)


def mean_over_seeds(models: ModelTable) -> ModelTable:
    """Return the mean of each data set, family and hyperparameter over its seeds, without missing values."""
    setting = models.about.groupby(SETTING, dropna=False, sort=True)
    about = setting.size().rename("n_models").reset_index()
    means = models.values.groupby([models.about[name] for name in SETTING], dropna=False, sort=True).mean()
    labels = pd.Index([setting_name(*line) for line in about[SETTING].itertuples(index=False)], name="setting")
    return replace(models, values=means.set_axis(labels), about=about.set_axis(labels), per="setting")


def setting_name(dataset: str, family: str, hyperparameter: float) -> str:
    """Write a setting as one word.

    Example:
        >>> setting_name("dots", "beta_vae", 4.0), setting_name("dots", "pca", float("nan"))
        ('dots/beta_vae/4', 'dots/pca')
    """
    return f"{dataset}/{family}" + ("" if np.isnan(hyperparameter) else f"/{hyperparameter:g}")


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study with empty words for none, or say what is wrong with them."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a pandas DataFrame, got {type(table).__name__}.")
    table = _in_this_layout(table)
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise ValueError(f"table must have the columns of a study, got none called {', '.join(missing)}.")
    rows = table.drop_duplicates(["key", "factor"]) if "key" in table else table
    words = {name: rows[name].astype(object).where(rows[name].notna(), "") for name in WORDS}
    value = rows["value"].astype(float)
    has_value = words["failure_kind"] == FailureKind.NONE
    rows = rows.assign(**words, value=value.where(np.isfinite(value) & has_value))
    for name, known in (("kind", KINDS), ("failure_kind", [kind.value for kind in FailureKind])):
        unknown = sorted(set(rows[name]) - set(known))
        if unknown:
            check_choice(name, unknown[0], known)
    worked = rows[has_value]
    twice = worked.duplicated(CELL)
    if twice.any():
        cell = worked.loc[twice, CELL].iloc[0]
        raise ValueError(
            f"table must have one row for each model, score and size, got two for {cell['name']} of model "
            f"{cell['model']!r} at {cell['n_rows']} rows; keep the rows of one version."
        )
    return rows


def _in_this_layout(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns of this version, also for a table of an earlier version."""
    if "strength" in table and "hyperparameter" not in table:
        words = "the column strength of the table of a study is now called hyperparameter; rename it."
        warnings.warn(words, DeprecationWarning, stacklevel=4)
        table = table.rename(columns={"strength": "hyperparameter"})
    if "null" in table and "chance" not in table:
        table = table.rename(columns={"null": "chance"})
    if "failure" not in table:
        return table
    earlier = table["failure"].astype(object).map(earlier_kind)
    known = table["failure_kind"].astype(object) if "failure_kind" in table else None
    return table.assign(failure_kind=earlier if known is None else known.where(known.notna(), earlier))


def earlier_kind(reason: str | float | None) -> FailureKind:
    """Return the kind of a failure from its reason, for tables of earlier versions, which kept the reason only.

    Example:
        >>> [earlier_kind(reason).name for reason in ("training diverged at step 7.", "no room left", "", None)]
        ['DIVERGED', 'FAILED', 'NONE', 'NONE']
    """
    if not isinstance(reason, str) or not reason:
        return FailureKind.NONE
    found = (kind for kind, beginning in EARLIER_BEGINNINGS.items() if reason.startswith(beginning))
    return next(found, FailureKind.FAILED)


def _row(per: str) -> str:
    if per == "strength":
        warnings.warn('per="strength" is now called per="setting".', DeprecationWarning, stacklevel=3)
        return "setting"
    check_choice("per", per, ("model", "setting"))
    return per


def has_failed(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows of a checked table are failures; constant codes are a finding and no failure."""
    return ~rows["failure_kind"].isin([FailureKind.NONE, FailureKind.COLLAPSED])


def column_names(rows: pd.DataFrame) -> pd.Series[str]:
    """Return the name of the column that each row has in the pivot."""
    solved = rows["predictor"].map(lambda word: f"/{word}" if word else "")
    factor = rows["factor"].map(lambda word: f"[{word}]" if word else "")
    name = rows["name"] + solved + factor
    is_task = rows["kind"] == TASK
    named = TASK_MARK + name + "@" + _sizes(rows)
    return name.where(~is_task, named)


def _sizes(rows: pd.DataFrame) -> pd.Series[str]:
    """Write sizes that all data sets of a task share as numbers, others as shares of the data set's largest."""
    n_datasets = rows.groupby(["kind", "name"])["dataset"].transform("nunique")
    shared = rows.groupby(["kind", "name", "n_rows"])["dataset"].transform("nunique") == n_datasets
    share = 100 * rows["n_rows"] / rows.groupby(["kind", "name", "dataset"])["n_rows"].transform("max")
    return rows["n_rows"].astype(str).where(shared, share.map(lambda part: f"{part:.2g}%" if part < 100 else "100%"))


def _with_factors(rows: pd.DataFrame, factors: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """Return rows of no single factor, and for each name scores that are means over its factors, if all have a value.

    Raises:
        ValueError: A factor that no row has.
    """
    parts = [rows[rows["factor"] == ""]]
    known = sorted(set(rows["factor"]) - {""})
    for name, several in factors.items():
        for factor in several:
            check_choice("factors", factor, known)
        worked = (rows["kind"] != TASK) & (rows["failure_kind"] == FailureKind.NONE)
        some = rows[rows["factor"].isin(several) & worked]
        cell = [column for column in CELL if column != "factor"]
        complete = some.groupby(cell)["value"].transform("count") == len(set(several))
        mean = some.groupby(cell)["value"].transform("mean")
        parts.append(some.assign(factor=name, value=mean)[complete].drop_duplicates(cell))
    return pd.concat(parts)


def _only(rows: pd.DataFrame, column: str, kept: Collection[str] | None, argument: str) -> pd.DataFrame:
    if kept is None:
        return rows
    names = [kept] if isinstance(kept, str) else list(kept)
    for name in names:
        check_choice(argument, name, sorted(rows[column].unique()))
    return rows[rows[column].isin(names)]


def _at_size(rows: pd.DataFrame, n_rows: int | None, task_rows: int | None) -> pd.DataFrame:
    is_task = rows["kind"] == TASK
    scores, tasks = rows[~is_task], rows[is_task]
    if n_rows is None:
        largest = scores.groupby(["dataset", "kind", "name", "predictor"])["n_rows"].transform("max")
        scores = scores[scores["n_rows"] == largest]
    else:
        _check_size("n_rows", n_rows, scores)
        scores = scores[scores["n_rows"] == n_rows]
    if task_rows is not None:
        _check_size("task_rows", task_rows, tasks)
        tasks = tasks[tasks["n_rows"] == task_rows]
    return pd.concat([scores, tasks])


def _check_size(argument: str, size: int, rows: pd.DataFrame) -> None:
    sizes = sorted(rows["n_rows"].unique())
    if size not in sizes:
        known = ", ".join(str(one) for one in sizes) or "none"
        raise ValueError(f"{argument} must be a size in the table ({known}), got {size}.")


def _in_order(rows: pd.DataFrame) -> list[str]:
    """Return columns by kind, then in the order of the catalogue of metrics, then by name and size."""
    place = {name: i for i, name in enumerate(METRICS)}
    columns = rows.drop_duplicates("column")
    keys = [
        (KINDS.index(kind), place.get(name, len(place)), name, predictor, -n, factor, column)
        for kind, name, predictor, n, factor, column in columns[
            ["kind", "name", "predictor", "n_rows", "factor", "column"]
        ].itertuples(index=False)
    ]
    return [key[-1] for key in sorted(keys)]


def _failed(failed: pd.DataFrame, found: pd.DataFrame, sizes: set[int], values: pd.DataFrame) -> pd.Series[int]:
    """Return for each column the number of models without a value and with a failure of that name.

    The row of a lost job may lack its size; its failure counts at every size that is missing.
    """
    name = ["kind", "name", "predictor", "factor"]
    columns = found[[*name, "n_rows", "column"]].drop_duplicates()
    both = failed[["model", *name, "n_rows"]].merge(columns, on=name, suffixes=("", "_column"))
    both = both[(both["n_rows"] == both["n_rows_column"]) | ~both["n_rows"].isin(sizes)]
    missing = values.isna().to_numpy()
    places = values.index.get_indexer(pd.Index(both["model"])), values.columns.get_indexer(pd.Index(both["column"]))
    lost = both.loc[missing[places]].drop_duplicates(["model", "column"])
    return lost.groupby("column").size().reindex(values.columns, fill_value=0)
