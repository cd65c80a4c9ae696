"""Schema; long and wide."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from unbraid._base.checks import check_choice
from unbraid.metrics import METRICS

#: What a row is a measurement of.
SCORE, TASK, AGREEMENT, MODEL = "score", "task", "agreement", "model"
#: How the reason begins for a model that would fail again however often it is tried.
DIVERGED = "training diverged"
#: How the reason begins for a number that is not there because codes are constant: nothing failed, or is tried again.
COLLAPSED = "collapsed:"
#: The reason for every number of a model whose codes are all constant.
NOTHING_TO_MEASURE = f"{COLLAPSED} all codes are constant, so there is nothing to measure."

#: Columns of the table.
#:
#: ``key`` is a hash of everything that produced the row; ``model`` of what made the codes. ``dataset``, ``family``,
#: ``strength`` (a number; NaN for a family without) and ``seed`` say which model it is. ``kind`` is ``"score"``,
#: ``"task"``, ``"agreement"`` (with other models) or ``"model"`` (its loss after training); ``name`` is the metric's
#: or the task's, ``predictor`` what solved a task. ``factor`` is empty in the row for the whole; ``n_rows`` are the
#: rows scored or learned from. ``value`` is NaN where ``failure`` gives a reason, which begins with ``"collapsed:"``
#: where nothing failed but codes are constant.
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("model", pa.string()),
        ("dataset", pa.string()),
        ("family", pa.string()),
        ("strength", pa.float64()),
        ("seed", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("predictor", pa.string()),
        ("factor", pa.string()),
        ("n_rows", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("null", pa.float64()),
        ("failure", pa.string()),
        ("seconds", pa.float64()),
        ("version", pa.string()),
    ]
)


def empty_table() -> pd.DataFrame:
    """Return a table of a study without rows."""
    table: pd.DataFrame = SCHEMA.empty_table().to_pandas()
    return table


NEEDED = (
    *("model", "dataset", "family", "strength", "seed", "kind", "name", "predictor", "factor"),
    *("n_rows", "value", "failure"),
)
WORDS = ("model", "dataset", "family", "kind", "name", "predictor", "factor", "failure")
ABOUT = ["dataset", "family", "strength", "seed"]
SETTING = ["dataset", "family", "strength"]
CELL = ["model", "kind", "name", "predictor", "factor", "n_rows"]
KINDS = (SCORE, AGREEMENT, TASK, MODEL)
TASK_MARK = "task:"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wide:
    """Scores and tasks side by side.

    Attributes:
        values: One line for each model (or setting), one column for each score and task; NaN where there is no number.
        about: For each line its ``dataset``, ``family``, ``strength`` and ``seed``; or, averaged over seeds,
            ``n_models`` instead of the seed.
        counts: For each column how many models have a value (``values``), ``failed``, or have none for another reason
            (``absent``), such as codes that are all constant.
        per: What a line is: ``"model"`` or ``"strength"``.
    """

    values: pd.DataFrame
    about: pd.DataFrame
    counts: pd.DataFrame
    per: str

    @property
    def scores(self) -> list[str]:
        """Columns that are scores or agreements."""
        return [str(name) for name in self.values if not str(name).startswith(TASK_MARK)]

    @property
    def tasks(self) -> list[str]:
        """Columns that are tasks."""
        return [str(name) for name in self.values if str(name).startswith(TASK_MARK)]

    def part(self, lines: pd.Series[bool]) -> Wide:
        """Return only some lines; counts stay those of the whole."""
        return Wide(values=self.values[lines], about=self.about[lines], counts=self.counts, per=self.per)


def wide(
    table: pd.DataFrame,
    *,
    per: Literal["model", "strength"] = "model",
    n_rows: int | None = None,
    task_rows: int | None = None,
    families: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    without_family: str | None = None,
    factors: bool = False,
) -> Wide:
    """Put scores and tasks of a study side by side, a line for each model.

    A score's column is called by its name, ``mig``; a task's by what is predicted, with what and from how many rows,
    ``task:position_polar/linear@1000``. Where data sets differ in a number of rows, it is given as a share of the data
    set's largest, ``@100%``, so that a column has an entry for each of them.

    Args:
        table: The tidy table of a study, a row for each number.
        per: ``"model"``, or ``"strength"`` for the mean over the seeds of each data set, family and strength.
        n_rows: Scores at so many rows; ``None`` takes, for each data set and score, the most there are.
        task_rows: Tasks learned from so many rows only; ``None`` keeps a column for each.
        families: Only these.
        datasets: Only these.
        without_family: All but this.
        factors: Whether to add a column for each factor where a score has them, ``mig[shape]``.

    Returns:
        Values, what each line is, and how many models failed. What failed for every model has no column. Lines and
        columns come in an order that does not depend on the order of the table; a value that is not finite is missing.

    Raises:
        ValueError: Columns are missing, a filter leaves nothing, or a model has two rows for one score.
    """
    check_choice("per", per, ("model", "strength"))
    rows = check_table(table)
    rows = rows[rows["kind"] != MODEL]
    rows = _only(rows, "family", families, "families")
    rows = _only(rows, "dataset", datasets, "datasets")
    if without_family is not None:
        check_choice("without_family", without_family, sorted(rows["family"].unique()))
        rows = rows[rows["family"] != without_family]
    rows = rows if factors else rows[rows["factor"] == ""]
    if rows.empty:
        raise ValueError("table must hold scores or tasks after filtering, got none; filter less, or run the study.")
    worked = rows[rows["failure"] == ""]
    found = _at_size(worked, n_rows, task_rows)
    found = found.assign(column=column_names(found))
    about = rows.drop_duplicates("model")[["model", *ABOUT]].sort_values([*ABOUT, "model"]).set_index("model")
    values = found.pivot(index="model", columns="column", values="value").reindex(about.index)[_in_order(found)]
    values.columns.name = None
    failed = _failed(rows[has_failed(rows)], found, set(worked["n_rows"]), values)
    counts = pd.DataFrame({"values": values.notna().sum(), "failed": failed})
    counts = counts.assign(absent=len(values) - counts["values"] - counts["failed"])
    result = Wide(values=values, about=about, counts=counts, per="model")
    return result if per == "model" else mean_over_seeds(result)


def mean_over_seeds(models: Wide) -> Wide:
    """Return the mean of each data set, family and strength over its seeds, leaving out what is missing."""
    setting = models.about.groupby(SETTING, dropna=False, sort=True)
    about = setting.size().rename("n_models").reset_index()
    means = models.values.groupby([models.about[name] for name in SETTING], dropna=False, sort=True).mean()
    labels = pd.Index([setting_name(*line) for line in about[SETTING].itertuples(index=False)], name="setting")
    return Wide(values=means.set_axis(labels), about=about.set_axis(labels), counts=models.counts, per="strength")


def setting_name(dataset: str, family: str, strength: float) -> str:
    """Write a setting as one word.

    Example:
        >>> setting_name("dots", "beta_vae", 4.0), setting_name("dots", "pca", float("nan"))
        ('dots/beta_vae/4', 'dots/pca')
    """
    return f"{dataset}/{family}" + ("" if np.isnan(strength) else f"/{strength:g}")


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a study with empty words for none, or say what is wrong with them."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a pandas DataFrame, got {type(table).__name__}.")
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise ValueError(f"table must have the columns of a study, got none called {', '.join(missing)}.")
    rows = table.drop_duplicates(["key", "factor"]) if "key" in table else table
    words = {name: rows[name].astype(object).where(rows[name].notna(), "") for name in WORDS}
    value = rows["value"].astype(float)
    rows = rows.assign(**words, value=value.where(np.isfinite(value) & (words["failure"] == "")))
    unknown = sorted(set(rows["kind"]) - set(KINDS))
    if unknown:
        check_choice("kind", unknown[0], KINDS)
    worked = rows[rows["failure"] == ""]
    twice = worked.duplicated(CELL)
    if twice.any():
        cell = worked.loc[twice, CELL].iloc[0]
        raise ValueError(
            f"table must have one row for each model, score and size, got two for {cell['name']} of model "
            f"{cell['model']!r} at {cell['n_rows']} rows; keep the rows of one version."
        )
    return rows


def has_failed(rows: pd.DataFrame) -> pd.Series[bool]:
    """Tell which rows of a checked table are failures; that codes are constant is a finding and none."""
    return (rows["failure"] != "") & ~rows["failure"].str.startswith(COLLAPSED)


def column_names(rows: pd.DataFrame) -> pd.Series[str]:
    """Return what each row's column is called, once models are lines."""
    solved = rows["predictor"].map(lambda word: f"/{word}" if word else "")
    factor = rows["factor"].map(lambda word: f"[{word}]" if word else "")
    name = rows["name"] + solved + factor
    is_task = rows["kind"] == TASK
    named = TASK_MARK + name + "@" + _sizes(rows)
    return name.where(~is_task, named)


