import numpy as np
import pandas as pd
import pytest

from unbraid import FactorKind, make_factor


def values_each(n_values, n_rows):
    """``n_values`` distinct whole numbers over ``n_rows`` rows."""
    return np.arange(n_rows) % n_values


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["red", "green", "blue"] * 4, "categorical"),
        ([True, False] * 4, "categorical"),
        (pd.Categorical([1, 2, 3] * 4), "categorical"),
        (pd.Series([1, 2, 3] * 4, dtype="category"), "categorical"),
        (pd.array([True, False, None] * 4, dtype="boolean"), "categorical"),
        (np.array(["10", "20", "30"] * 4), "categorical"),
        ([0.25, 0.75] * 4, "categorical"),
        (values_each(3, 6), "ordinal"),
        (values_each(3, 6) / 7, "ordinal"),
        (values_each(256, 512), "ordinal"),
        (values_each(256, 511), "continuous"),
        (values_each(257, 10_000), "continuous"),
        (values_each(3, 5), "continuous"),
        (np.r_[np.zeros(100), np.linspace(1, 2, 60)], "continuous"),  # often 0, and otherwise any number
        (np.r_[np.full(100, np.nan), np.zeros(100), np.linspace(1, 2, 60)], "continuous"),
        (np.r_[np.zeros(100, dtype=int), np.arange(1, 61)], "continuous"),
        (np.r_[np.zeros(100, dtype=int), 1, 1, 2, 2, 2, 3], "ordinal"),
        (np.array([1, 2, 3] * 4, dtype=object), "ordinal"),
        (pd.array([1, 2, 3, None] * 4, dtype="Int64"), "ordinal"),
    ],
)
def test_kind_follows_from_the_values(values, kind):
    values = pd.Series(values) if isinstance(values, pd.api.extensions.ExtensionArray) else values
    assert make_factor(values, name="f").kind == kind


def test_rows_without_a_label_do_not_count_as_repeats():
    assert make_factor([0, 0, 1, 1, 2, 2], name="f").kind == "ordinal"
    assert make_factor([0, 0, 1, 1, 2, np.nan], name="f").kind == "continuous"


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0, np.nan] * 4,
        np.array([1, 2, 3, None] * 4, dtype=object),
        pd.Series([1, 2, 3, pd.NA] * 4, dtype="Int64"),
        pd.Series([1, 2, 3, None] * 4, dtype=object, index=range(100, 116)),
    ],
)
def test_missing_numbers_are_not_labelled(values):
    factor = make_factor(values, name="f")
    assert factor.labelled.tolist() == [True, True, True, False] * 4
    assert factor.labels.tolist() == [0, 1, 2, -1] * 4
    np.testing.assert_array_equal(factor.numbers, [1, 2, 3, np.nan] * 4)


@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_missing_text_is_not_labelled(missing):
    factor = make_factor(np.array(["b", "a", missing] * 4, dtype=object), name="f")
    assert factor.levels == ("a", "b")
    assert factor.labels.tolist() == [1, 0, -1] * 4
    np.testing.assert_array_equal(factor.numbers, [1, 0, np.nan] * 4)


def test_levels_are_the_values_in_order():
    assert make_factor([3, 1, 20] * 4, name="f").levels == ("1", "3", "20")
    assert make_factor(["c", "a", "b"] * 4, name="f").levels == ("a", "b", "c")


def test_levels_of_large_numbers_stay_apart():
    factor = make_factor([1_000_001, 1_000_002] * 4, name="f")
    assert factor.levels == ("1000001", "1000002")


def test_numbers_of_a_continuous_factor_are_its_values_and_it_has_no_labels():
    values = np.random.default_rng(0).standard_normal(20)
    factor = make_factor(values, name="f")
    assert factor.labels is None
    assert factor.levels == ()
    np.testing.assert_array_equal(factor.numbers, values)


@pytest.mark.parametrize("kind", ["categorical", "ordinal", "continuous", "circular", FactorKind.CONTINUOUS])
def test_a_declared_kind_overrides_the_rule(kind):
    factor = make_factor(values_each(5, 20), name="f", kind=kind)
    assert factor.kind == kind


def test_only_categorical_factors_are_not_numeric():
    numeric = {kind: make_factor(values_each(5, 20), name="f", kind=kind).is_numeric for kind in FactorKind}
    assert numeric == {"categorical": False, "ordinal": True, "continuous": True, "circular": True}


@pytest.mark.parametrize(
    ("values", "kind", "period"),
    [
        (values_each(8, 32) * 45.0, "circular", 360.0),
        (values_each(12, 48) + 1, "circular", 12.0),
        ([0.0, 1.0, 5.0] * 8, "circular", 2 * np.pi),
        (np.linspace(0, 6, 50), "circular", 2 * np.pi),
        (values_each(8, 32) * 45.0, "circular:720", 720.0),
        ([0.0, 1.0, 5.0] * 8, "circular:24", 24.0),
        (values_each(360, 720), "circular", 360.0),
        (values_each(361, 722), "circular", 360.0),
        (values_each(37, 74) * 10.0 - 180, "circular", 360.0),
        (values_each(365, 730), "circular", 365.0),
        (values_each(7, 28), "circular", 7.0),
        (np.linspace(0, 2 * np.pi, 40)[values_each(40, 80)], "circular", 2 * np.pi),
        (np.linspace(0, 2 * np.pi, 40, endpoint=False)[values_each(40, 80)], "circular", 2 * np.pi),
        (np.random.default_rng(0).uniform(-np.pi, np.pi, 500).astype(np.float32), "circular", 2 * np.pi),
        (np.random.default_rng(0).uniform(0, 360, 500), "circular:360", 360.0),
    ],
)
def test_period_is_given_or_closes_an_even_circle_or_is_two_pi(values, kind, period):
    assert make_factor(values, name="f", kind=kind).period == pytest.approx(period)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).uniform(0, 360, 500),
        np.round(np.random.default_rng(0).uniform(0, 360, 500)),
        np.random.default_rng(0).uniform(0, 24, 500),
        np.arange(0, 360),
        [0, 10, 30] * 4,
    ],
    ids=["degrees", "whole degrees with gaps", "hours", "each degree once", "gaps"],
)
def test_an_angle_of_unknown_period_is_refused(values):
    low, high = min(values), max(values)
    sentence = f"'f' is declared circular without a period, .* from {low:g} to {high:g}, .* 'circular:360'"
    with pytest.raises(ValueError, match=sentence):
        make_factor(values, name="f", kind="circular")


