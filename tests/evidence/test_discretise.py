import numpy as np
import pytest

from unbraid.evidence.information import discretise, factor_labels
from unbraid.representation.factor import make_factor


def test_uniform_bins_are_those_of_a_histogram():
    column = np.random.default_rng(0).standard_normal(1000)
    bins, n_bins = discretise(column, 12, "uniform")
    np.testing.assert_array_equal(np.bincount(bins, minlength=12), np.histogram(column, 12)[0])
    assert n_bins == 12


def test_quantile_bins_hold_equal_counts():
    bins, _ = discretise(np.random.default_rng(0).exponential(size=1000), 10, "quantile")
    np.testing.assert_array_equal(np.bincount(bins), np.full(10, 100))


def test_robust_nearly_equals_uniform_without_tails():
    column = np.random.default_rng(0).uniform(size=1000)
    robust, uniform = (discretise(column, 20, binning)[0] for binning in ("robust", "uniform"))
    assert np.mean(robust != uniform) < 0.1
    assert np.abs(robust - uniform).max() == 1


@pytest.mark.parametrize(("tail", "rel"), [("normal", 0.1), ("standard_exponential", 0.1), ("standard_cauchy", 0.15)])
def test_robust_bins_do_not_grow_with_the_number_of_rows(tail, rel):
    def width(n_rows):
        column = getattr(np.random.default_rng(0), tail)(size=n_rows)
        bins = discretise(column, 20, "robust")[0]
        inside = (bins > 0) & (bins < 19)
        return np.ptp(column[inside]) / np.ptp(bins[inside])

    assert width(2000) == pytest.approx(width(100_000), rel=rel)


def test_robust_keeps_the_bins_of_the_rest_when_one_value_is_far():
    column = np.random.default_rng(0).uniform(size=8000)
    before = discretise(column, 20, "robust")[0]
    after = discretise(np.append(column, 1e9), 20, "robust")[0]
    assert np.mean(before != after[:-1]) < 0.01


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 1e-5, 7e8])
@pytest.mark.parametrize("shift", [0.0, 0.1, -1000.0])
def test_values_on_edges_fall_on_one_side_for_any_unit(shift, scale):
    """Of 25 values in 20 bins every sixth is on an edge."""
    column = np.tile(np.arange(25), 40)
    expected = discretise(column.astype(float), 20, "robust")[0]
    assert len(np.unique(expected)) == 20
    np.testing.assert_array_equal(discretise((column + shift) * scale, 20, "robust")[0], expected)
    single = ((column + shift) * scale).astype(np.float32).astype(float)
    assert abs(shift) > 1 or np.array_equal(discretise(single, 20, "robust")[0], expected)


def test_rare_values_join_the_nearest_common_one():
    column = np.concatenate([np.repeat([0.0, 1.0, 100.0], 1000), np.arange(30) + 0.1])
    bins, n_bins = discretise(column, 5, "robust")
    assert n_bins == 5
    assert len(set(bins[[0, 1000, 2000]])) == 3
    assert bins[-1] < bins[2000]


def test_robust_keeps_few_values_as_they_are():
    column = np.array([0.0, 0.001, 1000.0] * 10)
    bins, n_bins = discretise(column, 20, "robust")
    assert n_bins == 3
    assert len(np.unique(bins)) == 3


def test_mostly_constant_column_is_still_cut():
    column = np.concatenate([np.zeros(950), np.random.default_rng(0).uniform(1, 2, 50)])
    assert len(np.unique(discretise(column, 20, "robust")[0])) > 3


@pytest.mark.parametrize("binning", ["uniform", "quantile", "robust"])
def test_constant_column_falls_into_one_bin(binning):
    assert len(np.unique(discretise(np.full(50, 3.0), 10, binning)[0])) == 1


def test_continuous_factor_is_binned_and_unlabelled_rows_stay_out():
    values = np.random.default_rng(0).uniform(size=200)
    values[:7] = np.nan
    labels, n_levels = factor_labels(make_factor(values, name="depth"), 10, "uniform")
    assert n_levels == 10
    assert (labels[:7] == -1).all()
    assert labels[7:].min() == 0


def test_angle_bins_divide_the_circle_evenly_wherever_it_starts():
    angle = np.linspace(-np.pi, np.pi, 400, endpoint=False)
    labels, _ = factor_labels(make_factor(angle, name="a", kind="circular"), 8, "robust")
    np.testing.assert_array_equal(np.bincount(labels), np.full(8, 50))
