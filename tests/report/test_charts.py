import re

import numpy as np
import pytest

from unbraid.report import render_figure_page
from unbraid.report.charts import (
    MOST_CELLS,
    MOST_DOTS,
    MOST_SHAPES,
    PANEL,
    TOP,
    ChartGroup,
    Scale,
    Series,
    line_chart,
    log_ticks,
    make_strip,
    matrix_chart,
    plane_chart,
    round_ticks,
    round_up,
    spanning,
    tick_text,
)
from unbraid.report.figure import FigurePage

WORDS = {"title": "t", "caption": "", "x_label": "x", "y_label": "y"}


def series(x, y, **more):
    return Series(name="a", x=np.array(x, dtype=float), y=np.array(y, dtype=float), **more)


def points(path):
    return [tuple(map(float, pair.split())) for pair in re.findall(r"[ML]([-\d.]+ [-\d.]+)", path)]


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.1, 0.7), (0.0, 0.05), (1e-6, 3e-6), (0.13, 7.9e5), (-0.2, 0.31), (2.0, 2.0001)]
)
def test_ticks_are_round_few_and_inside_the_range(low, high):
    found = round_ticks(low, high)
    assert 2 <= len(found) <= 6
    assert all(low - 1e-9 * (high - low) <= tick <= high + 1e-9 * (high - low) for tick in found)
    steps = np.diff(found)
    assert steps == pytest.approx(steps[0])
    assert round_up(float(f"{steps[0]:.3g}")) == pytest.approx(steps[0])  # 1, 2 or 5 times a power of ten


@pytest.mark.parametrize(("low", "high"), [(1.0, 1000.0), (15.0, 60.0), (0.002, 5e9), (11.0, 13.0), (100.0, 1000.0)])
def test_ticks_of_a_logarithmic_axis_are_round_few_and_inside_the_range(low, high):
    found = log_ticks(low, high)
    assert 2 <= len(found) <= 6
    assert low <= found[0] < found[-1] <= high
    assert found == sorted(set(found))


def test_a_tick_says_no_more_than_it_has_to():
    texts = [tick_text(value) for value in (0.1 + 0.2, -2.0, 0.0, 12000.0)]
    assert texts == ["0.3", "\u22122", "0", "12,000"]
    assert [tick.text for tick in Scale(low=3.0, high=3.0).ticks()] == ["3"]


def test_a_long_label_at_an_end_of_the_axis_stays_on_the_page():
    first, middle, last = Scale(low=0.0, high=2.0).labelled([(0.0, "1 (z0)"), (1.0, "1,000"), (2.0, "2,000")])
    assert [first.anchor, middle.anchor, last.anchor] == ["start", "middle", "end"]
    assert Scale(low=0.0, high=2.0).labelled([(0.0, "0")])[0].anchor == "middle"


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize(("start", "stop"), [(0.0, 100.0), (160.0, 14.0)])
def test_a_scale_keeps_the_order_and_holds_everything_between_its_ends(is_log, start, stop):
    scale = Scale(low=0.5, high=50.0, start=start, stop=stop, is_log=is_log)
    found = scale.places(np.array([-1.0, 0.5, 1.0, 5.0, 49.0, 50.0, 1e9]))
    assert (found[0], found[-1]) == (found[1], found[-2]) == (start, stop)
    steps = np.sign(stop - start) * np.diff(found[1:-1])
    assert (steps > 0).all()


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_scale():
    scale = Scale(low=1.0, high=100.0, is_log=True)
    assert scale.places(np.array([1.0, 10.0, 100.0])) == [0.0, 50.0, 100.0]


@pytest.mark.parametrize("is_log", [False, True])
def test_a_scale_spans_what_is_finite_with_a_margin(is_log):
    scale = spanning([np.array([1.0, np.nan]), np.array([10.0, np.inf])], margin=0.1, is_log=is_log)
    left, right = scale.places(np.array([1.0, 10.0]))
    assert left == pytest.approx(100 - right, abs=0.01)
    assert left == pytest.approx(100 * 0.1 / 1.2, abs=0.01)
    assert spanning([np.array([5.0])]).place(5.0) == 50
    assert spanning([np.array([5.0])], is_log=True).place(5.0) == 50
    assert spanning([]).low < spanning([]).high


