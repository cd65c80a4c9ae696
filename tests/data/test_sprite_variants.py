"""What is painted over sprites is drawn once for each row and leaves the sprite to be seen."""

import numpy as np
import pytest

from unbraid.data import sprites, sprites_colour, sprites_mini, sprites_noisy, sprites_scream, sprites_square
from unbraid.data.procedural import _texture, uniform_by_row

ROWS = np.random.default_rng(0).integers(737_280, size=200)
INSIDE = sprites().observations(ROWS)[:, 0] == 1
VARIANTS = [sprites_colour, sprites_noisy, sprites_scream, sprites_square]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_is_the_same_picture_in_any_batch_and_another_with_another_seed(variant):
    data = variant(sprites_mini(), seed=3)
    together = data.observations(ROWS[:20] % len(data))
    alone = [data.observations(ROWS[i : i + 1] % len(data))[0] for i in range(20)]
    assert np.array_equal(together, np.stack(alone))
    assert together.shape[1:] == data.observation_shape
    assert together.dtype == np.float32
    assert 0 <= together.min() < together.max() <= 1
    assert not np.array_equal(together, variant(sprites_mini(), seed=4).observations(ROWS[:20] % len(data)))
    assert data.factor_sizes == sprites_mini().factor_sizes
    assert data.factor_kinds == sprites_mini().factor_kinds
    assert np.array_equal(data.factors(ROWS % len(data)), sprites_mini().factors(ROWS % len(data)))


def test_colour_is_even_from_a_half_to_one_and_only_on_the_sprite():
    pictures = sprites_colour().observations(ROWS)
    assert not pictures.transpose(0, 2, 3, 1)[~INSIDE].any()
    colours = pictures.max(axis=(2, 3))
    one_colour = np.where(INSIDE[:, None], colours[:, :, None, None], 0)
    assert np.array_equal(pictures, one_colour)
    assert 0.5 <= colours.min() < 0.52
    assert 0.98 < colours.max() < 1
    assert colours.mean() == pytest.approx(0.75, abs=0.02)
    assert np.abs(np.corrcoef(colours.T)[np.triu_indices(3, 1)]).max() < 0.25


def test_noise_is_even_and_only_behind_the_sprite():
    pictures = sprites_noisy().observations(ROWS).transpose(0, 2, 3, 1)
    assert (pictures[INSIDE] == 1).all()
    noise = pictures[~INSIDE]
    assert noise.mean() == pytest.approx(0.5, abs=0.002)
    assert noise.std() == pytest.approx(np.sqrt(1 / 12), abs=0.002)


def test_the_texture_is_inverted_under_the_sprite_and_smooth_elsewhere():
    base, data = sprites(), sprites_scream()
    pictures = data.observations(ROWS).transpose(0, 2, 3, 1)
    ground = np.where(INSIDE[..., None], 1 - pictures, pictures)
    steps = np.abs(np.diff(ground, axis=2))
    assert steps.mean() < 0.05  # neighbours are alike, across the edge of the sprite too
    assert ground.std(axis=(1, 2)).mean() > 0.05
    places = ground.reshape(len(ROWS), -1)
    assert len(np.unique(places, axis=0)) == len(ROWS)
    assert data.observation_shape == (3, *base.observation_shape[1:])


def test_the_background_is_a_piece_of_the_texture_averaged_with_a_colour():
    pictures, texture = sprites_scream(seed=2).observations(ROWS), _texture(2, 274, 350)
    for row, picture, inside in zip(ROWS[:20], pictures, INSIDE, strict=False):
        *colour, down, across = uniform_by_row(2, np.array([row]), 5)[0]
        top, left = int(down * (274 - 64 + 1)), int(across * (350 - 64 + 1))
        ground = (texture[:, top : top + 64, left : left + 64] + np.array(colour)[:, None, None]) / 2
        np.testing.assert_allclose(picture, np.where(inside, 1 - ground, ground), atol=1e-6)
    assert np.histogram(texture, bins=10, range=(0, 1))[0] == pytest.approx(texture.size / 10, abs=3)


def test_grey_squares_are_where_they_are_said_to_be_and_whole():
    data = sprites_square()
    pictures, squares = data.observations(ROWS)[:, 0], data.squares(ROWS)
    for picture, inside, (left, top, side) in zip(pictures, INSIDE, squares, strict=True):
        expected = inside.astype(float)
        expected[top : top + side, left : left + side] = 0.5
        assert np.array_equal(picture, expected)
        assert (picture == 0.5).sum() == side**2
    assert (squares[:, 2].min(), squares[:, 2].max()) == (4, 16)
    assert (squares[:, :2] + squares[:, 2:]).max() <= 64
    assert np.ptp(squares[:, :2], axis=0).min() > 45
    assert np.array_equal(data.squares(ROWS[:1]), squares[:1])


def test_numbers_by_row_are_even_and_independent():
    numbers = uniform_by_row(7, np.arange(20_000), 4).astype(np.float64)
    assert 0 <= numbers.min() < 1e-4
    assert 1 - 1e-4 < numbers.max() < 1
    np.testing.assert_allclose(np.histogram(numbers, bins=10, range=(0, 1))[0] / numbers.size, 0.1, atol=0.005)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(4)).max() < 0.03
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
    longer = uniform_by_row(7, np.arange(20_000), 8)
    assert abs(np.corrcoef(longer[1:, 0], longer[:-1, 4])[0, 1]) < 0.03  # rows do not overlap
    other = uniform_by_row(8, np.arange(20_000), 4)
    assert abs(np.corrcoef(numbers[:, 0], other[:, 0])[0, 1]) < 0.03
    assert uniform_by_row(-1, np.arange(3), 2).shape == (3, 2)


def test_only_black_and_white_is_painted():
    with pytest.raises(ValueError, match=r"base must have pictures of one channel, got 3."):
        sprites_noisy(sprites_colour())
