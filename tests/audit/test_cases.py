"""The cases are what they say."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from unbraid import Representation
from unbraid.audit import CASES, Should
from unbraid.audit.cases import resolve_cases, with_references
from unbraid.audit.encoders import LEAK, MIXING, MORE_MIXING, ROTATION

N = 3000
STRUCTURES = ("independent", "correlated", "copied", "composed")
GUARD = (
    "scaled",
    "warped",
    "mixed",
    "dropped",
    "duplicated",
    "several_views",
    "mixed_wide",
    "circles",
    "noise_normal",
    "noise_uniform",
)


def build(name, seed=0):
    return CASES[name].build(seed=seed, n_rows=N)


def information(code, factor):
    """Mutual information in nats of values as they are, without bins."""
    return mutual_info_score(np.unique(np.round(code, 9), return_inverse=True)[1], factor)


def shares(codes, factors):
    """How much of each factor's entropy each code knows, ``(n_codes, n_factors)``."""
    entropy = [information(factor, factor) for factor in factors.T]
    return np.array([[information(code, factor) for factor in factors.T] for code in codes.T]) / entropy


def test_the_grid_has_four_structures_by_ten_encoders():
    assert {f"{structure}/{encoder}" for structure in STRUCTURES for encoder in GUARD} <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_every_case_can_be_scored_and_says_what_it_is(name):
    case = CASES[name]
    codes, factors = build(name)
    rep = Representation(codes, factors, kinds=case.structure.kinds)
    assert rep.n_samples == (100 if name.startswith("few_rows/") else N)
    assert rep.n_factors == (1 if name.startswith("one_labelled/") else 3)
    assert case.baseline in CASES
    assert (case.baseline == name) == (case.truth.modularity is Should.BEST)
    assert "; factors " in case.description
    assert case.description.endswith(".")
    assert "\n" not in case.description


def test_a_case_and_its_baseline_have_the_same_factors_and_seeds_differ():
    _, factors = build("correlated/mixed", seed=3)
    np.testing.assert_array_equal(factors, build("correlated/identity", seed=3)[1])
    assert not np.array_equal(factors, build("correlated/identity", seed=4)[1])
    first, second = build("independent/noise_normal")[0], build("independent/noise_code")[0][:, -1]
    assert abs(np.corrcoef(first[:, 0], second)[0, 1]) < 0.1


def test_independent_factors_tell_nothing_of_each_other_and_codes_tell_all():
    codes, factors = build("independent/identity")
    np.testing.assert_allclose(shares(codes, factors), np.eye(3), atol=0.01)


def test_correlated_factors_correlate_and_are_evenly_likely():
    _, factors = build("correlated/identity")
    np.testing.assert_allclose(np.corrcoef(factors.T)[np.triu_indices(3, 1)], 0.66, atol=0.05)
    for column, size in zip(factors.T, (4, 5, 6), strict=True):
        np.testing.assert_allclose(np.bincount(column) / N, 1 / size, atol=0.03)


