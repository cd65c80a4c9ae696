import numpy as np
import pytest

from helpers.reports import record, subspaces
from unbraid import Score
from unbraid._base.text import MISSING
from unbraid.report import render_page
from unbraid.report.charts import MOST_CHARTS, TOP
from unbraid.report.grids import MAX_PAIRED, factor_factor_maps
from unbraid.report.sections import AXES_BASE, MAX_AXES, loss_grid, make_curves, weight_grid

LOSSES = ([1.0, 0.25], [1.0, 0.5, 0.0])
WEIGHTS = ([1.0], [0.5, 0.5])
SHARED = 0.25 * np.sqrt(2)
BASES = (np.sqrt([[SHARED], [0.0], [1 - SHARED]]), np.eye(3)[:, :2])


def fitted(losses=LOSSES, weights=WEIGHTS, bases=BASES, names=("iwo", "iwr")):
    scores = {name: Score(value=0.5) for name in names}
    return {"scores": scores, "evidence": (record(subspaces(bases, weights, losses), *names),)}


def dots(chart):
    (layer,) = chart.layers
    return layer.marks


def test_one_small_chart_for_each_factor(make_report):
    curves = make_curves(make_report(**fitted()))
    assert curves is not None
    assert [chart.title for chart in curves.charts] == ["shape", "size"]
    assert [len(dots(chart)) for chart in curves.charts] == [2, 3]
    assert [len(chart.bars) for chart in curves.charts] == [1, 2]
    assert [[tick.text for tick in chart.x_ticks] for chart in curves.charts] == [["0", "1", "2"]] * 2


def test_marks_stand_where_their_shares_are(make_report):
    curves = make_curves(make_report(**fitted()))
    assert curves is not None
    height = AXES_BASE - TOP
    first, second = curves.charts
    assert [dot.y for dot in dots(first)] == pytest.approx([TOP, AXES_BASE - 0.25 * height])
    assert [bar.y for bar in second.bars] == pytest.approx([AXES_BASE - 0.5 * height] * 2)
    assert [bar.y + bar.height for bar in second.bars] == pytest.approx([AXES_BASE] * 2)
    places = [tick.place for tick in second.x_ticks]
    assert [dot.x for dot in dots(second)] == places
    assert [bar.x + bar.width / 2 for bar in second.bars] == pytest.approx(places[1:], abs=0.02)


def test_charts_say_what_they_show(make_report):
    curves = make_curves(make_report(**fitted()))
    assert curves is not None
    assert (
        curves.charts[1].description
        == "size. Loss left: 0.50 with 1 axis and 0.00 with 2 axes. Weights: 0.50 and 0.50."
    )
    assert dots(curves.charts[0])[1].tip == "shape: 0.25 of the loss left with 1 axis"
    assert curves.charts[0].bars[0].tip == "shape: axis 1 has weight 1.00"


def test_a_factor_that_nothing_is_known_about(make_report):
    curves = make_curves(make_report(**fitted([[1.0]], [np.full(3, 1 / 3)], [np.eye(3)]), factors=("noise",)))
    assert curves is not None
    assert curves.charts[0].description == "noise. Loss left: all. Weights: 0.33, 0.33 and 0.33."
    assert len(curves.charts[0].bars) == 1


def test_losses_above_the_first_stay_inside(make_report):
    curves = make_curves(make_report(**fitted([[1.0, 1.2]], [[1.0]], [np.eye(3)[:, :1]]), factors=("shape",)))
    assert curves is not None
    assert [dot.y for dot in dots(curves.charts[0])] == [TOP, TOP]


def test_the_same_numbers_as_tables(make_report):
    losses, weights = loss_grid(make_report(**fitted())), weight_grid(make_report(**fitted()))
    assert losses is not None
    assert weights is not None
    assert losses.columns == ("0", "1", "2")
    assert [[cell.text for cell in row.cells] for row in losses.rows] == [
        ["1.00", "0.25", MISSING],
        ["1.00", "0.50", "0.00"],
    ]
    assert weights.columns == ("axis 1", "axis 2")
    assert [[cell.text for cell in row.cells] for row in weights.rows] == [["1.00", MISSING], ["0.50", "0.50"]]


def test_many_factors_and_axes_are_cut_and_it_is_said(make_report):
    n_factors, n_axes = MOST_CHARTS + 5, MAX_AXES + 14
    losses, weights = [np.linspace(1, 0, n_axes + 1)] * n_factors, [np.full(n_axes, 1 / n_axes)] * n_factors
    report = make_report(
        **fitted(losses, weights, [np.eye(n_axes)] * n_factors),
        factors=tuple(f"f{k}" for k in range(n_factors)),
    )
    curves = make_curves(report)
    assert curves is not None
    assert (len(curves.charts), len(curves.charts[0].bars)) == (MOST_CHARTS, MAX_AXES)
    assert curves.left_out == "Shown: the first 40 of 45 factors and the first 16 of 30 axes."
    (grid,) = factor_factor_maps(report)
    assert len(grid.rows) == len(grid.columns) == MAX_PAIRED
    assert grid.left_out == "Shown: the first 40 of 45 factors."


def test_pairs_of_factors(make_report):
    iwo, orthogonality = factor_factor_maps(make_report(**fitted(names=("iwo", "orthogonality"))))
    assert iwo.columns == tuple(row.name for row in iwo.rows) == ("shape", "size")
    assert [[cell.text for cell in row.cells] for row in iwo.rows] == [[MISSING, "0.75"], ["0.75", MISSING]]
    assert iwo.rows[0].cells[1].shade == 75
    assert [[cell.text for cell in row.cells] for row in orthogonality.rows] == [[MISSING, "0.35"], ["0.35", MISSING]]


def test_nothing_without_evidence(make_report):
    report = make_report({"iwo": Score(value=0.5), "mig": Score(value=0.5)})
    assert (make_curves(report), loss_grid(report), weight_grid(report)) == (None, None, None)
    assert factor_factor_maps(report) == []
    assert 'id="subspaces"' not in render_page(report)


def test_the_page_shows_charts_with_names_as_text(make_report):
    page = render_page(make_report(**fitted(), factors=("<img src=x>", "size")))
    assert page.count('<svg class="chart"') == 2
    assert "<img" not in page
    assert "&lt;img src=x&gt;: 0.25 of the loss left with 1 axis" in page
    assert 'href="#subspaces"' in page
    assert 'id="map-iwo"' in page


def test_scores_that_carry_only_the_curves_show_only_the_curves(make_report):
    page = render_page(make_report(**fitted(names=("iwr",))))
    assert 'id="map-iwo"' not in page
    assert "How many axes each factor needs" in page
