import re

import numpy as np
import pytest

from unbraid.report import render_figure_page
from unbraid.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MOST_CELLS,
    RIGHT,
    WIDTH,
    ChartGroup,
    Series,
    line_chart,
    matrix_chart,
    plane_chart,
    round_marks,
)
from unbraid.report.figure import FigurePage

WORDS = {"title": "t", "caption": "", "x_label": "x", "y_label": "y"}


def series(x, y, **more):
    return Series(name="a", x=np.array(x, dtype=float), y=np.array(y, dtype=float), **more)


def test_lines_span_the_canvas_and_go_the_right_way():
    drawn = line_chart([series([1, 2, 3], [0, 5, 10])], **WORDS).series[0]
    xs, ys = zip(*drawn.points, strict=True)
    assert (xs[0], xs[1], xs[2]) == (LEFT, (LEFT + WIDTH - RIGHT) / 2, WIDTH - RIGHT)
    assert HEIGHT - BOTTOM > ys[0] > ys[1] > ys[2] > 0
    assert drawn.tips[1] == "a, 2: 5.00"
    assert drawn.path.count(",") == 3


def test_all_series_share_the_scales():
    low, high = line_chart([series([0, 1], [0, 0]), series([0, 1], [10, 10], colour=3)], **WORDS).series
    assert low.points[0][1] > high.points[0][1] + 200
    assert (low.style, high.style) == ("s0", "s3")


def test_powers_of_ten_are_equally_far_apart():
    chart = line_chart([series([1, 10, 100], [1, 2, 3])], **WORDS, log_x=True)
    places = [tick.place for tick in chart.x_ticks]
    assert [tick.text for tick in chart.x_ticks] == ["1", "10", "100"]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)
    assert [x for x, _ in chart.series[0].points] == places


def test_what_is_not_finite_is_left_out():
    drawn = line_chart([series([1, 2, 3], [0.0, -np.inf, 1.0])], **WORDS).series[0]
    assert len(drawn.points) == len(drawn.tips) == 2
    assert drawn.tips[1].startswith("a, 3")


def test_a_ramp_colours_by_share():
    drawn = line_chart([series([1, 2], [0, 1], colour=0.25)], **WORDS, is_ramp=True).series[0]
    assert (drawn.style, drawn.share) == ("ramp", 25)


def test_a_constant_line_has_a_scale():
    assert len(line_chart([series([5], [2])], **WORDS).series[0].points) == 1


def test_ticks_are_round():
    assert [text for _, text in round_marks(-3.1, 0.7)] == ["\u22123", "\u22122", "\u22121", "0"]
    assert [text for _, text in round_marks(0.0, 0.05)] == ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]


def test_shades_are_shares_of_the_top():
    chart = matrix_chart(np.array([[0.0, 1.0], [np.nan, 4.0]]), title="m", caption="")
    assert chart.shades == ((0, 25), (0, 100))
    assert chart.legend == "strongest: 4.00"
    assert matrix_chart(np.array([[8.0]]), title="m", caption="", top=2.0).shades == ((100,),)


def test_a_large_matrix_becomes_means_of_blocks():
    matrix = np.full((MOST_CELLS * 2, MOST_CELLS * 2), 1.0)
    matrix[:2, :2] = [[np.nan, 2.0], [4.0, np.nan]]
    matrix[2:4, 2:4] = np.nan
    chart = matrix_chart(matrix, title="m", caption="", top=4.0)
    assert (len(chart.shades), len(chart.shades[0])) == (MOST_CELLS, MOST_CELLS)
    assert chart.shades[0][0] == 75
    assert chart.shades[1][1] == 0
    assert chart.shades[5][7] == 25


def test_a_plane_keeps_proportions_and_turns_up_up():
    corners = np.array([[0.0, 0.0], [4.0, 1.0]])
    chart = plane_chart([(1, corners)], corners, title="p", caption="")
    (x0, y0), (x1, y1) = chart.dots
    assert (x1 - x0) == pytest.approx(4 * (y0 - y1), abs=0.5)
    assert chart.curves[0][1] == f"{x0:g},{y0:g} {x1:g},{y1:g}"


def test_the_page_escapes_what_it_is_given_and_needs_nothing_else():
    charts = [line_chart([series([1, 2], [0, 1])], **WORDS), line_chart([series([1], [1], mark="cross")], **WORDS)]
    matrices = [matrix_chart(np.eye(2), title="<b>", caption="")]
    planes = [plane_chart([(0, np.eye(2))], np.eye(2), title="p", caption="")]
    html = render_figure_page(
        FigurePage(
            name="moons",
            title="A & B",
            paper="p",
            lede="<script>alert(1)</script>",
            facts=[("steps", "5")],
            header=("what", "ours"),
            rows=[("x<y", "0.5")],
            groups=[ChartGroup(title="g", caption="", charts=group) for group in (charts, matrices, planes)],
            notes=["n"],
        )
    )
    assert "&lt;script&gt;alert(1)" in html
    assert "<td>0.5</td>" in html
    assert "x&lt;y" in html
    assert html.count("<rect ") == 4
    assert html.count('class="cross"') == 2  # one in the chart, one in its legend
    assert "polyline" in html
    addresses = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert addresses == ["data:,", "#content"]
    assert html.count("<script>") == 1
