"""Every computed figure of the thesis on 1800 models, drawn from a study.

From Bjøru (2021): Figures 5.3 to 5.8, 5.10 to 5.15, 6.1, 6.2, C.1, C.2 and E.1 to E.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from unbraid._base.text import count, short
from unbraid.data import load_dataset
from unbraid.report.charts import PANEL, Chart, ChartGroup, MatrixChart, Series, line_chart, matrix_chart
from unbraid.report.figure import StudyFigure, render_study_figures
from unbraid.report.grids import Cell, Grid, GridRow
from unbraid.report.study import correlation_map
from unbraid.report.study_charts import (
    family_chart,
    few_series,
    hyperparameter_places,
    p_value,
    said,
    scatter_chart,
)
from unbraid.reproduce.thesis.tables import (
    ANNEALED,
    COMPACT,
    EXPLICIT,
    FIGURE_E1,
    MODULAR,
    MODULARITY,
    PREDICTORS,
    TASKS,
    UDR,
    Models,
)
from unbraid.study import (
    Correlations,
    ModelTable,
    StudyStatus,
    against_hyperparameter,
    convergence_of_few,
    correlations,
    pivot,
)
from unbraid.study.analysis.matrix import METHODS, Method

PAPER = "Bjøru (2021), The importance of disentanglement when learning representations, master's thesis, NTNU."
#: All scores in the order of the thesis.
SCORES = (*MODULAR, MODULARITY, *COMPACT, *EXPLICIT, UDR)
SUPERVISED = SCORES[:-1]
#: Factors that Figure 5.15 takes scores of, and the scores.
FACTORS = {"shape": ("shape",), "scale": ("scale",), "position": ("x", "y"), "orientation": ("orientation",)}
BY_FACTOR = ("z1", "z2", "mig")
#: Columns of Figure E.1, for each kind of correlation.
NUMBERS = ("r", "p", "r, thesis", "p, thesis")
#: Corrected p-values below it have a star.
LEVEL = 0.05
#: Pictures of Figure 6.1, and models drawn in one scatter plot.
N_PICTURES, MOST_POINTS = 4, 240


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Study:
    """Scores and tasks of a study as figures read them.

    Attributes:
        models: All models on the data that they were trained on, with scores of single factors.
        square: The same models on data with a grey square; ``None`` where the study has none.
        square_data: Name of the data with the square.
        convergence: Scores of the first model at each number of rows.
        sizes: Training sizes of tasks, the largest first.
    """

    models: ModelTable
    square: ModelTable | None
    square_data: str
    convergence: pd.DataFrame
    sizes: tuple[str, ...]

    @property
    def others(self) -> ModelTable:
        """Models of all families but CCI-VAE."""
        return self.models.part(self.models.about["family"] != ANNEALED)

    @property
    def families(self) -> list[str]:
        """Families in the order of their colours."""
        return sorted(self.models.about["family"].unique())

    def tasks(self, *names: str, predictors: Sequence[str] = PREDICTORS, few: bool = False) -> list[str]:
        """Return the columns of tasks trained on all rows, or on few, that are there."""
        size = self.sizes[-1 if few else 0]
        every = [f"task:{name}/{one}@{size}" for name in names or TASKS for one in predictors]
        return [name for name in every if name in self.models.values]

    def scores(self, *names: str) -> list[str]:
        """Return the columns of scores that are there."""
        return [name for name in names or SCORES if name in self.models.values]


def thesis_figures(state: StudyStatus) -> list[StudyFigure]:
    """Return the figures of the thesis over the models of a study, in the order of the thesis."""
    study = _read(state)
    return [
        *_convergence(study),
        *_matrices(study),
        *_scatters(study),
        _single_factors(study, "Figure 5.15", "pearson"),
        _square(study),
        _within_families(study),
        _modularity(study),
        _all_scatters(study),
        *_hyperparameters(study),
        *_ranked(study),
    ]


def thesis_figures_page(state: StudyStatus) -> str:
    """Return one HTML page with the figures of the thesis over the models of a study."""
    found = sorted(thesis_figures(state), key=_place)
    about = _read(state).models.about
    facts = [
        ("Models", f"{len(about):,}"),
        ("Families", f"{about['family'].nunique():,}"),
        ("Data", ", ".join(sorted(about["dataset"].unique()))),
        ("Study", state.plan.study.name),
    ]
    return render_study_figures(
        found,
        name="thesis-study",
        title="Figures of the thesis",
        paper=PAPER,
        lede=state.plan.study.about.strip(),
        facts=facts,
    )


def _place(figure: StudyFigure) -> tuple[bool, str, int]:
    """Return the place of a figure in the thesis: chapters, then appendices."""
    chapter, number = figure.number.removeprefix("Figure ").split(".")
    return chapter.isalpha(), chapter, int(number)


def _read(state: StudyStatus) -> _Study:
    table, spec = state.table(), state.plan.study
    there = set(table.loc[table["kind"] != "model", "dataset"])
    data = [name for name in spec.data if name in there]
    known = set(table.loc[table["dataset"].isin(data), "factor"])
    factors = {name: parts for name, parts in FACTORS.items() if known.issuperset(parts)}
    models = pivot(table, datasets=data, factors=factors)
    elsewhere = [name for name in spec.also if name in there]
    return _Study(
        models=models,
        square=pivot(table, datasets=elsewhere) if elsewhere else None,
        square_data=elsewhere[0] if elsewhere else "",
        convergence=convergence_of_few(table[table["dataset"].isin(data)]),
        sizes=Models.of(models).sizes,
    )


def _convergence(study: _Study) -> Iterator[StudyFigure]:
    figures = {
        "Figure 5.3": ("Scores of the first model against the number of rows: DCI with forests.", EXPLICIT[1:2], 1),
        "Figure 5.4": ("Scores of the first model against the number of rows: linear DCI.", EXPLICIT[:1], 0),
    }
    for name, (caption, explicit, place) in figures.items():
        columns = [*explicit, MODULAR[4 + place], COMPACT[2 + place]]
        yield _against_rows(study, name, caption, columns)
    modular = ["z_diff", "z_min_var", "z1", "z2", "irs", MODULARITY]
    yield _against_rows(study, "Figure C.1", "Scores of the first model against the number of rows.", modular)
    others = ["mig", "sap", "explicitness", UDR]
    caption = "Scores of the first model against the number of rows; UDR is the mean over the models of its setting."
    yield _against_rows(study, "Figure C.2", caption, others)


def _against_rows(study: _Study, name: str, caption: str, columns: Sequence[str]) -> StudyFigure:
    table = study.convergence
    charts = []
    for column in columns:
        lines = table[table["column"] == column].sort_values("n_rows")
        if len(lines):
            marks = [(float(n), f"{n:,}") for n in [lines["n_rows"].iloc[0], lines["n_rows"].iloc[-1]]]
            series = [few_series(part, k) for k, (_, part) in enumerate(lines.groupby("dataset"))]
            charts.append(line_chart(series, title=column, x_label="rows", x_marks=marks, base=PANEL))
    missing = "" if charts else "The study lacks these scores, or further numbers of rows (scores.convergence)."
    return StudyFigure(number=name, caption=caption, groups=[ChartGroup(charts=charts)], missing=missing)


def _map(
    name: str,
    caption: str,
    models: ModelTable,
    rows: Sequence[str],
    columns: Sequence[str],
    method: Method = "pearson",
) -> StudyFigure:
    """Return a figure that is one matrix of correlations."""
    if not rows or not columns or not len(models.values):
        return StudyFigure(number=name, caption=caption, missing="The study lacks these models, scores or tasks.")
    found = correlations(models, rows, columns, method=method, n_bootstrap=0)
    about = f"{count(len(models.values), 'model')}. {found.summary}"
    key = name.lower().replace(" ", "-").replace(".", "-")
    grid = correlation_map(found, key=f"{key}-map", title=method.capitalize(), caption=about, level=LEVEL)
    return StudyFigure(number=name, caption=caption, maps=[grid])


def _matrices(study: _Study) -> Iterator[StudyFigure]:
    models, others = study.models, study.others
    yield _map("Figure 5.5", "Scores with scores, over all models.", models, study.scores(), study.scores())
    yield _map("Figure 5.6", "Scores with tasks, over all models.", models, study.scores(), study.tasks())
    cci = models.part(models.about["family"] == ANNEALED)
    yield _map("Figure 5.11", "UDR with tasks, over CCI-VAEs.", cci, study.scores(UDR), study.tasks())
    caption = "Scores with tasks, and in the last column with UDR, over all families but CCI-VAE."
    columns = [*study.tasks(), *study.scores(UDR)]
    yield _map("Figure 5.12", caption, others, study.scores(), columns)
    caption = "Scores with tasks, predictors trained on few rows, over all families but CCI-VAE."
    yield _map("Figure 5.13", caption, others, study.scores(), study.tasks(few=True))


def _ranked(study: _Study) -> Iterator[StudyFigure]:
    caption = "Figure 5.6 by Spearman's correlation."
    yield _map("Figure E.6", caption, study.models, study.scores(), study.tasks(), "spearman")
    caption, columns = "Figure 5.12 by Spearman's correlation.", [*study.tasks(), *study.scores(UDR)]
    yield _map("Figure E.7", caption, study.others, study.scores(), columns, "spearman")
    caption = "Figure 5.13 by Spearman's correlation."
    yield _map("Figure E.8", caption, study.others, study.scores(), study.tasks(few=True), "spearman")
    yield _single_factors(study, "Figure E.9", "spearman")


def _single_factors(study: _Study, name: str, method: Method) -> StudyFigure:
    rows = [*study.scores(UDR, *BY_FACTOR), *study.scores(*(f"{s}[{f}]" for f in FACTORS for s in BY_FACTOR))]
    caption = (
        "UDR, Z(1), Z(2) and MIG over all factors, then Z(1), Z(2) and MIG of single factors, with tasks, predictors "
        "trained on few rows, over all families but CCI-VAE. Position is the mean of x and y."
    )
    columns = study.tasks("factor:shape", "factor:scale", "position_cartesian", few=True)
    return _map(name, caption, study.others, rows, columns, method)


def _plots(study: _Study, models: ModelTable, columns: Sequence[str]) -> list[Chart]:
    """Return UDR against each column."""
    if UDR not in models.values:
        return []
    return [
        scatter_chart(models, x, UDR, caption=said(models, x, UDR), colours=study.families, most=MOST_POINTS)
        for x in columns
    ]


def _scatter_figure(study: _Study, name: str, caption: str, groups: Sequence[ChartGroup]) -> StudyFigure:
    there = [group for group in groups if group.charts]
    drawn = {layer.name for group in there for chart in group.charts if chart.kind == "lines" for layer in chart.layers}
    return StudyFigure(
        number=name,
        caption=caption,
        groups=there,
        legend=[(k, family) for k, family in enumerate(study.families) if family in drawn],
        missing="" if there else "The study lacks UDR, or these columns.",
    )


def _scatters(study: _Study) -> Iterator[StudyFigure]:
    models, others = study.models, study.others
    figures = {"Figure 5.7": TASKS[:2], "Figure 5.8": TASKS[2:]}
    for name, tasks in figures.items():
        groups = [ChartGroup(title=task, charts=_plots(study, models, study.tasks(task))) for task in tasks]
        yield _scatter_figure(study, name, "UDR against tasks, over all models.", groups)
    group = ChartGroup(charts=_plots(study, models, study.scores(*BY_FACTOR)))
    yield _scatter_figure(study, "Figure 5.10", "UDR against Z(1), Z(2) and MIG, over all models.", [group])
    columns = study.tasks("factor:shape", "factor:scale", predictors=["linear"], few=True)
    caption = "UDR against linear prediction of shape and size from few rows, over all families but CCI-VAE."
    yield _scatter_figure(study, "Figure 5.14", caption, [ChartGroup(charts=_plots(study, others, columns))])


def _all_scatters(study: _Study) -> StudyFigure:
    group = ChartGroup(charts=_plots(study, study.models, study.scores(*SUPERVISED)))
    return _scatter_figure(study, "Figure E.2", "UDR against every supervised score, over all models.", [group])


def _square(study: _Study) -> StudyFigure:
    """UDR against predicting the place of a grey square that no model was trained on, both on pictures with it."""
    caption = "UDR against prediction of the place of a grey square that no model was trained on; CCI-VAE is left out."
    if study.square is None:
        missing = "The study encodes no data with a grey square."
        return StudyFigure(number="Figure 6.1", caption=caption, missing=missing)
    models = study.square.part(study.square.about["family"] != ANNEALED)
    columns = [name for name in models.tasks if name.startswith("task:square/")]
    groups = [
        ChartGroup(title="Pictures", charts=_pictures(study.square_data)),
        ChartGroup(title="Models", charts=_plots(study, models, columns)),
    ]
    return _scatter_figure(study, "Figure 6.1", caption, groups)


def _pictures(name: str) -> list[MatrixChart]:
    data = load_dataset(name)
    rows = np.linspace(0, len(data) - 1, N_PICTURES + 2).round().astype(int)[1:-1]
    pictures = data.observations(rows).mean(axis=1)
    return [matrix_chart(one, title=f"row {row:,}", caption="") for row, one in zip(rows, pictures, strict=True)]


def _within_families(study: _Study) -> StudyFigure:
    caption = "UDR against logistic regression of shape from few rows, a colour for each hyperparameter of a family."
    columns = study.tasks("factor:shape", predictors=["linear"], few=True)
    if not columns or UDR not in study.models.values:
        return StudyFigure(number="Figure 6.2", caption=caption, missing="The study lacks UDR, or this task.")
    charts = [family_chart(study.models, family, columns[0], UDR, most=MOST_POINTS) for family in study.families]
    return StudyFigure(
        number="Figure 6.2",
        caption=caption,
        groups=[ChartGroup(charts=charts)],
        legend=hyperparameter_places(study.models),
    )


def _modularity(study: _Study) -> StudyFigure:
    """Modularity with every other score, with p-values, beside the printed ones."""
    caption = (
        "Modularity with every other score, over all models, with p-values of no correlation, beside those printed."
    )
    rows = study.scores(*FIGURE_E1)
    if MODULARITY not in study.models.values or not rows:
        return StudyFigure(number="Figure E.1", caption=caption, missing="The study lacks Modularity.")
    both = [correlations(study.models, rows, [MODULARITY], method=method, n_bootstrap=0) for method in METHODS]
    grid = Grid(
        key="figure-e-1-map",
        title="Modularity",
        caption=count(len(study.models.values), "model"),
        corner="score by number",
        columns=tuple(f"{one} {what}" for one in ("Pearson", "Spearman") for what in NUMBERS),
        rows=tuple(GridRow(name=row, cells=tuple(_printed(both, row))) for row in rows),
    )
    return StudyFigure(number="Figure E.1", caption=caption, maps=[grid])


def _printed(both: Sequence[Correlations], row: str) -> Iterator[Cell]:
    for found, (paper, p) in zip(both, FIGURE_E1[row], strict=True):
        at = found.at(row, MODULARITY)
        shade = None if np.isnan(at.r) else round(100 * min(1.0, abs(at.r)))
        yield Cell(text=short(at.r), exact=f"{at.r:.4f}", shade=shade, is_negative=at.r < 0)
        yield Cell(text=p_value(at.p))
        yield Cell(text=short(paper))
        yield Cell(text=str(p))


def _hyperparameters(study: _Study) -> Iterator[StudyFigure]:
    table = against_hyperparameter(study.models)
    figures = {
        "Figure E.3": ("modularity", (*MODULAR, MODULARITY)),
        "Figure E.4": ("compactness", COMPACT),
        "Figure E.5": ("explicitness", EXPLICIT),
    }
    for name, (what, scores) in figures.items():
        columns = study.scores(*scores)
        charts = [_profile(table[table["family"] == family], family, columns) for family in study.families]
        yield StudyFigure(
            number=name,
            caption=f"Mean over seeds of scores of {what} against the hyperparameter, for each family.",
            groups=[ChartGroup(charts=charts)],
            legend=list(enumerate(columns)),
            has_lines=True,
        )


def _profile(table: pd.DataFrame, family: str, columns: Sequence[str]) -> Chart:
    series = [
        Series(
            name=column,
            colour=k,
            x=lines["hyperparameter"].to_numpy(float),
            y=lines["mean"].to_numpy(float),
        )
        for k, column in enumerate(columns)
        for lines in [table[table["column"] == column].sort_values("hyperparameter")]
    ]
    return line_chart(series, title=family, x_label="hyperparameter", base=PANEL)
