"""Findings of a study as sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from unbraid._base.text import MINUS, count, listing
from unbraid.metrics import METRICS
from unbraid.study.analysis import Analysis
from unbraid.study.analysis.groups import TIMES
from unbraid.study.analysis.matrix import Correlations, single_pairs
from unbraid.study.table import TASK_MARK

#: Predictors as nouns.
PREDICTOR_WORDS = {
    "linear": "a linear model",
    "boosting": "boosted trees",
    "forest": "a random forest",
    "mlp": "a small network",
}
#: Rank correlation between the smallest and the largest sample size below which a score has not converged.
CONVERGED = 0.9
#: Difference between Pearson's and Spearman's coefficients that is reported.
CURVED = 0.2


def bare(column: str) -> str:
    """Return a column's name without the mark of a task.

    Example:
        >>> bare("task:shape/linear@100"), bare("mig")
        ('shape/linear@100', 'mig')
    """
    return column.removeprefix(TASK_MARK)


def coefficient(value: float) -> str:
    """Write a coefficient with two decimals."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", MINUS)


def facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Return counts of models, scores and failures, as label and text."""
    about, runs = analysis.models.about, analysis.runs
    collapsed = int(runs["collapsed"].sum())
    return [
        ("Models", f"{len(about):,}" + (f", {collapsed:,} collapsed" if collapsed else "")),
        ("Families", f"{about['family'].nunique():,}"),
        ("Data sets", f"{about['dataset'].nunique():,}"),
        ("Scores", f"{len(analysis.models.scores):,}"),
        ("Tasks", f"{len(analysis.models.tasks):,}"),
        ("Measurements", f"{int(runs['measurements'].sum()):,}"),
        ("Failures", f"{int(runs['failures'].sum()):,}"),
    ]


def opening(analysis: Analysis) -> str:
    """Return the first paragraph: the strongest relation, and how many hold after correction."""
    found = main_matrix(analysis)
    if found is None:
        return "There are too few scores and tasks to correlate."
    tidy = found.tidy().dropna(subset="r")
    if tidy.empty:
        return f"No two columns could be correlated over {count(len(analysis.models.values), 'model')}."
    clear = int((tidy["p_corrected"] < analysis.level).sum())
    what = "a score and a task" if analysis.with_tasks else "two scores"
    task = in_words(str(tidy.iloc[0]["column"]))
    return (
        f"The strongest relation between {what} is {relation(tidy.iloc[0], found)}. {task}"
        f"{clear:,} of {count(found.n_tests, 'pair')} {'is' if clear == 1 else 'are'} significant "
        f"{after(found)} at a level of {analysis.level:g}."
    )


def in_words(column: str) -> str:
    """Return what the column of a task means; nothing for a score.

    Example:
        >>> in_words("task:factor:shape/forest@2800")
        'Here factor:shape/forest@2800 is the factor shape, predicted by a random forest trained on 2,800 rows. '
    """
    if not column.startswith(TASK_MARK):
        return ""
    name, _, size = bare(column).rpartition("@")
    task, _, predictor = name.rpartition("/")
    factor = task.removeprefix("factor:")
    what = f"the task {task}, solved" if factor == task else f"the factor {factor}, predicted"
    rows = f"{int(size):,} rows" if size.isdecimal() else f"{size} of the largest training set of its data set"
    return f"Here {bare(column)} is {what} by {PREDICTOR_WORDS.get(predictor, predictor)} trained on {rows}. "


def after(found: Correlations) -> str:
    """Return the correction for many tests in words."""
    names = {"holm": "Holm's", "fdr_bh": "Benjamini and Hochberg's"}
    return f"after {names[found.correct]} correction" if found.correct in names else "without any correction"


def relation(line: pd.Series[float], found: Correlations) -> str:
    """Return a pair with its coefficient in words."""
    r = float(line["r"])
    text = f"{line['row']} with {bare(str(line['column']))} (r = {coefficient(r)}"
    if np.isfinite(line["low"]):
        text += f", confidence interval {coefficient(float(line['low']))} to {coefficient(float(line['high']))}"
    return text + f", {count(int(line['n']), 'model')})"


def is_lower_better(score: str) -> bool:
    """Return whether a score, or its value for one factor, is better when lower, by the catalogue of metrics."""
    metric = METRICS.get(score.partition("[")[0])
    return metric is not None and not metric.higher_is_better


def main_matrix(analysis: Analysis) -> Correlations | None:
    """Return Pearson's matrix of scores and tasks, or of scores where there are no tasks."""
    return analysis.with_tasks.get("pearson") or analysis.between_scores.get("pearson")


def findings(analysis: Analysis) -> list[str]:
    """Return the other findings, a sentence or two each."""
    found = main_matrix(analysis)
    if found is None or found.tidy()["r"].isna().all():
        return []
    return [
        *_collapsed(analysis),
        *_predictors(analysis),
        *_without_relation(analysis, found),
        *_disagreements(analysis),
        *_among_scores(analysis),
        *_curved(analysis),
        *_not_converged(analysis),
        *found.notes,
    ]


