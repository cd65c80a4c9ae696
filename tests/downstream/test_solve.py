"""Tasks whose right answer is known: what a line can do, what only bent models can, and what nobody can."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from unbraid import Representation
from unbraid.data import sprites_mini
from unbraid.downstream import PREDICTORS, Pictures, Target, pictures_of, solve, split_rows
from unbraid.downstream import evaluation as _solve
from unbraid.downstream.segmentation import mean_iou
from unbraid.representation.factor import make_factor

N = 900
RNG = np.random.default_rng(0)
CODES = RNG.uniform(-1, 1, size=(N, 3))


def world(**factors):
    kinds = {name: kind for name, (_, kind) in factors.items()}
    return Representation(CODES, {name: values for name, (values, _) in factors.items()}, kinds=kinds)


@pytest.mark.parametrize("predictor", ["linear", "mlp"])
def test_a_linear_number_is_found_exactly(predictor):
    rep = world(v=(3 + CODES @ [2.0, -1.0, 0.5], "continuous"))
    result = solve(rep, "factor:v", predictor=predictor)
    assert result.value > 0.9999
    assert result.blind == 0
    assert result.measure == "R²"


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_r2_is_that_of_the_signal(predictor):
    # half of the variance is noise that no code carries
    signal = CODES[:, 0] * np.sqrt(3)
    rep = world(v=(signal + np.random.default_rng(1).normal(size=N), "continuous"))
    found = solve(rep, "factor:v", predictor=predictor).value
    # trees follow some of the noise of so few rows, and pay for it on the others
    assert (0.3 if predictor in ("forest", "boosting") else 0.45) < found < 0.58


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_exclusive_or_needs_more_than_a_line(predictor):
    rep = world(v=(np.where(CODES[:, 0] * CODES[:, 1] > 0, "same", "other"), "categorical"))
    result = solve(rep, "factor:v", predictor=predictor)
    assert result.measure == "accuracy"
    assert result.blind == pytest.approx(0.5, abs=0.06)
    if predictor == "linear":
        assert result.value < 0.6
    else:
        assert result.value > 0.9


@pytest.mark.slow
def test_forests_of_classes_grow_on_all_rows():
    rng = np.random.default_rng(3)
    codes = rng.normal(size=(5000, 4))
    checks = (np.sin(3 * codes[:, 0]) * np.sin(3 * codes[:, 1]) > 0).astype(int)
    train, test = (getattr(split_rows(len(codes), seed=0), part) for part in ("train", "test"))
    theirs = RandomForestClassifier(50, min_samples_leaf=5, max_features=None, random_state=0)
    accuracy = theirs.fit(codes[train], checks[train]).score(codes[test], checks[test])
    found = solve(Representation(codes, {"v": checks}, kinds=["categorical"]), "factor:v", predictor="forest")
    assert accuracy > 0.85
    assert found.value == pytest.approx(accuracy, abs=0.02)  # 0.90 for 0.97 where a tree has 600 rows


@pytest.mark.slow
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_noise_is_predicted_no_better_than_blindly(predictor):
    rng = np.random.default_rng(2)
    rep = world(v=(rng.normal(size=N), "continuous"), c=(rng.choice(list("aabc"), size=N), "categorical"))
    result = solve(rep, "factors", predictor=predictor)
    number, classes = result.parts
    assert number.value < 0.05
    assert number.blind == 0
    assert classes.blind == pytest.approx(0.5, abs=0.06)
    assert classes.value < classes.blind + 0.05
    assert result.value == pytest.approx((number.value + classes.value) / 2)
    assert result.measure == "mean of R² and accuracy"


@pytest.mark.slow
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_an_angle_does_not_break_where_it_comes_round(predictor):
    # codes are the point on the circle, a bit noisy; 1 degree and 359 degrees are neighbours
    angle = np.random.default_rng(3).uniform(0, 360, size=N)
    turn = np.deg2rad(angle)
    codes = np.column_stack([np.cos(turn), np.sin(turn)])
    rep = Representation(codes, {"turn": angle, "number": angle}, kinds=["circular:360", "continuous"])
    as_angle, as_number = solve(rep, "factors", predictor=predictor).parts
    assert as_angle.value > 0.99
    assert as_angle.measure == "R² of cosine and sine"
    if predictor == "linear":
        assert as_number.value < 0.75  # as a number it breaks: a straight line gets 6 / pi² of it
        assert as_number.value == pytest.approx(6 / np.pi**2, abs=0.07)


def test_polar_position_by_a_line_and_by_trees():
    x, y = np.random.default_rng(4).integers(0, 16, size=(2, N))
    rep = Representation(np.column_stack([x, y]), {"x": x, "y": y})
    assert solve(rep, "position_cartesian", predictor="linear").value == pytest.approx(1, abs=1e-6)
    assert solve(rep, "position_polar_centre", predictor="linear").parts[0].value < 0.1  # radius is even in x and y
    assert solve(rep, "position_polar_centre", predictor="forest").value > 0.9


def test_predictors_and_sizes_share_their_test_rows(monkeypatch):
    seen, real = [], _solve._solve_part

    def spy(bench, factor, predictor):
        seen.append((bench.train, bench.test))
        return real(bench, factor, predictor)

    monkeypatch.setattr(_solve, "_solve_part", spy)
    rep = world(v=(CODES[:, 0], "continuous"))
    for predictor in ("linear", "boosting"):
        for size in (20, 0.5, None):
            solve(rep, "factor:v", predictor=predictor, n_train=size, seed=5)
    expected = split_rows(N, seed=5)
    for train, test in seen:
        np.testing.assert_array_equal(test, expected.test)
        np.testing.assert_array_equal(train, expected.train[: len(train)])
    assert [len(train) for train, _ in seen] == [20, 315, 630] * 2


def test_more_rows_help():
    rep = world(v=(np.sin(3 * CODES[:, 0]) + CODES[:, 1] ** 2, "continuous"))
    few, many = (solve(rep, "factor:v", predictor="boosting", n_train=size) for size in (30, 600))
    assert many.value > few.value + 0.1
    assert (few.n_train, many.n_train, few.n_test) == (30, 600, 270)


@pytest.mark.slow
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_same_seed_same_number(predictor):
    rep = world(v=(CODES[:, 0] ** 2, "continuous"), c=(np.where(CODES[:, 1] > 0, "a", "b"), "categorical"))
    first, again = (solve(rep, "factors", predictor=predictor, n_train=100, seed=1) for _ in range(2))
    assert [part.value for part in first.parts] == [part.value for part in again.parts]
    # a factor is predicted alike whichever task asks for it
    alone = solve(rep, "factor:c", predictor=predictor, n_train=100, seed=1)
    assert alone.value == first.parts[1].value


@pytest.mark.slow
def test_scale_of_codes_does_not_matter():
    rep = world(v=(CODES[:, 0] ** 3, "continuous"))
    scaled = Representation(CODES * [1e6, 1e-6, 1] + [5, 0, -3], rep.factors)
    for predictor in ("linear", "mlp"):
        same, other = (solve(one, "factor:v", predictor=predictor, n_train=100).value for one in (rep, scaled))
        assert other == pytest.approx(same, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_a_class_never_learned_counts_as_wrong(predictor):
    split = split_rows(N)
    labels = np.where(CODES[:, 0] > 0, "right", "left").astype(object)
    unseen = split.test[:27]
    labels[unseen] = "never"
    labels[split.train[-60:]] = "never"
    rep = world(c=(labels, "categorical"))
    result = solve(rep, "factor:c", predictor=predictor, n_train=len(split.train) - 60)
    assert result.value == pytest.approx(0.9, abs=0.02)
    assert result.notes == ("c: 27 rows tested on have a value never learned from, and count as wrong.",)


@pytest.mark.parametrize("predictor", PREDICTORS)
@pytest.mark.parametrize("kind", ["categorical", "continuous", "circular"])
def test_one_value_learned_from_is_guessed(predictor, kind):
    split = split_rows(N)
    values = np.ones(N)
    values[split.test] = np.arange(len(split.test)) % 3
    result = solve(world(v=(values, kind)), "factor:v", predictor=predictor)
    assert result.value == result.blind == (pytest.approx(1 / 3) if kind == "categorical" else 0)
    assert "v takes one value only in the 630 rows learned from" in result.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_dead_codes_do_no_harm(predictor):
    codes = np.column_stack([CODES[:, 0], np.full(N, 7.0), np.zeros(N)])
    rep = Representation(codes, {"v": CODES[:, 0], "c": np.where(CODES[:, 0] > 0, "a", "b")})
    assert solve(rep, "factors", predictor=predictor).value > 0.97


def test_rows_without_a_label_are_left_out():
    values = CODES[:, 0].copy()
    values[::3] = np.nan
    assert solve(world(v=(values, "continuous")), "factor:v", predictor="linear").value == pytest.approx(1, abs=1e-6)
    values[:] = np.nan
    values[split_rows(N).train[:12]] = np.arange(12)
    with pytest.raises(ValueError, match="factor 'v' has 12 labelled rows to learn from and 0 to be tested on"):
        solve(world(v=(values, "continuous")), "factor:v", predictor="linear")


def test_a_constant_to_be_judged_on_counts_nothing():
    values = CODES[:, 0].copy()
    values[split_rows(N).test] = 0.5
    result = solve(world(v=(values, "continuous")), "factor:v", predictor="linear")
    assert result.value == result.blind == 0
    assert "one value only in the 270 rows tested on" in result.notes[0]


def test_any_target():
    product = make_factor(CODES[:, 0] * CODES[:, 1], name="product", kind="continuous")
    result = solve(Representation(CODES), Target(name="mine", parts=(product,)), predictor="forest")
    assert result.name == "mine"
    assert result.value > 0.9


def test_intersection_over_union():
    said = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], dtype=bool)
    true = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]], dtype=bool)
    np.testing.assert_allclose(mean_iou(said, true), [1 / 3, 1, 0])


def test_pixels_that_are_lines_of_the_codes_are_found_by_a_line():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, size=(N, 4)).astype(bool)
    masks = bits[:, [0, 1, 2, 3, 0, 1]].reshape(N, 2, 3)
    rep = Representation(bits @ rng.normal(size=(4, 4)))
    result = solve(rep, "segmentation", predictor="linear", pictures=Pictures(masks=masks))
    assert result.value == pytest.approx(1)
    assert result.measure == "IoU"
    # all pixels at once is the best single mask: half of them are right, whatever the row
    assert result.blind == pytest.approx(0.5, abs=0.04)


@pytest.mark.slow
def test_sprites_are_found_the_better_the_more_codes_tell():
    data, rng = sprites_mini(), np.random.default_rng(6)
    rows = rng.permutation(len(data))[:800]
    pictures = Pictures(masks=pictures_of(data, rows).masks[:, ::2, ::2])
    factors = data.factors(rows).astype(float)
    noise = rng.normal(size=(800, 5))
    by = {
        name: solve(Representation(codes), "segmentation", predictor=predictor, pictures=pictures)
        for name, codes, predictor in [
            ("noise", noise, "linear"),
            ("line", factors, "linear"),
            ("network", factors, "mlp"),
        ]
    }
    assert by["noise"].value < by["noise"].blind + 0.02
    assert by["line"].value > by["noise"].value + 0.1
    assert by["network"].value > by["line"].value + 0.1
    again = solve(Representation(factors), "segmentation", predictor="mlp", pictures=pictures)
    assert again.value == by["network"].value


@pytest.mark.parametrize("predictor", ["forest", "boosting"])
def test_trees_find_no_masks(predictor):
    pictures = Pictures(masks=np.zeros((N, 2, 2), dtype=bool))
    with pytest.raises(ValueError, match=f"segmentation is solved by linear or mlp, got '{predictor}'"):
        solve(Representation(CODES), "segmentation", predictor=predictor, pictures=pictures)


def test_bad_input():
    rep = world(v=(CODES[:, 0], "continuous"))
    with pytest.raises(ValueError, match=r"predictor must be one of linear, .*, got 'forrest'; did you mean 'forest'"):
        solve(rep, "factors", predictor="forrest")
    with pytest.raises(ValueError, match="codes must be finite, got NaN or inf in 50 of 50 rows"):
        Representation(np.full((50, 2), np.nan))
    short = Target(name="short", parts=(make_factor(np.arange(20), name="v"),))
    with pytest.raises(
        ValueError, match="target 'short' must have one entry for each of the 900 rows of codes, got 20"
    ):
        solve(rep, short, predictor="linear")
    with pytest.raises(ValueError, match="seed must be"):
        solve(rep, "factors", predictor="linear", seed=-1)
