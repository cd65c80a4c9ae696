"""MIG-sup, JEMMIG, DCIMIG, modularity and InfoMEC on worlds with known answers."""

import numpy as np
import pytest

from helpers.worlds import full_grid, random_factors
from unbraid.metrics import dcimig, infomec, jemmig, mig_sup, modularity
from unbraid.metrics.information.gaps import deviation_from_one_factor, gaps_by_best_factor
from unbraid.metrics.information.infomec import rescaled_largest_share

GRID = full_grid(4, 3, 2)
IN_ORDER = GRID[:, [1, 2, 0]]
LOG2, LOG3, LOG4 = np.log(2), np.log(3), np.log(4)


def two_in_one(sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """First code holds both factors, second repeats the first factor."""
    factors = full_grid(*sizes)
    return np.column_stack([factors[:, 0] * sizes[1] + factors[:, 1], factors[:, 0]]), factors


def test_all_are_one_for_permuted_factors():
    for metric in (mig_sup, jemmig, dcimig, modularity):
        assert float(metric(IN_ORDER, GRID)) == pytest.approx(1.0), metric.__name__
    for score in infomec(IN_ORDER, GRID)[:2]:
        assert float(score) == pytest.approx(1.0)


class TestMigSup:
    def test_does_not_mind_doubled_codes(self):
        assert float(mig_sup(np.hstack([GRID, -GRID]), GRID)) == pytest.approx(1.0)

    def test_code_holding_two_factors_whole_has_no_gap(self):
        codes, factors = two_in_one((4, 5))
        np.testing.assert_allclose(mig_sup(codes, factors).per_code, [0.0, 1.0], atol=1e-12)

    def test_half_of_the_codes_silent_halves_the_score(self):
        factors = full_grid(2, 2, 2)
        silent = (factors.sum(axis=1) % 2)[:, None]  # parity: independent of each factor
        assert float(mig_sup(np.hstack([factors[:, :1], silent]), factors[:, :2])) == pytest.approx(0.5)

    def test_dead_codes_are_left_out(self):
        codes = np.hstack([np.ones((len(GRID), 1)), GRID])
        score = mig_sup(codes, GRID)
        assert float(score) == pytest.approx(1.0)
        assert np.isnan(score.per_code[0])


class TestJemmig:
    def test_doubled_codes_score_a_half_when_bins_match_the_factor(self):
        """H - I + I' = H(v) over H(v) + log B = 2 H(v)."""
        factors = full_grid(4, 4)
        assert float(jemmig(np.hstack([factors, -factors]), factors)) == pytest.approx(0.5)

    def test_what_else_the_best_code_holds_counts_against_it(self):
        codes, factors = two_in_one((4, 2))
        expected_first = 1 - (LOG4 - LOG4 + LOG4) / (LOG4 + LOG4)  # best code is the pure one, runner-up as good
        expected_second = 1 - (LOG4 + LOG2 - LOG2 + 0) / (LOG2 + np.log(8))
        first_best = 1 - (LOG4 + LOG2 - LOG4 + LOG4) / (LOG4 + np.log(8))  # or the mixed one: ties are either
        score = jemmig(codes, factors)
        assert score.per_factor[0] == pytest.approx(expected_first) or score.per_factor[0] == pytest.approx(first_best)
        assert score.per_factor[1] == pytest.approx(expected_second)


class TestDcimig:
    def test_does_not_mind_doubled_codes(self):
        assert float(dcimig(np.hstack([GRID, -GRID]), GRID)) == pytest.approx(1.0)

    def test_codes_that_mix_factors_keep_the_difference_only(self):
        codes, factors = two_in_one((4, 2))
        # The mixed code gives log 4 - log 2 to the first factor, whose pure code gives log 4; the second gets nothing.
        assert float(dcimig(codes, factors)) == pytest.approx(LOG4 / (LOG4 + LOG2))

    def test_gap_goes_to_the_best_factor(self):
        np.testing.assert_allclose(gaps_by_best_factor(np.array([[3.0, 1.0], [0.5, 0.75]])), [[2.0, 0.0], [0.0, 0.25]])


class TestModularity:
    def test_does_not_mind_doubled_codes(self):
        assert float(modularity(np.hstack([GRID, -GRID]), GRID)) == pytest.approx(1.0)

    def test_equal_information_about_all_factors_scores_zero(self):
        codes = full_grid(3, 3)
        both = codes[:, 0] * 3 + codes[:, 1]
        assert modularity(np.column_stack([both, codes[:, 0]]), codes).per_code[0] == pytest.approx(0.0)

    def test_unequal_information_follows_the_formula(self):
        codes, factors = two_in_one((4, 2))
        assert modularity(codes, factors).per_code[0] == pytest.approx(1 - (LOG2 / LOG4) ** 2)

    def test_dead_code_is_left_out_rather_than_nan(self):
        score = modularity(np.hstack([np.ones((len(GRID), 1)), GRID]), GRID)
        assert float(score) == pytest.approx(1.0)
        assert "1 constant code left out." in score.notes

    def test_plug_in_information_of_noise_scores_far_above_zero_which_is_why_there_is_a_null(self):
        codes = np.random.default_rng(0).standard_normal((2000, 10))
        assert 0.4 < float(modularity(codes, random_factors(3, 6, 40, 32, 32), bias_correction="none")) < 0.9

    def test_silent_code_has_no_deviation(self):
        assert np.isnan(deviation_from_one_factor(np.zeros((1, 3)))).all()


class TestInfomec:
    def test_doubled_codes_halve_the_largest_share(self):
        modularity_score, compactness, _ = infomec(np.hstack([GRID, -GRID]), GRID)
        assert float(modularity_score) == pytest.approx(1.0)
        assert float(compactness) == pytest.approx((1 / 2 - 1 / 6) / (1 - 1 / 6))

    def test_shares_are_of_each_factors_entropy(self):
        """A code that holds two factors whole has shares 1 and 1, whatever their sizes."""
        codes, factors = two_in_one((8, 2))
        assert infomec(codes, factors).modularity.per_code[0] == pytest.approx(0.0)

    def test_explicitness_is_near_one_for_linearly_coded_values_and_zero_for_noise(self):
        factors = random_factors(2, 3, n_samples=3000)
        one_hot = np.column_stack([factors[:, 0], factors[:, 1] == 1, factors[:, 1] == 2]).astype(float)
        assert float(infomec(one_hot, factors).explicitness) > 0.98
        noise = np.random.default_rng(0).standard_normal((3000, 3))
        assert float(infomec(noise, factors).explicitness) < 0.01

    def test_explicitness_of_a_continuous_factor_is_held_out_r2(self):
        rng = np.random.default_rng(0)
        depth = rng.standard_normal((20_000, 2))
        codes = depth + rng.standard_normal((20_000, 2))  # signal and noise of equal variance
        assert float(infomec(codes, depth).explicitness) == pytest.approx(0.5, abs=0.02)

    def test_even_shares_are_zero_and_a_single_one_is_one(self):
        np.testing.assert_allclose(rescaled_largest_share(np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]])), [0.0, 1.0])
