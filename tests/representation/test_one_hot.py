"""Columns of one-hot labels are recognised, and nothing else is."""

import numpy as np
import pytest

from unbraid import Representation
from unbraid.representation.warnings import one_hot_groups, representation_notes

SHAPE, COLOUR = np.arange(240) % 4, np.arange(240) // 4 % 3
SHAPES, COLOURS = np.eye(4)[SHAPE], np.eye(3)[COLOUR]
COIN = (np.arange(240) // 12 % 2)[:, None]


def groups_of(*columns):
    rep = Representation(np.random.default_rng(0).standard_normal((240, 2)), np.column_stack(columns))
    return one_hot_groups(rep.factors), " ".join(representation_notes(rep))


def names(*places):
    return [f"factor_{k}" for k in places]


@pytest.mark.parametrize(
    ("columns", "groups"),
    [
        ((SHAPES,), [names(0, 1, 2, 3)]),
        ((SHAPES.astype(bool),), [names(0, 1, 2, 3)]),
        ((COIN, SHAPES), [names(1, 2, 3, 4)]),
        ((SHAPES, COLOURS, COIN), [names(0, 1, 2, 3), names(4, 5, 6)]),
        ((COIN, 1 - COIN), [names(0, 1)]),
    ],
)
def test_one_hot_labels_are_asked_about_with_the_cure(columns, groups):
    found, notes = groups_of(*columns)
    assert found == groups
    assert "one-hot labels of one categorical factor?" in notes
    assert "give one column instead (in Python, columns.argmax(axis=1))" in notes


@pytest.mark.parametrize(
    "columns",
    [
        (SHAPES[:, :3],),
        (SHAPES + 1,),
        (SHAPE, COLOUR),
        (COIN, (np.arange(240) // 24 % 2)[:, None]),
        (np.where(np.arange(240)[:, None] == 5, np.nan, SHAPES),),
    ],
    ids=["a class is missing", "not 0 and 1", "positions", "independent coins", "not labelled everywhere"],
)
def test_other_factors_are_not(columns):
    found, notes = groups_of(*columns)
    assert found == []
    assert "one-hot" not in notes
