import math
from itertools import combinations

import numpy as np
import pytest

from unbraid import metrics
from unbraid.data import orthogonal_scheme
from unbraid.data.orthogonal import axis_windows, quantise, scheme_truth

SETTINGS = [(5, 5, 1), (10, 5, 2), (10, 5, 5), (20, 5, 4), (20, 5, 8), (6, 2, 6), (12, 3, 7)]
MAPPINGS = [
    (10, 5, 5, "polynomial"),
    (10, 5, 5, "trigonometric"),
    (5, 5, 1, "permutation"),
    (5, 5, 1, "noisy"),
]


def numbers(scheme):
    return np.stack([factor.numbers for factor in scheme.representation.factors], axis=1)


def windows_of_the_pseudocode(n_codes, n_factors, rank):
    """Slices of the codes repeated three times, as the appendix writes them; one set of codes for each factor."""
    repeated = list(range(n_codes)) * 3
    starts = range(n_codes, 2 * n_codes, n_codes // n_factors)
    return [set(repeated[start - math.floor(rank / 2) : start + math.ceil(rank / 2)]) for start in starts]


def test_the_first_factor_of_figure_5_reads_the_last_two_codes_and_the_first_three():
    assert axis_windows(10, 5, 5)[0].tolist() == [8, 9, 0, 1, 2]
    assert axis_windows(10, 5, 5)[4].tolist() == [6, 7, 8, 9, 0]


@pytest.mark.parametrize(("n_codes", "n_factors", "rank"), SETTINGS)
def test_truths_count_the_axes_each_pair_shares(n_codes, n_factors, rank):
    windows = windows_of_the_pseudocode(n_codes, n_factors, rank)
    truth = scheme_truth(n_codes, n_factors, rank)
    pairs = [1 - len(windows[j] & windows[k]) / rank for j, k in combinations(range(n_factors), 2)]
    assert [set(window) for window in axis_windows(n_codes, n_factors, rank)] == windows
    assert [truth.iwo_matrix[pair] for pair in combinations(range(n_factors), 2)] == pytest.approx(pairs)
    assert truth.iwo == pytest.approx(np.mean(pairs))
    assert truth.iwr == pytest.approx(1 - math.log(rank, n_codes))
    np.testing.assert_allclose(truth.iwo_matrix, truth.iwo_matrix.T)
    np.testing.assert_allclose(np.diagonal(truth.iwo_matrix), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "iwo", "iwr"),
    [((5, 5, 1), 1.0, 1.0), ((10, 5, 2), 1.0, 0.69897), ((10, 5, 5), 0.6, 0.30103), ((20, 5, 8), 0.75, 0.30587)],
)
def test_truths_by_hand(sizes, iwo, iwr):
    scheme = orthogonal_scheme(*sizes, n_samples=200)
    assert scheme.true_iwo == pytest.approx(iwo)
    assert scheme.true_iwr == pytest.approx(iwr, abs=1e-5)


def test_factors_that_read_every_code_are_not_orthogonal_at_all():
    scheme = orthogonal_scheme(6, 3, 6, n_samples=200)
    assert scheme.true_iwo == pytest.approx(0, abs=1e-12)
    assert scheme.true_iwr == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize(("n_codes", "n_factors", "rank", "mapping"), MAPPINGS)
def test_axes_are_orthonormal_and_overlap_as_the_truth_says(n_codes, n_factors, rank, mapping, rotate):
    scheme = orthogonal_scheme(n_codes, n_factors, rank, mapping=mapping, rotate=rotate, n_samples=200)
    for axes in scheme.axes:
        assert axes.shape == (n_codes, rank)
        np.testing.assert_allclose(axes.T @ axes, np.eye(rank), atol=1e-12)
    overlap = [[((a.T @ b) ** 2).sum() / rank for b in scheme.axes] for a in scheme.axes]
    np.testing.assert_allclose(1 - np.array(overlap), scheme.iwo_matrix, atol=1e-12)


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize(
    ("mapping", "function"),
    [
        ("polynomial", lambda c: np.sqrt((c**2).sum(axis=1) / 5)),
        ("trigonometric", lambda c: np.cos(c).sum(axis=1) / 5),
    ],
)
def test_factors_follow_from_the_codes_along_their_axes(mapping, function, rotate):
    scheme = orthogonal_scheme(10, 5, 5, mapping=mapping, rotate=rotate, n_samples=500)
    along = np.stack([function(scheme.representation.codes @ axes) for axes in scheme.axes], axis=1)
    np.testing.assert_allclose(numbers(scheme), quantise(along, 40), atol=1e-12)


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize(("mapping", "atol"), [("permutation", 1e-12), ("noisy", 0.06)])
def test_discrete_factors_lie_along_their_axis(mapping, atol, rotate):
    scheme = orthogonal_scheme(5, 5, 1, mapping=mapping, rotate=rotate, n_samples=2000)
    along = np.hstack([scheme.representation.codes @ axes for axes in scheme.axes])
    np.testing.assert_allclose(along, numbers(scheme), atol=atol)
    assert (along - numbers(scheme)).std() == pytest.approx(0.01 if mapping == "noisy" else 0, abs=0.0005)
    assert sorted(set(numbers(scheme).ravel())) == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("mapping", ["polynomial", "trigonometric"])
