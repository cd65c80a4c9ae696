import re

import numpy as np
import pytest

from helpers.reports import record
from unbraid import Score
from unbraid._base.text import EN_DASH
from unbraid.evidence.loss_capacity import CapacityCurves
from unbraid.report import render_page
from unbraid.report.charts import MOST_CHARTS, TOP
from unbraid.report.loss_curves import HEADROOM, MAX_OVERLAID, MEAN, SMALL, draw_losses, loss_tables


@pytest.fixture
def report(make_report, curve_parts):
    return make_report(**curve_parts())


def points(text):
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[ML]([\d.]+ [\d.]+)", text)]


def test_a_chart_for_each_factor_and_one_for_their_mean(report):
    (charts,) = draw_losses({"mine": report})
    assert charts.axis == "depth"
    assert [chart.title for chart in charts.charts] == ["shape", "size"]
    assert charts.mean.title == MEAN
    assert [len(chart.layers) for chart in (charts.mean, *charts.charts)] == [1, 1, 1]
    assert charts.left_out == ""


def test_marks_lines_and_bands_stand_where_the_losses_are(report):
    (charts,) = draw_losses({"mine": report})
    chart = charts.charts[0]
    (guess, label), (line,) = chart.levels[0], chart.layers
    height = (chart.base - guess) / 0.8
    assert label == "0.80"
    assert [place.y for place in line.marks] == pytest.approx([guess, chart.base - 0.4 * height, chart.base], abs=0.02)
    left, middle, right = (place.x for place in line.marks)
    assert middle - left == pytest.approx((right - left) / 4, abs=0.02)
    assert points(line.path) == [(place.x, place.y) for place in line.marks]
    low, high = points(line.band)[:3], points(line.band)[:2:-1]
    assert [y for _, y in low] == pytest.approx([chart.base - loss * height for loss in (0.75, 0.35, 0.0)], abs=0.03)
    assert [y for _, y in high] == pytest.approx([chart.base - loss * height for loss in (0.85, 0.45, 0.05)], abs=0.03)
    assert [x for x, _ in high] == [x for x, _ in low] == [left, middle, right]


def test_the_mean_is_the_mean_of_the_curves(report):
    (charts,) = draw_losses({"mine": report})
    tips = [place.tip for place in charts.mean.layers[0].marks]
    assert tips[0] == "Mean over factors: loss 0.450 (0.400 to 0.500) at capacity 0.000"
    assert tips[2] == "Mean over factors: loss 0.050 (0.025 to 0.100) at capacity 4.000"
    assert charts.mean.levels[0].text == "baseline 0.90"
    assert charts.mean.layers[0].note == "E 0.625, I 0.950"


def test_charts_say_what_they_show(report):
    (charts,) = draw_losses({"mine": report})
    assert charts.charts[0].description == (
        "shape. Baseline loss: 0.80. Loss 0.800 at capacity 0.000, lowest 0.000 at 4.000; E 0.250, I 1.000."
    )
    assert charts.charts[1].layers[0].note == "E 1.000, I 0.900"
    assert charts.charts[1].layers[0].marks[1].tip == "size: loss 0.100 (0.050 to 0.150) at capacity 1.000"


def test_one_factor_needs_no_mean(make_report, curve_parts):
    (charts,) = draw_losses({"mine": make_report(**curve_parts(((0.5, 0.2, 0.1),), (1.0,)), factors=("task",))})
    assert charts.mean is None
    assert [chart.title for chart in charts.charts] == ["task"]


def test_losses_beyond_the_scale_stay_at_its_top_and_tell_their_number(make_report, curve_parts):
    (charts,) = draw_losses({"mine": make_report(**curve_parts(((7.0, 0.5, 0.2), (0.1, 0.1, 0.1))))})
    place = charts.charts[0].layers[0].marks[0]
    assert place.y == TOP
    assert "loss 7.000" in place.tip
    assert charts.charts[1].levels[0].place == pytest.approx(SMALL - (SMALL - TOP) / HEADROOM, abs=0.01)