def test_copied_and_composed_factors_are_functions_of_others():
    first, second, third = build("copied/identity")[1].T
    np.testing.assert_array_equal(third, second // 2)
    assert information(first, second) < 0.01
    first, second, third = build("composed/identity")[1].T
    np.testing.assert_array_equal(third, first + second)


@pytest.mark.parametrize("structure", ["correlated", "copied", "composed"])
def test_shuffling_keeps_each_factor_and_breaks_the_tie(structure):
    tied, apart = build(f"{structure}/identity")[1], build(f"{structure}_shuffled/identity")[1]
    for before, after in zip(tied.T, apart.T, strict=True):
        np.testing.assert_allclose(np.bincount(before) / N, np.bincount(after) / N, atol=0.05)
    assert information(tied[:, 1], tied[:, 2]) > 0.2
    assert information(apart[:, 1], apart[:, 2]) < 0.02


def test_packing_puts_all_of_two_factors_into_one_code():
    np.testing.assert_allclose(shares(*build("independent/two_factors_per_code")), [[1, 1, 0], [0, 0, 1]], atol=0.02)


def test_two_digits_tell_a_factor_together_and_neither_alone():
    codes, factors = build("independent/two_codes_per_factor")
    table = shares(codes, factors)
    for k in range(3):
        assert 0.3 < table[k, k] < 0.9
        assert 0.2 < table[k + 3, k] < 0.9
        np.testing.assert_array_equal(2 * codes[:, k] + codes[:, k + 3], factors[:, k])


def test_a_duplicate_and_a_bent_copy_tell_everything_again_but_only_one_is_straight():
    for name in ("duplicated", "bent_copy"):
        codes, factors = build(f"independent/{name}")
        np.testing.assert_allclose(shares(codes, factors), np.vstack([np.eye(3), np.eye(3)]), atol=0.01)
        lines = [abs(np.corrcoef(codes[:, k + 3], factors[:, k])[0, 1]) for k in range(3)]
        assert (min(lines) > 0.999) if name == "duplicated" else (max(lines) < 0.1)


def test_warps_go_up_and_are_not_straight():
    codes, factors = build("continuous/warped")
    for code, factor in zip(codes.T, factors.T, strict=True):
        assert (np.diff(code[np.argsort(factor)]) >= 0).all()
        assert np.corrcoef(code, factor)[0, 1] < 0.97


def test_matrices_are_what_they_are_called():
    np.testing.assert_allclose(ROTATION @ ROTATION.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(ROTATION) == pytest.approx(1)
    for matrix in (MIXING, LEAK):
        assert np.linalg.cond(matrix) < 10
        directions = np.linalg.inv(matrix) / np.linalg.norm(np.linalg.inv(matrix), axis=0)
        assert np.abs((directions.T @ directions)[np.triu_indices(3, 1)]).min() > 0.2  # not at right angles
    assert np.linalg.matrix_rank(np.hstack([MIXING, MORE_MIXING])) == 3


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_mixed_code_is_a_factor_in_disguise(structure):
    for encoder in ("mixed", "mixed_wide"):
        codes, factors = build(f"{structure}/{encoder}")
        across = np.corrcoef(codes.T, factors.T)[: codes.shape[1], codes.shape[1] :]
        assert np.abs(across).max() < 0.96


def test_leaky_codes_are_mostly_about_one_factor_and_partly_about_another():
    codes, factors = build("independent/leaky")
    across = np.abs(np.corrcoef(codes.T, factors.T)[:3, 3:])
    np.testing.assert_allclose(np.sort(across, axis=1), [[0, 0.447, 0.894]] * 3, atol=0.06)


def test_noise_dead_dropped_and_outlier():
    codes, factors = build("independent/noise_normal")
    assert np.abs(np.corrcoef(codes.T, factors.T)[:3, 3:]).max() < 0.06
    assert build("independent/dead_code")[0][:, 0].std() == 0
    assert build("independent/dropped")[0].shape == (N, 2)
    far = build("independent/outlier")[0]
    assert (np.abs(far) > 100).sum() == 3


def test_circles_have_radius_one_and_tell_the_factor():
    codes, factors = build("independent/circles")
    np.testing.assert_allclose(codes[:, :3] ** 2 + codes[:, 3:] ** 2, 1, atol=1e-12)
    angle = np.arctan2(codes[:, 0], codes[:, 3]) % (2 * np.pi)
    assert information(angle, factors[:, 0]) == pytest.approx(information(factors[:, 0], factors[:, 0]))


def test_cosine_scenarios_are_those_of_the_paper():
    codes, factors = build("tied_angles/cosines_pair")
    first, second, third = factors.T
    np.testing.assert_allclose(third, (first + second) / 2)
    np.testing.assert_allclose(codes[:, :3], np.cos(np.stack([first, second, (3 * first + second) / 4], axis=1)))
    codes, factors = build("angles/cosines_pairs")
    np.testing.assert_allclose(codes[:, 2], np.cos((factors[:, 1] + factors[:, 2]) / 2))
    assert abs(np.corrcoef(codes[:, 3], factors[:, 0])[0, 1]) < 0.06


def test_patterns_choose_cases_and_bring_what_they_are_compared_with():
    chosen = resolve_cases("copied/mixed*, uneven/identity")
    assert [case.name for case in chosen] == ["copied/mixed", "copied/mixed_wide", "uneven/identity"]
    names = [case.name for case in with_references(chosen)]
    assert {"copied/identity", "copied_shuffled/identity", "independent/identity"} <= set(names)
    assert {"independent/noise_normal", "independent/mixed"} <= set(names)
    assert len(names) == 8
    angles = {case.name for case in with_references(chosen, of_angles=True)}
    assert angles - set(names) == {"circular/wheels", "circular/noise_normal"}
    assert len(resolve_cases("all")) == len(CASES)
    with pytest.raises(ValueError, match="Unknown case 'copied/mixt'; did you mean 'copied/mixed'"):
        resolve_cases(["copied/mixt"])
    with pytest.raises(ValueError, match="cases must name at least one case"):
        resolve_cases([])
