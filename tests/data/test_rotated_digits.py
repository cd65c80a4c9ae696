import numpy as np
import pytest

from unbraid.data import DatasetRows, Digits, FactorTable, applicants, load_dataset, rotated_digits
from unbraid.data.rotated import turned


def strokes():
    """Return two pictures of each of two digits: a stroke from the middle to the right, and one upwards."""
    images = np.zeros((4, 9, 9), dtype=np.uint8)
    images[:2, 4, 4:] = 255
    images[2:, :5, 4] = 255
    return Digits(images=images, labels=np.array([0, 0, 1, 1]))


def test_a_quarter_turn_is_counter_clockwise_and_exact():
    images = strokes().images
    np.testing.assert_array_equal(turned(images, 90)[0], images[2])
    np.testing.assert_array_equal(turned(images, 0), images)


def test_every_picture_is_there_at_every_angle():
    data = rotated_digits(strokes(), angles=(0, 90), n_per_digit=None)
    assert len(data) == 8
    assert data.factors(np.arange(8)).tolist() == [[0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1]]
    upright, turned_once = data.observations(np.array([2, 4]))
    np.testing.assert_array_equal(upright, turned_once)
    assert data.observations(np.arange(3)).dtype == np.float32


def test_so_many_of_each_digit_are_drawn_by_the_seed():
    first, same, other = (rotated_digits(n_per_digit=20, rng=seed).digits for seed in (0, 0, 1))
    assert np.bincount(first.labels).tolist() == [20] * 10
    np.testing.assert_array_equal(first.images, same.images)
    assert not np.array_equal(first.images, other.images)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"angles": ()}, "number of angles must be at least 1"),
        ({"angles": (0, 0)}, "angles must differ"),
        ({"n_per_digit": 3}, "n_per_digit must be at most 2, the pictures of 0, got 3"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        rotated_digits(strokes(), **options)


def test_rows_of_a_data_set_keep_their_factors():
    data = rotated_digits(strokes(), angles=(0, 90), n_per_digit=None)
    part = DatasetRows(data, np.array([7, 2]))
    assert len(part) == 2
    assert part.factors(np.array([1, 0])).tolist() == [[1, 0], [1, 1]]
    np.testing.assert_array_equal(part.observations(np.array([0])), data.observations(np.array([7])))
    assert part.factor_sizes == data.factor_sizes


def test_applicants_tell_their_group_and_their_skill_apart_from_it():
    data = applicants(2000)
    numbers, (hired, group) = data.observations(np.arange(2000)), data.factors(np.arange(2000)).T
    assert abs(group.mean() - 0.4) < 0.03
    by_group = [hired[group == value].mean() for value in (0, 1)]
    assert 0.02 < by_group[1] - by_group[0] < 0.15  # a little favour
    weights, *_ = np.linalg.lstsq(np.c_[numbers, np.ones(2000)], np.c_[hired, group], rcond=None)
    predicted = (np.c_[numbers, np.ones(2000)] @ weights > 0.5).astype(int)
    assert (predicted[:, 1] == group).mean() > 0.99
    assert (predicted[:, 0] == hired).mean() > 0.88


def test_tables_must_fit_their_factors():
    with pytest.raises(ValueError, match=r"factors must have shape \(4, 2\), rows and names, got \(4, 1\)"):
        FactorTable(np.zeros((4, 3)), np.zeros((4, 1), dtype=int), names=("a", "b"))


@pytest.mark.parametrize("name", ["rotated_digits", "coloured_digits", "applicants"])
def test_catalogue_has_them_without_files(name):
    data = load_dataset(name)
    factors = data.factors(np.arange(len(data)))
    assert tuple(factors.max(axis=0) + 1) == data.factor_sizes
    assert data.observations(np.arange(3)).shape == (3, *data.observation_shape)