def test_a_line_goes_the_right_way_and_its_marks_lie_on_it():
    chart = line_chart([series([1, 2, 3], [0, 5, 10])], **WORDS)
    (layer,) = chart.layers
    assert points(layer.path) == [(mark.x, mark.y) for mark in layer.marks]
    xs, ys = zip(*points(layer.path), strict=True)
    assert 0 < xs[0] < xs[1] == 50 < xs[2] < 100
    assert chart.base > ys[0] > ys[1] > ys[2] > TOP
    assert layer.marks[1].tip == "a, 2: 5.00"


def test_all_series_share_the_scales():
    low, high = line_chart([series([0, 1], [0, 0]), series([0, 1], [10, 10], colour=3)], **WORDS).layers
    assert low.marks[0].y > high.marks[0].y + 200
    assert (low.ink, high.ink) == ("c0", "c3")


def test_styles_differ_in_more_than_colour_and_repeat_after_thirty_six():
    layers = line_chart([series([0, 1], [k, k], colour=k) for k in range(37)], **WORDS).layers
    looks = [(layer.ink, layer.line, layer.shape) for layer in layers]
    assert len(set(looks)) == 36
    assert looks[36] == looks[0]
    assert len({(line, shape) for _, line, shape in looks}) == 36
    assert len({(ink, shape) for ink, _, shape in looks}) == 18


def test_powers_of_ten_are_ticks_of_a_logarithmic_axis():
    chart = line_chart([series([1, 10, 100], [1, 2, 3])], **WORDS, log_x=True)
    assert [tick.text for tick in chart.x_ticks] == ["1", "10", "100"]
    assert [mark.x for mark in chart.layers[0].marks] == [tick.place for tick in chart.x_ticks]


def test_a_value_that_is_not_finite_has_no_mark_and_breaks_the_line():
    (layer,) = line_chart([series([1, 2, 3, 4], [0.0, -np.inf, 1.0, 2.0])], **WORDS).layers
    assert [mark.tip[:4] for mark in layer.marks] == ["a, 1", "a, 3", "a, 4"]
    assert re.findall("[A-Z]", layer.path) == ["M", "M", "L"]


def test_a_ramp_colours_by_share():
    (layer,) = line_chart([series([1, 2], [0, 1], colour=0.25)], **WORDS, is_ramp=True).layers
    assert (layer.ink, layer.share) == ("ramp", 25)


def test_marks_get_smaller_and_vanish_as_points_get_many():
    shapes = [
        line_chart([series(np.arange(n), np.arange(n))], **WORDS).layers[0].shape
        for n in (MOST_SHAPES, MOST_SHAPES + 1, MOST_DOTS + 1)
    ]
    assert shapes == ["s0", "sd", ""]
    (crosses,) = line_chart([series(np.arange(200), np.arange(200), mark="cross")], **WORDS).layers
    assert (crosses.shape, len(crosses.marks), crosses.path) == ("sx", 200, "")


def test_a_single_point_has_a_scale():
    assert len(line_chart([series([5], [2])], **WORDS).layers[0].marks) == 1


def test_bands_and_whiskers_reach_to_the_ends_of_the_intervals_and_stay_inside():
    ends = {"low": np.array([1.0, 2.0]), "high": np.array([3.0, 2.0])}
    for interval in ("band", "whisker"):
        chart = line_chart([series([-1, 5], [2, 2], interval=interval, **ends)], **WORDS, base=PANEL)
        (layer,) = chart.layers
        first, second = layer.marks
        if interval == "band":
            (a, b, c, d) = points(layer.band.replace("Z", ""))
            low, high = a[1], d[1]
            assert (a[0], b[0]) == (d[0], c[0]) == (first.x, second.x)
            assert b == c == (second.x, second.y)
            assert first.whisker is None
        else:
            assert layer.band == ""
            low, high = first.whisker
            assert second.whisker is None  # no width, no whisker
        assert TOP <= high < first.y < low <= PANEL
        assert low - first.y == pytest.approx(first.y - high, abs=0.02)