def _sizes(rows: pd.DataFrame) -> pd.Series[str]:
    """Write sizes that all data sets share as numbers, others as shares of the data set's largest."""
    n_datasets = rows["dataset"].nunique()
    shared = rows.groupby(["kind", "name", "n_rows"])["dataset"].transform("nunique") == n_datasets
    share = 100 * rows["n_rows"] / rows.groupby(["kind", "name", "dataset"])["n_rows"].transform("max")
    return rows["n_rows"].astype(str).where(shared, share.map(lambda part: f"{part:.2g}%" if part < 100 else "100%"))


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
    """Return columns by kind, then as the catalogue of metrics has them, then by name and size."""
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
    """Return for each column how many models have no value, and a failure of that name to show for it.

    A job that was lost may not know the size it would have had; its failure counts at every size that is missing.
    """
    name = ["kind", "name", "predictor", "factor"]
    columns = found[[*name, "n_rows", "column"]].drop_duplicates()
    both = failed[["model", *name, "n_rows"]].merge(columns, on=name, suffixes=("", "_column"))
    both = both[(both["n_rows"] == both["n_rows_column"]) | ~both["n_rows"].isin(sizes)]
    missing = values.isna().to_numpy()
    places = values.index.get_indexer(pd.Index(both["model"])), values.columns.get_indexer(pd.Index(both["column"]))
    lost = both.loc[missing[places]].drop_duplicates(["model", "column"])
    return lost.groupby("column").size().reindex(values.columns, fill_value=0)
