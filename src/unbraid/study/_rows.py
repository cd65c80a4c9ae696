"""The one table of a study: a row for each number."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

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