def test_one_capacity_has_informativeness_but_no_explicitness(make_report):
    one = np.array([[0.25], [0.75]])
    curves = CapacityCurves(axis="depth", capacities=one, losses=one, low=one, high=one, baselines=np.ones(2))
    (charts,) = draw_losses({"mine": make_report(evidence=(record(curves, "dci_es.informativeness"),))})
    assert charts.mean.layers[0].note == "I 0.500"


def test_several_representations_share_charts_but_not_styles(make_report, curve_parts):
    other = make_report(**curve_parts(((0.3, 0.3, 0.3),), (0.8,)), factors=("shape",))
    (charts,) = draw_losses({"a": make_report(**curve_parts()), "bare": make_report(), "b": other})
    assert charts.names == ((0, "a"), (2, "b"))
    assert [[line.name for line in chart.layers] for chart in charts.charts] == [["a", "b"], ["a"]]
    assert [line.style for line in charts.charts[0].layers] == [0, 2]
    assert [line.name for line in charts.mean.layers] == ["a"]
    assert len(charts.charts[0].levels) == 1
    assert charts.charts[0].layers[1].marks[0].tip.startswith("b, shape: loss 0.300")


def test_other_axes_get_charts_of_their_own(make_report, curve_parts):
    reports = {"a": make_report(**curve_parts()), "b": make_report(**curve_parts(axis="log of the parameters"))}
    assert [charts.axis for charts in draw_losses(reports)] == ["depth", "log of the parameters"]


def test_many_factors_and_representations_are_cut_and_it_is_said(make_report, curve_parts):
    n_factors = MOST_CHARTS + 3
    report = make_report(
        **curve_parts(np.full((n_factors, 3), 0.5), np.ones(n_factors)),
        factors=tuple(f"f{k}" for k in range(n_factors)),
    )
    (charts,) = draw_losses({f"r{k}": report for k in range(MAX_OVERLAID + 2)})
    assert (len(charts.charts), len(charts.names)) == (MOST_CHARTS, MAX_OVERLAID)
    assert charts.left_out == "Drawn: the first 40 of 43 factors and the first 12 of 14 representations."


def test_the_same_numbers_as_a_table(report):
    (grid,) = loss_tables({"mine": report})
    assert grid.columns == ("baseline", "0.000", "1.000", "4.000")
    assert [row.name for row in grid.rows] == [MEAN, "shape", "size"]
    assert [cell.text for cell in grid.rows[1].cells] == [
        "0.80",
        f"0.80 (0.75{EN_DASH}0.85)",
        f"0.40 (0.35{EN_DASH}0.45)",
        f"0.00 (0.00{EN_DASH}0.05)",
    ]


def test_capacities_that_differ_between_factors_stand_in_the_cells(make_report, curve_parts):
    parts = curve_parts()
    parts["evidence"][0].data.capacities[1] = [0.0, 2.0, 5.0]
    (grid,) = loss_tables({"mine": make_report(**parts)})
    assert grid.columns == ("baseline", "level 1", "level 2", "level 3")
    assert grid.rows[2].cells[2].text == f"0.10 (0.05{EN_DASH}0.15) @ 2.000"


def test_the_page_shows_curves_and_the_sentence_with_names_as_text(make_report, curve_parts):
    page = render_page(make_report(**curve_parts(sentence="Up to <b>sign</b>."), factors=("<img src=x>", "size")))
    assert page.count('<svg class="chart') == 3
    assert "<img" not in page
    assert "&lt;img src=x&gt;: loss 0.800" in page
    assert "Up to &lt;b&gt;sign&lt;/b&gt;." in page.split('id="summary"')[1].split("</section>")[0]
    assert 'href="#capacity"' in page


def test_nothing_without_curves(make_report):
    report = make_report({"mig": Score(value=0.5)})
    assert draw_losses({"mine": report}) == loss_tables({"mine": report}) == []
    assert "capacity" not in render_page(report).partition("<main>")[2].partition("<script")[0]
