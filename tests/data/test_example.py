import numpy as np
import pytest

from unbraid.data import example


def columns():
    rep = example(600)
    codes = dict(zip(rep.code_names, rep.codes.T, strict=True))
    factors = {factor.name: factor for factor in rep.factors}
    return codes, factors


def test_factors_have_the_kinds_they_are_made_with():
    rep = example(600)
    assert {factor.name: str(factor.kind) for factor in rep.factors} == {
        "shape": "categorical",
        "size": "ordinal",
        "angle": "circular",
        "x": "ordinal",
        "y": "ordinal",
    }
    assert rep.factors[2].period == 360
    assert [len(factor.levels) for factor in rep.factors] == [3, 6, 40, 32, 32]


def test_only_the_dead_code_is_dead():
    rep = example(600)
    assert [name for name, active in zip(rep.code_names, rep.active, strict=True) if not active] == ["dead"]


def test_angle_codes_are_the_cosine_and_sine_of_the_angle():
    codes, factors = columns()
    angle = np.deg2rad(factors["angle"].numbers)
    np.testing.assert_allclose(codes["angle_cos"], np.cos(angle), atol=0.15)
    np.testing.assert_allclose(codes["angle_sin"], np.sin(angle), atol=0.15)


def test_place_codes_are_the_position_turned_by_thirty_degrees():
    codes, factors = columns()
    place = (codes["place_a"] + 1j * codes["place_b"]) * np.exp(-1j * np.pi / 6)
    np.testing.assert_allclose(place.real, factors["x"].numbers, atol=0.15)
    np.testing.assert_allclose(place.imag, factors["y"].numbers, atol=0.15)


def test_the_noise_code_follows_no_factor():
    codes, factors = columns()
    for factor in factors.values():
        assert abs(np.corrcoef(codes["noise"], factor.numbers)[0, 1]) < 0.15


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
def test_same_seed_same_rows(seed, same):
    first, second = example(100), example(100, seed=seed)
    assert (first.codes == second.codes)[:, :-1].all() == same
