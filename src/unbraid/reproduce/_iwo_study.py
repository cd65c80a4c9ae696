"""The study of orthogonality: which scores tell how well factors can be predicted from codes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from unbraid.reproduce._iwo_study_tables import (
    DATASETS,
    FAMILIES,
    PREDICTORS,
    SCORES,
    TABLE_2A,
    TABLE_2B,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_7,
)
from unbraid.reproduce._studies import Scale
from unbraid.reproduce._study_result import StudyLine, StudyTables
from unbraid.study import State, cell_correlations, mean_correlations, wide

WHOLE, SEGMENTATION = "factors_as_classes", "segmentation"


def iwo_tables(state: State, scale: Scale) -> StudyTables:
    """Return the correlations of scores with tasks, over strengths, as the paper's tables have them."""
    table = state.table()
    cells = _cells(table, shares=(1.0, 0.5, 0.1))
    whole = cells[cells["share"] == 1.0]
    lines = [
        *_means("Table 2a", "family", TABLE_2A, whole),
        *(_means("Table 2b", "dataset", TABLE_2B, whole) if scale == "full" else ()),
        *(_single(whole) if scale == "full" else ()),
        *_means("Table 7", "family", TABLE_7, whole),
        *(_small_norb(cells) if scale == "full" else ()),
        *(_segmentation(table) if scale == "full" else ()),
    ]
    return StudyTables(
        study="iwo",
        scale=scale,
        n_models=table["model"].nunique(),
        n_failed=len(state.failed_models) + len(state.missing),
        lines=tuple(lines),
    )


def _cells(table: pd.DataFrame, shares: tuple[float, ...]) -> pd.DataFrame:
    """Correlate over strengths, for each data set, family and share of the rows; scores and tasks at that share."""
    whole = table[table["factor"] == ""]
    parts = []
    for dataset, rows in whole.groupby("dataset"):
        tasks = rows[(rows["kind"] == "task") & (rows["name"] == WHOLE)]
        scores = rows[rows["kind"] == "score"]
        for share, n_scored, n_learned in zip(shares, _sizes(scores), _sizes(tasks), strict=False):
            kept = pd.concat([scores[scores["n_rows"] == n_scored], tasks[tasks["n_rows"] == n_learned]])
            settings = wide(kept, per="strength")
            found = cell_correlations(settings, settings.scores, settings.tasks, correct="none")
            predictor = found["column"].str.extract(r"/(\w+)@", expand=False)
            parts.append(found.assign(dataset=dataset, share=share, column=predictor))
    return pd.concat(parts, ignore_index=True)


def _sizes(rows: pd.DataFrame) -> list[int]:
    """Return numbers of rows, the largest first."""
    return sorted(rows["n_rows"].unique(), reverse=True)


def _means(
    where: str, by: str, published: dict[tuple[str, str], tuple[float, ...]], cells: pd.DataFrame
) -> list[StudyLine]:
    """Average correlations by family or data set, beside a table whose rows are those and whose columns are scores."""
    means = mean_correlations(cells, by=by).set_index([by, "row", "column"])["mean"]  # type: ignore[arg-type]
    names = FAMILIES if by == "family" else DATASETS
    return [
        StudyLine(
            table=where,
            group=group,
            task=task,
            score=score,
            paper=paper,
            ours=_value(means, (names[group], SCORES[score], PREDICTORS[task])),
        )
        for (task, group), row in published.items()
        for score, paper in zip(_columns(where), row, strict=True)
    ]


def _single(cells: pd.DataFrame) -> list[StudyLine]:
    """Return every correlation over the strengths of a data set and family (Table 3)."""
    found = cells.set_index(["dataset", "family", "row", "column"])["r"]
    return [
        StudyLine(
            table="Table 3",
            group=f"{group}, {dataset}",
            task=task,
            score=score,
            paper=paper,
            ours=_value(found, (DATASETS[dataset], FAMILIES[group], SCORES[score], PREDICTORS[task])),
        )
        for (task, dataset, group), row in TABLE_3.items()
        for score, paper in zip(_columns("Table 3"), row, strict=True)
    ]


def _columns(where: str) -> tuple[str, ...]:
    return ("IWO", "IWR", "O") if where == "Table 7" else ("DCI-D", "DCI-C", "MIG", "IWO", "IWR")


def _small_norb(cells: pd.DataFrame) -> list[StudyLine]:
    """Return correlations on smallNORB from all, half and a tenth of the rows (Table 4)."""
    found = cells[cells["dataset"] == DATASETS["smallNORB"]].set_index(["share", "family", "row", "column"])["r"]
    columns = [(score, task) for score in ("IWO", "IWR") for task in ("logistic regression", "random forest")]
    return [
        StudyLine(
            table="Table 4",
            group=f"{group}, {share:.0%}",
            task=task,
            score=score,
            paper=paper,
            ours=_value(found, (share, FAMILIES[group], SCORES[score], PREDICTORS[task])),
        )
        for (share, group), row in TABLE_4.items()
        for (score, task), paper in zip(columns, row, strict=True)
    ]


def _segmentation(table: pd.DataFrame) -> list[StudyLine]:
    """Return correlations with segmenting the sprite on a texture (Table 5)."""
    rows = table[(table["factor"] == "") & (table["dataset"] == DATASETS["Scream dSprites"])]
    settings = wide(rows[(rows["kind"] == "score") | (rows["name"] == SEGMENTATION)], per="strength")
    cells = cell_correlations(settings, settings.scores, settings.tasks, correct="none")
    found = cells.set_index(["family", "row"])["r"]
    return [
        StudyLine(
            table="Table 5",
            group=group,
            task=SEGMENTATION,
            score=score,
            paper=paper,
            ours=_value(found, (FAMILIES[group], SCORES[score])),
        )
        for group, row in TABLE_5.items()
        for score, paper in zip(_columns("Table 5"), row, strict=True)
    ]


def _value(found: pd.Series[float], key: tuple[Any, ...]) -> float | None:
    value = found.get(key)
    return None if value is None or pd.isna(value) else float(value)