def test_levels_and_given_labels_stand_at_their_values():
    chart = line_chart(
        [series([0, 1], [0, 1])],
        title="t",
        y=Scale(low=0.0, high=2.0, start=100.0, stop=0.0),
        x_marks=[(0.5, "half")],
        y_marks=(),
        levels=[(1.5, "guess")],
    )
    assert chart.levels == ((25.0, "guess"),)
    assert [tick.text for tick in chart.x_ticks] == ["half"]
    assert not chart.has_labels


def test_a_strip_places_marks_in_percent():
    strip = make_strip(0.5, low=0.4, high=0.7, null=0.1, truth=0.9)
    assert strip is not None
    assert (strip.value, strip.null, strip.truth) == (50.0, 10.0, 90.0)
    assert strip.bar == pytest.approx((40.0, 30.0))
    assert (strip.ends, strip.is_open) == (None, False)


def test_a_strip_without_upper_bound_has_a_round_end():
    strip = make_strip(7.5, bounds=(0.0, np.inf), low=7.0, high=8.0)
    assert strip is not None
    assert (strip.ends, strip.is_open, strip.value) == (("0", "10"), True, 75.0)


def test_a_strip_around_zero_has_a_line_there_and_a_visible_interval():
    strip = make_strip(-0.2, bounds=(-0.4, 0.4), low=-0.2, high=-0.2, zero=0.0)
    assert strip is not None
    assert (strip.value, strip.zero) == (25.0, 50.0)
    assert strip.bar[1] > 0


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_number_that_is_not_finite_has_no_strip(value):
    assert make_strip(value) is None


def shades(chart):
    found = np.zeros(chart.size[::-1], dtype=int)
    for shade, squares in chart.squares.items():
        for column, row in re.findall(r"M(\d+) (\d+)h1", squares):
            found[int(row), int(column)] = shade
    return found


def test_shades_are_shares_of_the_top():
    chart = matrix_chart(np.array([[0.0, 1.0], [np.nan, 4.0]]), title="m", caption="")
    assert shades(chart).tolist() == [[0, 25], [0, 100]]
    assert chart.legend == "strongest: 4.00"
    assert shades(matrix_chart(np.array([[8.0]]), title="m", caption="", top=2.0)).tolist() == [[100]]


def test_a_large_matrix_becomes_means_of_blocks():
    matrix = np.full((MOST_CELLS * 2, MOST_CELLS * 2), 1.0)
    matrix[:2, :2] = [[np.nan, 2.0], [4.0, np.nan]]
    matrix[2:4, 2:4] = np.nan
    chart = matrix_chart(matrix, title="m", caption="", top=4.0)
    assert chart.size == (MOST_CELLS, MOST_CELLS)
    found = shades(chart)
    assert (found[0, 0], found[1, 1], found[5, 7]) == (75, 0, 25)


def test_a_plane_keeps_proportions_and_turns_up_up():
    corners = np.array([[0.0, 0.0], [4.0, 1.0]])
    chart = plane_chart([(1, corners)], corners, title="p", caption="")
    (x0, y0), (x1, y1) = chart.dots
    assert (x1 - x0) == pytest.approx(4 * (y0 - y1), abs=0.5)
    assert chart.curves[0][1] == f"{x0:g},{y0:g} {x1:g},{y1:g}"


def test_a_plane_without_samples_holds_its_curves():
    chart = plane_chart([(0, np.array([[0.0, 0.0], [1.0, 8.0]]))], title="p", caption="")
    assert chart.dots == ()
    for x, y in (map(float, pair.split(",")) for pair in chart.curves[0][1].split()):
        assert 0 < x < chart.size[0]
        assert 0 < y < chart.size[1]
    assert chart.size[1] == max(chart.size)


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
    assert html.count('h1"/>') == 1  # the two dark squares of the matrix
    assert html.count('href="#sx"') == 2  # one in the chart, one in its legend
    assert "polyline" in html
    addresses = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert set(addresses) == {"data:,", "#content", "#s0", "#sx"}
    assert html.count("<script>") == 1
