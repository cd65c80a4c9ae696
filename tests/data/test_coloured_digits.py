import numpy as np
import pytest
from scipy.stats import chisquare

from unbraid.data import Digits, coloured_digits

# Table 5 of arXiv:2408.07016: for the digits 0 to 3, black background, red digit.
TABLE_5 = np.array([[0.8, 0.8, 0.2, 0.2], [0.8, 0.2, 0.8, 0.2]])


def digits(n_samples=8000, *, n_labels=10, image=None):
    image = np.array([[0, 255], [51, 0]], dtype=np.uint8) if image is None else image
    return Digits(images=np.broadcast_to(image, (n_samples, 2, 2)), labels=np.arange(n_samples) % n_labels)


def factors_of(data):
    return data.factors(np.arange(len(data)))


def test_keeps_the_digits_that_have_probabilities():
    data = coloured_digits(digits())
    assert len(data) == 3200
    assert np.bincount(factors_of(data)[:, 0]).tolist() == [800] * 4
    assert data.factor_sizes == (4, 2, 2)
    assert data.factor_names == ("digit", "digit_colour", "background_colour")


@pytest.mark.parametrize("seed", range(3))
def test_colours_follow_table_5_and_are_independent_given_the_digit(seed):
    data = coloured_digits(digits(40_000, n_labels=4), rng=seed)
    digit, ink, paper = factors_of(data).T
    for d in range(4):
        black, red = TABLE_5[:, d]
        of_digit = 2 * paper[digit == d] + ink[digit == d]  # black red, black green, white red, white green
        expected = [black * red, black * (1 - red), (1 - black) * red, (1 - black) * (1 - red)]
        assert chisquare(np.bincount(of_digit), 10_000 * np.array(expected)).pvalue > 1e-3


def test_cells_without_probability_stay_empty():
    data = coloured_digits(digits(n_labels=2), black_background=(1, 0), red_digit=(0.5, 1))
    counts = np.zeros(data.factor_sizes, dtype=int)
    np.add.at(counts, tuple(factors_of(data).T), 1)
    assert counts[0, :, 1].tolist() == [0, 0]  # 0 is never on white
    assert counts[1].tolist() == [[0, 4000], [0, 0]]  # 1 is always red on white
    assert counts[0, :, 0].min() > 1900


def test_pixels_mix_ink_and_paper_in_proportion():
    data = coloured_digits(digits(n_labels=2), black_background=(1, 0), red_digit=(0, 1))
    green_on_black, red_on_white = data.observations(np.array([0, 1]))
    ink = np.array([[0, 1], [0.2, 0]])
    np.testing.assert_allclose(green_on_black, [0 * ink, ink, 0 * ink])
    np.testing.assert_allclose(red_on_white, [np.ones((2, 2)), 1 - ink, 1 - ink])


def test_same_seed_same_colours():
    assert np.array_equal(factors_of(coloured_digits(digits(), rng=3)), factors_of(coloured_digits(digits(), rng=3)))
    assert not np.array_equal(factors_of(coloured_digits(digits(), rng=3)), factors_of(coloured_digits(digits())))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"red_digit": (0.5, 1.2), "black_background": (1, 1)},
            r"red_digit must be probabilities between 0 and 1, got",
        ),
        ({"red_digit": (0.5, 0.5)}, "must have one probability for each digit, got 2 and 4"),
        ({"red_digit": (0.5,), "black_background": (1,)}, "number of values of red_digit must be at least 2, got 1"),
    ],
)
def test_bad_probabilities(options, message):
    with pytest.raises(ValueError, match=message):
        coloured_digits(digits(), **options)


def test_a_digit_without_pictures():
    with pytest.raises(ValueError, match="digits must have pictures of 0 to 3, got none of 3"):
        coloured_digits(digits(n_labels=3))