def test_values_fill_the_unit_interval_at_forty_levels(mapping):
    factors = numbers(orthogonal_scheme(10, 5, 2, mapping=mapping))
    np.testing.assert_allclose(np.unique(factors), np.arange(40) / 39)


def test_quantise_clips_rescales_and_rounds():
    values = np.arange(101.0)
    assert quantise(values, 99).tolist() == pytest.approx([0, *np.arange(99) / 98, 1])
    assert quantise(values, 2).tolist() == [0.0] * 51 + [1.0] * 50


@pytest.mark.parametrize(("n_levels", "kind"), [(40, "ordinal"), (5, "ordinal"), (2000, "continuous")])
def test_kinds_follow_the_values(n_levels, kind):
    rep = orthogonal_scheme(4, 2, 2, n_levels=n_levels, n_samples=600).representation
    assert {str(factor.kind) for factor in rep.factors} == {kind}


def test_rotation_turns_the_codes_and_keeps_factors_and_truths():
    plain, turned = (orthogonal_scheme(10, 5, 5, rotate=rotate, n_samples=300) for rotate in (False, True))
    np.testing.assert_array_equal(numbers(plain), numbers(turned))
    assert (plain.true_iwo, plain.true_iwr) == (turned.true_iwo, turned.true_iwr)
    gram = plain.representation.codes @ plain.representation.codes.T
    np.testing.assert_allclose(turned.representation.codes @ turned.representation.codes.T, gram, atol=1e-9)
    assert not np.allclose(plain.representation.codes, turned.representation.codes)


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
@pytest.mark.parametrize(("n_codes", "n_factors", "rank", "mapping"), MAPPINGS)
def test_same_seed_same_rows(n_codes, n_factors, rank, mapping, seed, same):
    first, second = (
        orthogonal_scheme(n_codes, n_factors, rank, mapping=mapping, rotate=True, n_samples=50, seed=s)
        for s in (0, seed)
    )
    assert np.array_equal(first.representation.codes, second.representation.codes) == same
    assert np.array_equal(numbers(first), numbers(second)) == same


def test_linear_correlation_sees_a_permutation_and_not_a_polynomial():
    permuted = orthogonal_scheme(5, 5, 1, mapping="permutation", n_samples=500).representation
    assert float(metrics.mcc(permuted)) == pytest.approx(1)
    assert float(metrics.r2(orthogonal_scheme(10, 5, 2).representation)) < 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_codes": 11}, "n_codes must be a multiple of n_factors, got 11 and 5"),
        ({"n_codes": 4}, "n_codes must be at least 5, got 4"),
        ({"n_factors": 1}, "n_factors must be at least 2, got 1"),
        ({"rank": 0}, "^rank must be"),
        ({"rank": 11}, "rank must be at most n_codes = 10, got 11"),
        ({"mapping": "trig"}, "mapping must be one of polynomial, trigonometric, permutation, noisy, got 'trig'"),
        ({"mapping": "noisy"}, "n_codes must equal n_factors and rank must be 1 for a noisy mapping, got 10, 5 and 2"),
        ({"n_levels": 1}, "n_levels must be at least 2, got 1"),
        ({"n_samples": 3}, "n_samples must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        orthogonal_scheme(**{"n_codes": 10, "n_factors": 5, "rank": 2} | arguments)
