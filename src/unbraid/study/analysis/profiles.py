"""Profiles: columns against the hyperparameter, against the sample size, and against each other."""

from __future__ import annotations

import numpy as np
import pandas as pd

from unbraid._base.checks import check_choice
from unbraid.study.table import MODEL, SETTING, TASK, TASK_MARK, FailureKind, ModelTable, check_table


def against_hyperparameter(models: ModelTable) -> pd.DataFrame:
    """Return every column's mean and spread over seeds, for each data set, family and hyperparameter.

    Returns:
        ``dataset``, ``family``, ``hyperparameter``, ``place`` (rank of the hyperparameter in the family, from 1),
        ``column``, ``mean``, ``std`` (of single models, n − 1 in its denominator), ``low`` and ``high`` (the
        extremes), ``n``.
    """
    keyed = pd.concat([models.about[SETTING], models.values], axis=1)
    long = keyed.melt(id_vars=SETTING, var_name="column", value_name="value")
    groups = long.groupby([*SETTING, "column"], dropna=False, sort=False)["value"]
    found = groups.agg(mean="mean", std="std", low="min", high="max", n="count").reset_index()
    values = found.groupby(["dataset", "family"])["hyperparameter"]
    found.insert(3, "place", values.rank(method="dense").fillna(1).astype(int))
    order = {name: k for k, name in enumerate(models.values)}
    found["at"] = found["column"].map(order)
    return found.sort_values(["at", *SETTING]).drop(columns="at").reset_index(drop=True)


def convergence(table: pd.DataFrame) -> pd.DataFrame:
    """Return how each score and task converges with the sample size, over all models.

    Returns:
        A row for each data set, column and size, for columns with at least two sizes that at least half of the models
        were measured at:
        ``dataset``, ``kind``, ``column``, ``n_rows``, ``models`` (with a value at this and at the largest size),
        ``mean``, ``change`` (mean of the value minus that at the largest size), ``absolute_change`` (mean of its size),
        ``ratio`` (of the mean to the mean at the largest size) and ``rank_correlation`` (Spearman's, with the values at
        the largest size: whether the order of the models is the same).

    See Also:
        :func:`convergence_of_few`, for sizes that few models were measured at.
    """
    rows, common = _by_size(table)
    rows = rows[common]
    lines = [
        dict(zip(COLUMN, key, strict=True)) | line
        for key, part in rows.groupby(COLUMN, sort=True)
        if part["n_rows"].nunique() > 1
        for line in _converging(part.pivot(index="model", columns="n_rows", values="value"))
    ]
    names = ["models", "mean", "change", "absolute_change", "ratio", "rank_correlation"]
    return pd.DataFrame(lines, columns=[*COLUMN, "n_rows", *names])


def convergence_of_few(table: pd.DataFrame) -> pd.DataFrame:
    """Return how each score converges with the sample size, of the models that were measured at further sizes.

    Returns:
        A row for each data set, column and size, for columns with sizes that fewer than half of the models were
        measured at: ``dataset``, ``kind``, ``column``, ``family``, ``hyperparameter``, ``n_rows``, ``models`` (measured
        at every size) and ``mean`` over them.

    References:
        The importance of disentanglement when learning representations (thesis), Figures 5.3, 5.4, C.1 and C.2.
    """
    rows, common = _by_size(table)
    lines = []
    for key, part in rows.groupby(COLUMN, sort=True):
        if common[part.index].all():
            continue
        complete = part.pivot(index="model", columns="n_rows", values="value").dropna()
        about = part.drop_duplicates("model").set_index("model").loc[complete.index, SETTING[1:]].drop_duplicates()
        unknown = {"family": "", "hyperparameter": np.nan}
        setting = {name: about[name].iloc[0] if len(about) == 1 else none for name, none in unknown.items()}
        found = zip(complete.columns, complete.mean(), strict=True) if len(complete) else ()
        models = {"models": len(complete)}
        lines += [
            dict(zip(COLUMN, key, strict=True)) | setting | {"n_rows": size, "mean": mean} | models
            for size, mean in found
        ]
    return pd.DataFrame(lines, columns=[*COLUMN, "family", "hyperparameter", "n_rows", "models", "mean"])


#: What identifies a column among data sets.
COLUMN = ["dataset", "kind", "column"]


def _by_size(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series[bool]]:
    """Return values of whole scores and tasks, and which are at sizes that at least half of the models have."""
    rows = check_table(table)
    rows = rows[(rows["factor"] == "") & (rows["kind"] != MODEL)]
    solved = rows["predictor"].map(lambda word: f"/{word}" if word else "")
    mark = rows["kind"].map(lambda kind: TASK_MARK if kind == TASK else "")
    rows = rows.assign(column=mark + rows["name"] + solved)
    measured = rows.groupby([*COLUMN, "n_rows"])["model"].transform("nunique")
    common = 2 * measured >= rows.groupby(COLUMN)["model"].transform("nunique")
    worked = rows["failure_kind"] == FailureKind.NONE
    return rows[worked], common[worked]


def scatter(models: ModelTable, x: str, y: str) -> pd.DataFrame:
    """Return two columns with the identity of each model, for models that have both values.

    Raises:
        ValueError: An unknown column.
    """
    for argument, name in (("x", x), ("y", y)):
        check_choice(argument, name, [str(known) for known in models.values])
    both = models.about.assign(x=models.values[x], y=models.values[y])
    return both[both["x"].notna() & both["y"].notna()].reset_index()


def _converging(by_size: pd.DataFrame) -> list[dict[str, object]]:
    sizes = sorted(by_size.columns)
    final = by_size[sizes[-1]]
    found = []
    for size in sizes:
        both = pd.DataFrame({"now": by_size[size], "final": final}).dropna()
        change = both["now"] - both["final"]
        whole = float(both["final"].mean()) if len(both) else np.nan
        found.append(
            {
                "n_rows": size,
                "models": len(both),
                "mean": both["now"].mean(),
                "change": change.mean(),
                "absolute_change": change.abs().mean(),
                "ratio": both["now"].mean() / whole if whole else np.nan,
                "rank_correlation": _rank_correlation(both),
            }
        )
    return found


def _rank_correlation(both: pd.DataFrame) -> float:
    ranks = both.rank()
    if len(both) < 2 or (ranks.nunique() < 2).any():
        return float("nan")
    return float(np.corrcoef(ranks["now"], ranks["final"])[0, 1])
