"""RMIG, WSEPIN and WINDIN against closed forms."""

import numpy as np
import pytest
import scipy

from unbraid.metrics import rmig, sepin

RNG = np.random.default_rng(0)
N = 1500
Y = RNG.standard_normal((N, 2))
CORNERS = np.stack(np.meshgrid([0.0, 100.0], [0.0, 100.0]), axis=-1).reshape(-1, 2).repeat(50, axis=0)


def test_well_separated_corners_are_a_bit_each():
    found = sepin(CORNERS, code_variances=np.ones(CORNERS.shape), interval=False)
    for score in found:
        np.testing.assert_allclose(score.per_code, np.log(2), atol=1e-6)
    exact = rmig(CORNERS, CORNERS, code_variances=np.ones(CORNERS.shape))
    assert (exact.value, exact.plain) == pytest.approx((1.0, 1.0), abs=1e-6)


def test_copies_have_nothing_of_their_own():
    copies = np.hstack([CORNERS, CORNERS])
    found = sepin(copies, code_variances=np.ones(copies.shape))
    assert float(found.wsepin) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(found.wsepin.evidence["information_with_data"], np.log(2), atol=1e-6)
    assert float(rmig(copies, CORNERS, code_variances=np.ones(copies.shape))) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_separation_of_few_rows_is_extrapolated_to_that_of_many():
    """Five normal channels that share nothing, half the logarithm of 1 + 1/s each; 300 rows show less."""
    s, rng = 0.3, np.random.default_rng(2)
    truth = 0.5 * np.log(1 + 1 / s)
    draws = [
        sepin(rng.standard_normal((300, 5)), code_variances=np.full((300, 5), s), n_samples=600, rng=i).wsepin
        for i in range(6)
    ]
    plain, value = np.mean([one.plain for one in draws]), np.mean([one.value for one in draws])
    assert plain < truth - 0.1
    assert abs(value - truth) < 0.6 * abs(plain - truth)


@pytest.mark.slow
def test_gaussian_channels():
    """Normal means and noise of variance s: half the logarithm of 1 + 1/s each, and of 1 + 2/s for a copy."""
    s = 0.5
    found = sepin(Y, code_variances=np.full(Y.shape, s), n_samples=4000)
    np.testing.assert_allclose(found.wsepin.per_code, 0.5 * np.log(1 + 1 / s), atol=0.06)
    copied = sepin(Y[:, [0, 0]], code_variances=np.full(Y.shape, s), n_samples=4000)
    np.testing.assert_allclose(copied.windin.per_code, 0.5 * np.log((1 + 2 / s) / (1 + 1 / s)), atol=0.06)


@pytest.mark.slow
def test_a_mean_that_hardly_moves_knows_nothing_however_it_is_scaled():
    codes = np.column_stack([CORNERS[:, 0], 0.001 * CORNERS[:, 0] / 100, CORNERS[:, 1]])
    score = rmig(codes, CORNERS, code_variances=np.ones(codes.shape))
    assert float(score) == pytest.approx(1.0, abs=1e-4)
    assert score.evidence["mutual_information"][1].max() < 1e-3
    twice = sepin(codes * [1, 7, 1], code_variances=np.ones(codes.shape) * [1, 49, 1])
    assert float(twice.wsepin) == pytest.approx(float(sepin(codes, code_variances=np.ones(codes.shape)).wsepin))


@pytest.mark.slow
def test_intervals_hold_the_value_and_narrow_with_the_rows_and_chance_is_low():
    rng = np.random.default_rng(1)
    width = {}
    for n_rows in (400, 3200):
        factors = rng.integers(0, 4, (n_rows, 2))
        codes = factors + 0.5 * rng.normal(size=factors.shape)
        found = rmig(codes, factors, code_variances=np.full(codes.shape, 0.3))
        assert found.low < found.value < found.high
        assert found.null < 0.1 * found.value
        width[n_rows] = found.high - found.low
        both = sepin(codes, code_variances=np.full(codes.shape, 0.3), n_samples=300)
        assert all(score.low < score.value < score.high for score in both)
    assert width[3200] < 0.8 * width[400]
    bare = rmig(codes, factors, code_variances=np.full(codes.shape, 0.3), interval=False, chance=False)
    assert (bare.value, bare.low, bare.null) == (found.plain, None, None)


@pytest.mark.slow
def test_what_few_posteriors_hide_is_extrapolated():
    rng = np.random.default_rng(2)
    factors = rng.integers(0, 4, (8000, 2))
    codes = factors + 0.5 * rng.normal(size=factors.shape)
    many = rmig(codes, factors, code_variances=np.full(codes.shape, 0.3), interval=False, chance=False)
    few = [
        rmig(codes[rows], factors[rows], code_variances=np.full((200, 2), 0.3), chance=False)
        for rows in np.split(np.arange(2400), 12)
    ]
    plain, value = (float(np.mean(values)) for values in zip(*((one.plain, one.value) for one in few), strict=True))
    assert plain < many.value - 0.004
    assert abs(value - many.value) < 0.5 * abs(plain - many.value)


def test_order_and_scale_change_nothing_and_a_rotation_does():
    rng = np.random.default_rng(3)
    factors = rng.integers(0, 4, (300, 2))
    codes = factors + 0.3 * rng.normal(size=factors.shape)
    variances = np.full(codes.shape, 0.1)
    scale = np.array([3.0, 0.2])
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)

    def scores(means, variances):
        quick = {"code_variances": variances, "interval": False}
        return rmig(means, factors, chance=False, **quick).value, sepin(means, **quick).wsepin.value

    before = scores(codes, variances)
    assert scores(codes * scale + 7, variances * scale**2) == pytest.approx(before, abs=1e-6)
    assert scores(codes[:, ::-1], variances[:, ::-1])[0] == pytest.approx(before[0], abs=1e-9)
    assert scores(codes @ turn, variances)[0] < before[0] - 0.1


def test_rmig_is_that_of_the_published_bins_within_their_width():
    """Do & Tran integrate posteriors over 100 bins of the range from -4 to 4."""
    rng = np.random.default_rng(4)
    factors = rng.integers(0, 3, (900, 2))
    means = (factors - 1) @ np.array([[1.0, 0.3], [0.0, 1.2]]) + 0.2 * rng.normal(size=factors.shape)
    deviation = np.full(means.shape, 0.3)
    cumulated = scipy.special.ndtr((np.linspace(-4, 4, 101)[:, None, None] - means) / deviation)
    shares = np.diff(cumulated, axis=0)  # of bin, row and code
    of_value = np.stack([shares[:, factors[:, 0] == v].sum(axis=1) for v in range(3)])
    joint = of_value / of_value.sum(axis=(0, 1))
    independent = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    information = scipy.special.rel_entr(joint, independent).sum(axis=(0, 1))
    share = np.bincount(factors[:, 0]) / 900
    published = np.ptp(information) / -(share * np.log(share)).sum()
    found = rmig(means, factors, code_variances=deviation**2, interval=False, chance=False)
    assert found.per_factor[0] == pytest.approx(published, abs=1e-3)


def test_too_few_rows_are_pointed_out():
    codes = RNG.standard_normal((100, 8))
    found = sepin(codes, code_variances=np.full(codes.shape, 0.01))
    assert "near the 4.61" in found.wsepin.notes[0]
    with pytest.raises(ValueError, match="code_variances must have the shape of codes"):
        sepin(codes, code_variances=np.ones((100, 2)))
    with pytest.raises(TypeError, match="wsepin, windin"):
        float(found)