def _collapsed(analysis: Analysis) -> Iterator[str]:
    runs = analysis.runs[analysis.runs["collapsed"] > 0]
    if runs.empty:
        return
    lines = runs.to_dict("records")
    where = listing([f"{line['collapsed']} {line['family']} on {line['dataset']}" for line in lines], 4)
    compared = any(name.startswith("udr_") for name in analysis.models.scores)
    yield (
        f"{int(runs['collapsed'].sum()):,} of {count(len(analysis.models.about), 'model')} collapsed, all their codes "
        f"constant: {where}. They have no scores and no tasks, so correlations and means are computed without them"
        + ("; their agreement with other models is 0." if compared else ".")
    )


def _predictors(analysis: Analysis) -> Iterator[str]:
    if "pearson" not in analysis.with_tasks:
        return
    tidy = analysis.with_tasks["pearson"].tidy()
    clear = tidy[tidy["p_corrected"] < analysis.level]
    best = clear.drop_duplicates("column")
    if best.empty:
        yield "No score predicts any task: no correlation is significant after correction."
        return
    by_score = {str(row): lines["column"].map(bare).tolist() for row, lines in best.groupby("row", sort=False)}
    ordered = sorted(by_score.items(), key=lambda item: -len(item[1]))
    parts = [f"{score} for {listing(tasks, 3)}" for score, tasks in ordered[:4]]
    falls = best[(best["r"] < 0) & ~best["row"].map(is_lower_better)]["column"].map(bare).tolist()
    warning = f" Models with higher scores do worse at {listing(falls, 3)}." if falls else ""
    yield f"The score most strongly related to each task: {'; '.join(parts)}.{warning}"


def _without_relation(analysis: Analysis, found: Correlations) -> Iterator[str]:
    tidy = found.tidy().dropna(subset="r")
    weak = tidy[~(tidy["p_corrected"] < analysis.level)]
    if weak.empty:
        yield f"Every pair is significant {after(found)}: compare the sizes of r, not p."
        return
    clear = found.significant(analysis.level).any(axis=1)
    idle = [str(name) for name in clear.index[~clear]]
    first = weak.iloc[0]
    text = (
        f"Not significant {after(found)}: {count(len(weak), 'pair')}, the strongest of them "
        f"{first['row']} with {bare(str(first['column']))} (r = {coefficient(float(first['r']))})."
    )
    yield text + (f" Scores without any significant relation: {listing(idle)}." if idle else "")


def _disagreements(analysis: Analysis) -> Iterator[str]:
    for (by, method), groups in analysis.groups.items():
        if method != "pearson":
            continue
        said = [text.replace(TASK_MARK, "") for text in groups.sentences(analysis.level, most=3)]
        many = {"family": "families", "dataset": "data sets"}[by]
        if not said:
            yield f"No correlation within the {many} has a significantly different sign than over all models."
            continue
        clear = groups.reversals(analysis.level).query("is_clear").drop_duplicates(["row", "column"])
        yield f"{count(len(clear), 'pair')} where {many} contradict the correlation over all models. {said[0]}"
        yield from said[1:]


def _among_scores(analysis: Analysis) -> Iterator[str]:
    found = analysis.between_scores.get("pearson")
    if found is None or not analysis.with_tasks:
        return
    tidy = found.tidy().dropna(subset="r")
    if tidy.empty:
        return
    text = f"Among scores, the strongest relation is {relation(tidy.iloc[0], found)}."
    if len(found.r) > 2:
        mean = found.r.mask(np.eye(len(found.r), dtype=bool)).mean(axis=1)
        text += f" {mean.idxmin()} correlates least with the other scores (mean r {coefficient(float(mean.min()))})."
    yield text


def _curved(analysis: Analysis) -> Iterator[str]:
    kinds = analysis.with_tasks or analysis.between_scores
    line, rank = kinds["pearson"], kinds["spearman"]
    gap = np.nan_to_num((rank.r - line.r).abs().to_numpy())
    if gap.max() < CURVED:
        return
    i, j = np.unravel_index(gap.argmax(), gap.shape)
    row, column = str(line.r.index[i]), str(line.r.columns[j])
    n = int((gap[single_pairs(list(line.r.index), list(line.r.columns))] >= CURVED).sum())
    yield (
        f"Rank correlations differ from linear ones for {count(n, 'pair')}, most for "
        f"{row} {TIMES} {bare(column)}: Pearson {coefficient(line.at(row, column).r)}, "
        f"Spearman {coefficient(rank.at(row, column).r)}. A curved relation or a few outlying models can be the cause."
    )


def _not_converged(analysis: Analysis) -> Iterator[str]:
    scores = analysis.convergence[analysis.convergence["kind"] != "task"]
    if scores.empty:
        return
    smallest = scores.loc[scores.groupby(["dataset", "column"])["n_rows"].idxmin()]
    loose = smallest[smallest["rank_correlation"] < CONVERGED].sort_values("rank_correlation")
    if loose.empty:
        yield "Every score ranks the models at its smallest sample size nearly as at its largest."
        return
    parts = [
        f"{line['column']} at {line['n_rows']:,} rows (rank correlation {coefficient(line['rank_correlation'])})"
        for line in loose.drop_duplicates("column").to_dict("records")
    ]
    yield (
        "Scores that rank the models differently at their smallest sample size than at their largest: "
        f"{listing(parts, 4)}."
    )
