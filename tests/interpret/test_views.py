"""Each kind of finding has a view with the lines that show it."""

import numpy as np
import pytest

import unbraid as ub
from unbraid.evidence.explained import explained_variance
from unbraid.interpret.views import finding_views, stills
from unbraid.results.finding import ColumnKind, Finding, FindingKind, LineRole

ROWS = 1500


@pytest.fixture(scope="module")
def world():
    """Codes: a rotated pair, a copy, a fold, a circle, a shape, noise and a constant."""
    rng = np.random.default_rng(0)
    x, y, v = rng.uniform(-1, 1, (3, ROWS))
    angle = rng.uniform(0, 360, ROWS)
    shape = rng.integers(0, 3, ROWS)
    turn = np.pi / 6
    codes = {
        "a": np.cos(turn) * x - np.sin(turn) * y,
        "b": np.sin(turn) * x + np.cos(turn) * y,
        "c": v,
        "minus_c": -2 * v,
        "fold": np.abs(v),
        "cos": 3 * np.cos(np.deg2rad(angle)) + 1,
        "sin": 3 * np.sin(np.deg2rad(angle)),
        "shape": shape + 0.0,
        "noise": rng.standard_normal(ROWS),
        "dead": np.zeros(ROWS),
    }
    names = ["square", "ellipse", "heart"]
    factors = {"x": x, "y": y, "v": v, "angle": angle, "shape": [names[one] for one in shape]}
    return ub.Representation(
        np.stack(list(codes.values()), 1), factors, kinds={"angle": "circular:360"}, code_names=codes
    )


@pytest.fixture(scope="module")
def report(world):
    return ub.evaluate(world, metrics="iwo", n_jobs=1, progress=False, intervals=False, nulls=False)


def view_of(world, report, kind, factors=(), codes=()):
    found = Finding(kind=kind, sentence="", factors=factors, codes=codes)
    return finding_views(world, ub.Report(**{**_fields(report), "findings": (found,)}))


def _fields(report):
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def test_rotated_factors_have_both_pairs_of_axes(world, report):
    (view,) = view_of(world, report, FindingKind.ROTATED, ("x", "y"), ("a", "b"))
    assert (view.x.name, view.y.name) == ("a", "b")
    by_role = {role: [line for line in view.lines if line.role is role] for role in LineRole}
    assert [line.label for line in by_role[LineRole.CODE_AXIS]] == ["a", "b"]
    assert [line.label for line in by_role[LineRole.FACTOR_AXIS]] == ["x", "y"]
    directions = [np.diff(line.points, axis=0)[0] for line in by_role[LineRole.FACTOR_AXIS]]
    angles = [np.rad2deg(np.arctan2(d[1], d[0])) for d in directions]
    assert angles == pytest.approx([30, 120], abs=3)  # each points where its factor grows


def test_a_folded_factor_has_its_curve(world, report):
    (view,) = view_of(world, report, FindingKind.FOLDED, ("v",), ("fold",))
    assert (view.x.kind, view.x.name, view.y.name) == (ColumnKind.FACTOR, "v", "fold")
    (curve,) = view.lines
    assert curve.role is LineRole.CURVE
    assert curve.points[:, 1] == pytest.approx(np.abs(curve.points[:, 0]), abs=0.05)


def test_copies_lie_on_the_diagonal(world, report):
    (view,) = view_of(world, report, FindingKind.COPIED, ("v",), ("c", "minus_c"))
    (line,) = view.lines
    assert line.role is LineRole.DIAGONAL
    slope = np.diff(line.points[:, 1]) / np.diff(line.points[:, 0])
    assert slope == pytest.approx(-2, abs=0.01)


def test_a_circle_goes_through_the_rows(world, report):
    (view,) = view_of(world, report, FindingKind.CIRCLE, ("angle",), ("cos", "sin"))
    (line,) = view.lines
    assert np.hypot(line.points[:, 0] - 1, line.points[:, 1]) == pytest.approx(3, abs=0.15)
    assert view.colour.name == "angle"


def test_values_without_an_order_are_not_joined(world, report):
    (view,) = view_of(world, report, FindingKind.OWN, ("shape",), ("shape",))
    assert len(view.lines) == 3
    assert all(np.ptp(line.points[:, 1]) == 0 for line in view.lines)


def test_a_lost_factor_is_shown_in_the_code_it_explains_best(world, report):
    (view,) = view_of(world, report, FindingKind.LOST, ("shape",))
    assert view.y.name == "shape"


@pytest.mark.parametrize("kind", FindingKind)
def test_every_kind_has_a_view(world, report, kind):
    views = view_of(world, report, kind, ("x", "y"), ("a", "b"))
    assert views
    assert all(view.caption for view in views)


def test_stills_keep_one_view_and_some_rows_of_each_finding(world, report):
    found = (
        Finding(kind=FindingKind.OWN, sentence="", factors=("v", "shape"), codes=("c", "shape")),
        Finding(kind=FindingKind.DEAD, sentence="", codes=("dead",)),
    )
    made = stills(world, ub.Report(**{**_fields(report), "findings": found}))
    assert [still.view.finding for still in made] == [0, 1]
    assert all(still.points.shape == (500, 3) for still in made)
    rows = np.stack([world.factors[2].numbers, world.codes[:, 2]], axis=1)
    away = np.abs(made[0].points[:, None, :2] - rows).max(axis=2).min(axis=1)
    assert away.max() < 1e-4  # of a span of 2


def test_explained_variance_of_any_function_is_one_and_of_noise_none(world):
    explained = explained_variance(world)
    names = {name: j for j, name in enumerate(world.code_names)}
    assert explained[names["fold"], 2] > 0.95
    assert explained[names["cos"], 3] > 0.95
    assert explained[names["shape"], 4] == pytest.approx(1)
    assert explained[names["noise"]].max() < 0.03
    assert explained[names["dead"]].tolist() == [0] * 5
    assert explained[names["a"], :2] == pytest.approx([0.75, 0.25], abs=0.06)
