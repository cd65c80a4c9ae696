"""Rows to judge on never move; rows to learn from are nested."""

from itertools import pairwise

import numpy as np
import pytest

from unbraid.downstream import split_rows


def test_every_row_is_on_one_side():
    split = split_rows(200)
    assert len(split.test) == 60
    assert sorted([*split.test, *split.train]) == list(range(200))


def test_test_rows_depend_on_rows_and_seed_alone():
    first, again, other = split_rows(200, seed=3), split_rows(200, seed=3), split_rows(200, seed=4)
    np.testing.assert_array_equal(first.test, again.test)
    np.testing.assert_array_equal(first.train, again.train)
    assert set(first.test) != set(other.test)


def test_smaller_training_sets_begin_larger_ones():
    split = split_rows(200)
    sizes = [split.train_rows(size) for size in (10, 0.5, 100, 1.0)]
    assert [len(rows) for rows in sizes] == [10, 70, 100, 140]
    for small, large in pairwise(sizes):
        np.testing.assert_array_equal(small, large[: len(small)])
    np.testing.assert_array_equal(split.train_rows(), split.train_rows(1.0))
    # and are no particular rows: neither the first ones nor in order
    assert sizes[0].max() > 100
    assert (np.diff(split.train_rows()) < 0).any()
    assert not set(split.train_rows()) & set(split.test)


def test_test_rows_can_be_given():
    wanted = np.arange(0, 40, 2)
    split = split_rows(100, test_rows=wanted)
    np.testing.assert_array_equal(split.test, wanted)
    assert len(split.train) == 80
    assert len(split_rows(100, test_rows=25).test) == 25
    # a count draws the first of the same shuffled rows
    assert set(split_rows(100, test_rows=20).test) < set(split_rows(100).test)


@pytest.mark.parametrize(
    ("size", "error", "sentence"),
    [
        (141, ValueError, "n_train must be at most 140, the rows that are not tested on, got 141"),
        (9, ValueError, "at least 10 rows to learn from, got 9"),
        (0.01, ValueError, r"at least 10 rows to learn from, got 0.01 \(1\)"),
        (1.5, ValueError, r"a share in \(0, 1\] or a whole number of rows, got 1.5"),
        ("all", TypeError, "n_train must be a number of rows, a share of them, or None for all, got 'all'"),
        (True, TypeError, "got True"),
    ],
)
def test_bad_sizes(size, error, sentence):
    with pytest.raises(error, match=sentence):
        split_rows(200).train_rows(size)


@pytest.mark.parametrize(
    ("rows", "error", "sentence"),
    [
        ([0, 1, 200], ValueError, "test_rows must be between 0 and 199, got 0 to 200"),
        ([0, 1, 1], ValueError, "each row once"),
        (5, ValueError, "at least 10 rows to learn from and 10 to be tested on, got 195 and 5 of 200"),
        (195, ValueError, "got 5 and 195 of 200"),
        (0.3, TypeError, "test_rows must be row numbers, or how many, got 0.3"),
    ],
)
def test_bad_test_rows(rows, error, sentence):
    with pytest.raises(error, match=sentence):
        split_rows(200, test_rows=rows)


def test_too_few_rows():
    with pytest.raises(ValueError, match="got 14 and 6 of 20"):
        split_rows(20)