@pytest.mark.parametrize("values", [["a", "b"] * 4, [0, 1] * 4, [1, 2, 3] * 4, [0.1, 0.2, 0.3, 0.4]])
def test_a_factor_knows_whether_its_kind_was_inferred(values):
    found = make_factor(values, name="f")
    assert found.inferred
    assert not make_factor(values, name="f", kind=str(found.kind).replace("continuous", "circular")).inferred


def test_targets_of_an_angle_are_its_cosine_and_sine():
    factor = make_factor(values_each(4, 16) * 90.0, name="f", kind="circular")
    expected = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    np.testing.assert_allclose(factor.targets(np.arange(4)), expected, atol=1e-12)


def test_targets_of_a_category_are_indicators_and_of_a_number_itself():
    colours = make_factor(["r", "g", "b"] * 4, name="f")
    np.testing.assert_array_equal(colours.targets(np.arange(3)), [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    numbers = make_factor([5, 6, 9] * 4, name="f")
    np.testing.assert_array_equal(numbers.targets(np.array([2, 0])), [[9], [5]])


def test_take_keeps_the_levels_that_are_left_out():
    part = make_factor(["a", "b", "c"] * 4, name="f").take(np.array([0, 3, 1]))
    assert part.levels == ("a", "b", "c")
    assert part.labels.tolist() == [0, 0, 1]
    assert part.numbers.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("values", "kind", "sentence"),
    [
        ([1] * 8, None, r"factor 'f' takes one value only; drop it"),
        (["a"] * 8, None, r"factor 'f' takes one value only; drop it"),
        ([True] * 8, None, r"factor 'f' takes one value only; drop it"),
        ([1, 1, np.nan] * 4, "circular", r"factor 'f' takes one value only; drop it"),
        ([1] * 8, None, r"by naming the others: --only in the shell, only=\[...\] in Python"),
        ([np.nan] * 8, None, r"factor 'f' has no labelled row; drop it before scoring, by naming the others"),
        ([None] * 8, "ordinal", r"factor 'f' has no labelled row"),
        (["a", "b"] * 4, "ordinal", r"factor 'f' is declared ordinal but holds text such as 'a'"),
        (["a", "b"] * 4, "circular:360", r"factor 'f' is declared circular but holds text such as 'a'"),
        (np.arange(20), "ordinal", r"declared ordinal but takes 20 distinct values in 20 rows; declare it continuous"),
        (np.arange(20), "categorical", r"categorical but takes 20 distinct values in 20 rows"),
        (values_each(1001, 5000), "categorical", r"categorical but takes 1001 distinct values in 5000 rows"),
        ([0, 1, np.inf] * 4, None, r"factor 'f' must be finite, or NaN for 'not labelled', got inf"),
        ([1, 2, 3] * 4, "circluar", r"must be one of .*, got 'circluar'; did you mean 'circular'"),
        ([1, 2, 3] * 4, "circular:-1", r"with a positive period, got 'circular:-1'"),
        ([1, 2, 3] * 4, "circular:inf", r"with a positive period, got 'circular:inf'"),
        ([1, 2, 3] * 4, "circular:full", r"with a positive period, got 'circular:full'"),
        ([1, 2, 3] * 4, "ordinal:3", r"'circular:PERIOD' with a positive period, got 'ordinal:3'"),
        ([[1, 2], [3, 4]], None, r"a factor must have shape \(n_samples,\), got \(2, 2\)"),
    ],
)
def test_refuses_what_no_metric_could_use(values, kind, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_factor(values, name="f", kind=kind)


@pytest.mark.parametrize("kind", [None, "categorical"])
@pytest.mark.parametrize(
    "values",
    [
        np.tile([3, 90, -5, 7], 25),
        np.tile(np.array([3, 200, 5, 7], dtype=np.uint8), 25),
        np.tile([0.5, 2.0, -1.0, 7.25], 25),
        np.tile([2.0, -0.0, 1.0, 0.0], 25),
        np.tile([1e9, 1e9 + 1, 1e9 + 5], 25),
        np.tile([0.0, 1e14, 5.0], 25),
    ],
)
def test_arrays_are_read_as_the_same_numbers_in_a_series_are(values, kind):
    fast, slow = make_factor(values, name="x", kind=kind), make_factor(pd.Series(values), name="x", kind=kind)
    assert (fast.kind, fast.levels, fast.inferred) == (slow.kind, slow.levels, slow.inferred)
    np.testing.assert_array_equal(fast.numbers, slow.numbers)
    np.testing.assert_array_equal(fast.labels, pd.factorize(values, sort=True)[0])
