"""Sprites are where their factors say, as large and as turned as they say, and no two are the same by accident."""

import numpy as np
import pytest

from unbraid.data import sprites, sprites_mini

SQUARE, ELLIPSE, HEART = range(3)
SPRITES = sprites()


def draw(**factors):
    """Draw one sprite: a heart of full scale, upright, in a corner, but for what is given."""
    values = {"shape": HEART, "scale": 5, "orientation": 0, "x": 0, "y": 0} | factors
    return SPRITES.observations(SPRITES.rows(np.array([list(values.values())])))[0, 0]


def centroids(pictures):
    """Column and row of the middle of the ink."""
    rows, columns = np.indices(pictures.shape[1:])
    ink = pictures.sum(axis=(1, 2))
    return np.stack([(pictures * columns).sum(axis=(1, 2)), (pictures * rows).sum(axis=(1, 2))], axis=1) / ink[:, None]


def test_the_grid_is_that_of_dsprites():
    assert SPRITES.factor_names == ("shape", "scale", "orientation", "x", "y")
    assert SPRITES.factor_sizes == (3, 6, 40, 32, 32)
    assert SPRITES.factor_kinds == ("categorical", "ordinal", "circular:40", "ordinal", "ordinal")
    assert len(SPRITES) == 737_280
    rows = np.array([0, 1, 32, 1024, 40 * 1024, 6 * 40 * 1024, 737_279])
    assert SPRITES.factors(rows).tolist() == [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [2, 5, 39, 31, 31],
    ]
    assert np.array_equal(SPRITES.rows(SPRITES.factors(rows)), rows)


def test_pictures_are_black_and_white_of_64_pixels():
    pictures = SPRITES.observations(np.arange(0, len(SPRITES), 9973))
    assert pictures.shape[1:] == SPRITES.observation_shape == (1, 64, 64)
    assert pictures.dtype == np.float32
    assert np.unique(pictures).tolist() == [0, 1]


def test_the_centroid_moves_one_pixel_with_each_step_of_position_and_not_otherwise():
    rng = np.random.default_rng(0)
    factors = rng.integers(SPRITES.factor_sizes, size=(2000, 5))
    there = factors.copy()
    there[:, 3:] = 0
    moved = centroids(SPRITES.observations(SPRITES.rows(factors))[:, 0])
    origin = centroids(SPRITES.observations(SPRITES.rows(there))[:, 0])
    np.testing.assert_allclose(moved - origin, factors[:, 3:], atol=1e-5)
    assert np.abs(origin - 16).max() < 0.35  # turned about the centroid, whatever the shape, scale and turn


@pytest.mark.parametrize("shape", [SQUARE, ELLIPSE, HEART])
def test_area_grows_with_the_square_of_scale(shape):
    factors = [[shape, scale, turn, 4, 4] for scale in range(6) for turn in range(40)]
    areas = SPRITES.observations(SPRITES.rows(np.array(factors))).sum(axis=(1, 2, 3)).reshape(6, 40).mean(axis=1)
    np.testing.assert_allclose(areas / areas[-1], np.linspace(0.5, 1, 6) ** 2, rtol=0.02)
    assert areas[-1] == pytest.approx(22**2, rel=0.02)  # all shapes have the area of the square


@pytest.mark.parametrize(("shape", "period"), [(SQUARE, 10), (ELLIPSE, 20), (HEART, 40)])
def test_turns_repeat_where_the_shape_does_and_only_there(shape, period):
    factors = [[shape, scale, turn, 7, 3] for scale in range(6) for turn in range(40)]
    pictures = SPRITES.observations(SPRITES.rows(np.array(factors))).reshape(6, 40, -1)
    assert np.array_equal(pictures, np.roll(pictures, period, axis=1))
    for of_scale in pictures:
        assert len(np.unique(of_scale, axis=0)) == period


def test_ten_steps_of_orientation_are_a_quarter_turn():
    for turn in range(30):
        here, there = draw(orientation=turn, x=12, y=20), draw(orientation=turn + 10, x=31 - 20, y=12)
        assert np.array_equal(there, np.rot90(here, -1))


def test_the_upright_heart_is_symmetric_and_its_tip_points_down():
    ink = draw().sum(axis=1)
    assert np.array_equal(draw(), np.pad(draw()[:33, :33][:, ::-1], ((0, 31), (0, 31))))
    assert ink[:33].argmax() < 16
    assert ink[np.flatnonzero(ink)[-1]] < ink[np.flatnonzero(ink)[0]]


def test_the_upright_square_and_ellipse_have_the_extents_of_their_formulas():
    square, ellipse = draw(shape=SQUARE), draw(shape=ELLIPSE)
    assert (square.sum(axis=0).max(), square.sum(axis=1).max(), square.sum()) == (23, 23, 23**2)
    assert (ellipse.sum(axis=1).max(), ellipse.sum(axis=0).max()) == (2 * 15 + 1, 2 * 10 + 1)
    assert (draw(shape=SQUARE, orientation=5).sum(axis=0) > 0).sum() == pytest.approx(22 * np.sqrt(2), abs=1)


@pytest.mark.parametrize("data", [SPRITES, sprites_mini()], ids=["sprites", "sprites_mini"])
def test_no_two_cutouts_are_the_same_but_for_a_shift(data):
    def cut(template):
        rows, columns = (np.flatnonzero(template.any(axis=axis)) for axis in (1, 0))
        piece = template[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        return piece.shape, piece.tobytes()

    turns = data.factor_sizes[2]
    distinct = data.factor_sizes[1] * (turns // 4 + turns // 2 + turns)
    assert len({cut(template) for template in data.templates}) == distinct


@pytest.mark.slow
def test_all_of_the_small_set_is_distinct_up_to_symmetry():
    data = sprites_mini()
    pictures = data.observations(np.arange(len(data))).reshape(len(data), -1)
    assert len(data) == 3 * 3 * 8 * 8 * 8
    assert len(np.unique(pictures, axis=0)) == 3 * (2 + 4 + 8) * 64


def test_a_row_is_the_same_picture_in_any_batch():
    rows = np.array([5, 99, 700_000, 5])
    together = SPRITES.observations(rows)
    for row, picture in zip(rows, together, strict=True):
        assert np.array_equal(SPRITES.observations(np.array([row]))[0], picture)
    assert SPRITES.observations(np.array([], dtype=int)).shape == (0, 1, 64, 64)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([737_280], "index must be between 0 and 737279, got 737280 to 737280."),
        ([-1], "index must be between 0 and 737279, got -1 to -1."),
        ([[1]], r"index must be a list of whole numbers, got shape \(1, 1\) of int64."),
        ([0.5], r"index must be a list of whole numbers, got shape \(1,\) of float64."),
    ],
)
def test_rows_that_are_not_there(index, message):
    with pytest.raises(ValueError, match=message):
        SPRITES.observations(np.array(index))


def test_factors_that_are_not_there():
    with pytest.raises(ValueError, match=r"factor 'scale' must be between 0 and 5, got 6 to 6."):
        SPRITES.rows(np.array([[0, 6, 0, 0, 0]]))
    with pytest.raises(ValueError, match=r"factors must have shape \(n, 5\), got \(1, 4\)."):
        SPRITES.rows(np.array([[0, 6, 0, 0]]))
