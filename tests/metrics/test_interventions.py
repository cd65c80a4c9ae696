"""Z-diff, Z-min variance, Z (1), Z (2) and IRS on worlds with known answers."""

import numpy as np
import pytest

from helpers.worlds import DSPRITES_SIZES, full_grid, random_factors, standardised
from unbraid import Representation
from unbraid.evidence import interventions
from unbraid.evidence.interventions import RowGroupOptions, group_variances
from unbraid.metrics import irs, irs_of, z1, z2, z_diff, z_min_var

FACTORS = random_factors(5, 6, 8, n_samples=3000)
CODES = FACTORS[:, [2, 0, 1]].astype(float)
NOISE = np.random.default_rng(1).standard_normal((3000, 4))


class TestVotes:
    @pytest.mark.parametrize("metric", [z_diff, z_min_var])
    def test_is_one_for_permuted_factors(self, metric):
        assert float(metric(CODES, FACTORS)) == 1.0

    @pytest.mark.parametrize("metric", [z_diff, z_min_var])
    def test_is_near_zero_for_noise_since_guessing_is_rescaled_away(self, metric):
        score = metric(NOISE, FACTORS)
        assert float(score) < 0.1
        assert score.evidence["overall_accuracy"][0] == pytest.approx(1 / 3, abs=0.07)

    @pytest.mark.parametrize("metric", [z_diff, z_min_var])
    def test_does_not_mind_doubled_or_dead_codes(self, metric):
        codes = np.column_stack([np.zeros(3000), CODES, -CODES])
        assert float(metric(codes, FACTORS)) == 1.0

    def test_z_diff_forgives_one_missing_factor_and_z_min_var_does_not(self):
        """The failure that made Kim and Mnih propose the second: all but one factor separated."""
        codes = np.column_stack([CODES[:, 1:], NOISE[:, 0]])
        assert float(z_diff(codes, FACTORS)) > 0.95
        assert float(z_min_var(codes, FACTORS)) < 0.9

    @pytest.mark.parametrize("metric", [z_diff, z_min_var])
    def test_a_sampler_of_fresh_observations_serves_as_well_as_rows(self, metric):
        def sampler(fixed_factor, group_size, rng):
            values = rng.integers([5, 6, 8], size=(group_size, 3)).astype(float)
            values[:, fixed_factor] = values[0, fixed_factor]
            return values[:, [2, 0, 1]]

        assert float(metric(CODES, FACTORS, n_votes=50, group_size=30, sampler=sampler)) == 1.0

    @pytest.mark.parametrize("metric", [z_diff, z_min_var])
    def test_continuous_factors_are_cut_into_values(self, metric):
        factors = np.random.default_rng(0).uniform(size=(3000, 3))
        assert float(metric(factors, factors)) > 0.99

    def test_a_factor_without_repeats_is_refused(self):
        rep = Representation(np.eye(5)[:, :2], {"a": [0, 1, 2, 3, 4], "b": [0, 0, 1, 1, 1]}, kinds={"a": "continuous"})
        with pytest.raises(ValueError, match="factor 'a' has no value shared by two rows"):
            z_min_var(rep)

    def test_noise_gains_nothing_from_few_rows_for_a_value(self):
        """Groups to learn from and groups to judge on used to share rows, and 20 codes of noise scored 0.4."""
        rng = np.random.default_rng(0)
        scores = [
            float(z_min_var(rng.standard_normal((400, 20)), rng.integers(0, 20, (400, 2)), n_votes=500))
            for _ in range(8)
        ]
        assert np.mean(scores) < 0.12

    def test_values_count_by_frequency(self):
        """A code that tells the factors apart at a rare value only is no use."""
        rng = np.random.default_rng(0)
        factors = np.column_stack([rng.random(4000) < 0.02, rng.random(4000) < 0.5]).astype(int)
        codes = np.column_stack([np.where(factors[:, 0], 0.0, rng.standard_normal(4000)), rng.standard_normal(4000)])
        assert float(z_min_var(codes, factors)) < 0.2

    def test_options_are_checked(self):
        with pytest.raises(ValueError, match="group_size must be at least 2, got 1"):
            z_min_var(CODES, FACTORS, group_size=1)
        with pytest.raises(ValueError, match="n_votes must be at least 10, got 3"):
            z_diff(CODES, FACTORS, n_votes=3)


class TestZ1AndZ2:
    def test_full_grid_in_any_order_is_one(self):
        grid = full_grid(9, 10, 11)
        assert float(z1(grid[:, ::-1], grid)) == pytest.approx(1.0, abs=1e-12)
        assert float(z2(grid[:, ::-1], grid)) == pytest.approx(1.0, abs=1e-2)

    def test_one_factor_is_enough(self):
        assert float(z1(CODES, FACTORS[:, :1])) == pytest.approx(1.0, abs=1e-12)
        assert float(z2(CODES, FACTORS[:, :1])) > 0.98

    def test_two_factors_of_equal_weight_in_each_code_leave_half_the_variance(self):
        s = standardised(full_grid(30, 30).astype(float))
        codes = np.column_stack([s[:, 0] + s[:, 1], s[:, 0] - s[:, 1]])
        assert float(z1(codes, full_grid(30, 30))) == pytest.approx(0.5, abs=0.02)
        # c = 1/2 for both codes: 1 - (1/2 + 4 * 1/4 * 1/2) = 0
        assert float(z2(codes, full_grid(30, 30))) == pytest.approx(0.0, abs=0.02)

    def test_information_left_elsewhere_lowers_z2_only(self):
        s = standardised(full_grid(30, 30).astype(float))
        codes = np.column_stack([s, s[:, 0] + s[:, 1]])
        assert float(z1(codes, full_grid(30, 30))) == pytest.approx(1.0, abs=1e-12)
        # The third code has c = 1/2 for either factor: c* = (1/4 + 0) / 2, score 1 - 4 * 1/8.
        assert float(z2(codes, full_grid(30, 30))) == pytest.approx(0.5, abs=0.04)

    def test_dsprites_sized_factors_are_one_up_to_finite_rows(self):
        factors = random_factors(*DSPRITES_SIZES, n_samples=20_000)
        assert float(z1(factors, factors)) == pytest.approx(1.0, abs=1e-12)
        assert float(z2(factors, factors)) > 0.99

    def test_few_rows_for_a_value_neither_reward_noise_nor_punish_perfect_codes(self):
        rng = np.random.default_rng(0)
        values, noise = rng.integers(0, 32, (500, 3)), rng.standard_normal((500, 6))
        assert float(z1(noise, values)) < 0.06 < 0.3 < float(z1(noise, values, variant="thesis"))
        assert float(z2(values, values)) > 0.95 > 0.8 > float(z2(values, values, variant="thesis"))

    def test_pooled_variances_follow_by_hand(self):
        """One factor of two values: code 0 has variances 0 and 2 at them, code 1 has 1 at either."""
        factor = np.array([0, 0, 1, 1])
        codes = np.column_stack([[0.0, 0, 5, 7], [0.0, 2**0.5, 0, 2**0.5]])
        total = codes.var(axis=0, ddof=1)
        share = np.minimum(1 / total, 1)
        assert float(z1(codes, factor)) == pytest.approx(1 - share.min())
        rest = share.max()
        assert float(z2(codes, factor)) == pytest.approx(1 - (share.min() + 4 * rest * (1 - rest) * (1 - share.min())))
        at_values = np.array([[0, 1 / total[1]], [2 / total[0], 1 / total[1]]])
        thesis = np.clip(at_values, 0, 1).min(axis=1).mean()
        assert float(z1(codes, factor, variant="thesis")) == pytest.approx(1 - thesis)

    def test_sampling_few_rows_at_a_value_lowers_the_published_score(self):
        """Algorithm 10 as printed, with J rows at each of many values; all rows are its limit."""
        rng = np.random.default_rng(0)
        values = rng.integers(0, 32, (20_000, 3))
        codes = values + 0.0
        whole, at = codes.var(axis=0, ddof=1), [[np.flatnonzero(one == u) for u in range(32)] for one in values.T]

        def algorithm_10(n_rows):
            smallest, undecided = [], []
            for _ in range(1000):
                same = at[rng.integers(3)][rng.integers(32)]
                c = np.clip(codes[rng.choice(same, n_rows)].var(axis=0, ddof=1) / whole, 0, 1)
                others = np.delete(c, c.argmin())
                smallest.append(c.min())
                undecided.append((others * (1 - others)).mean())
            return 1 - (np.mean(smallest) + 4 * np.mean(undecided) * (1 - np.mean(smallest)))

        assert algorithm_10(64) == pytest.approx(0.83, abs=0.02)
        assert algorithm_10(200) == pytest.approx(0.89, abs=0.02)
        assert float(z2(codes, values, variant="thesis")) == pytest.approx(0.95, abs=0.01)

    def test_unknown_variant(self):
        with pytest.raises(ValueError, match="variant must be one of pooled, thesis, got 'mean'"):
            z1(CODES, FACTORS, variant="mean")


def authors_irs(codes: np.ndarray, factors: np.ndarray) -> float:
    """The published score, line by line: nothing is clipped."""
    largest = np.abs(codes - codes.mean(axis=0)).max(axis=0)
    matrix = np.empty((codes.shape[1], factors.shape[1]))
    for k, column in enumerate(factors.T):
        parts = [codes[column == value] for value in np.unique(column)]
        matrix[:, k] = 1 - np.mean([np.abs(part - part.mean(axis=0)).max(axis=0) for part in parts], axis=0) / largest
    return float(np.average(matrix.max(axis=1), weights=largest))


class TestIrs:
    def test_is_one_for_permuted_factors(self):
        assert float(irs(CODES, FACTORS)) == pytest.approx(1.0)
        assert float(irs(CODES, FACTORS, variant="thesis")) == pytest.approx(1.0)

    def test_difference_of_two_binary_factors_follows_by_hand(self):
        """z = v1 - v2 in {-1, 0, 1}: with v1 fixed, distance 1/2 from its mean; largest distance 1, mean 1/2."""
        factors = full_grid(2, 2)
        codes = np.column_stack([factors[:, 0] - factors[:, 1], factors[:, 0]])
        score = irs(codes, factors, variant="thesis")
        np.testing.assert_allclose(score.evidence["robustness"], [[0.5, 0.5], [1.0, 0.0]])
        assert float(score) == pytest.approx(0.75)
        assert float(irs(codes, factors, quantile=1)) == pytest.approx((1 * 0.5 + 0.5 * 1) / 1.5)
        many = np.tile(np.arange(4), 5000)
        np.testing.assert_allclose(
            irs(codes[many], factors[many]).evidence["robustness"], [[0.0, 0.0], [1.0, 0.0]], atol=1e-3
        )

    def test_thesis_variant_averages_repeats_before_taking_the_largest(self):
        factors = np.tile(full_grid(2, 2), (500, 1))
        noisy = factors + 0.1 * np.random.default_rng(0).standard_normal(factors.shape)
        assert float(irs(noisy, factors, variant="thesis")) > 0.97
        assert float(irs(noisy, factors, quantile=1)) < 0.75

    def test_authors_variant_counts_codes_below_zero_as_the_authors_do(self):
        rng = np.random.default_rng(3)
        factors = rng.integers(0, 8, (200, 2))
        codes = rng.integers(0, 2, (200, 4)).astype(float)  # the rarer of two values lies farther from their mean
        codes[:, 0] = factors[:, 0]
        matrix = irs(codes, factors, variant="authors").evidence["robustness"]
        assert matrix.max(axis=1).min() < 0
        assert float(irs(codes, factors, variant="authors")) == pytest.approx(authors_irs(codes, factors), abs=1e-12)

    def test_with_mean_distances_the_number_of_rows_does_not_matter(self):
        def noisy(n_rows):
            rng = np.random.default_rng(0)
            factors = rng.integers(0, 8, (n_rows, 3))
            return factors + rng.standard_normal(factors.shape), factors

        few, many = noisy(400), noisy(40_000)
        assert float(irs(*few)) == pytest.approx(float(irs(*many)), abs=0.025)
        assert float(irs(*few, quantile=1)) > float(irs(*many, quantile=1)) + 0.05

    def test_noise_scores_nothing(self):
        assert float(irs(NOISE, FACTORS)) < 0.01

    def test_quantile_guards_against_one_far_row(self):
        codes = CODES.copy()
        codes[0, 0] += 3.0
        assert float(irs(codes, FACTORS, quantile=0.99)) > float(irs(codes, FACTORS, quantile=1))

    def test_doubled_codes_do_not_matter(self):
        assert float(irs(np.hstack([CODES, -CODES]), FACTORS)) == pytest.approx(1.0)

    @pytest.mark.parametrize("quantile", [0.0, 1.5])
    def test_quantile_must_be_a_share(self, quantile):
        with pytest.raises(ValueError, match=r"quantile must be in \(0, 1\]"):
            irs(CODES, FACTORS, quantile=quantile)

    def test_mean_distances_take_no_quantile(self):
        with pytest.raises(ValueError, match="quantile must be left out with variant='mean'"):
            irs(CODES, FACTORS, quantile=0.9, variant="mean")


class TestSeveralFactorsFixedAtOnce:
    """Codes of a position that is turned by 45 degrees, and of a shape: only both coordinates together hold codes."""

    GRID = full_grid(5, 5, 3)
    TURNED = np.column_stack([GRID[:, 0] + GRID[:, 1], GRID[:, 0] - GRID[:, 1], GRID[:, 2]]).astype(float)

    def test_one_code_and_one_factor_are_an_entry_of_irs(self):
        rng = np.random.default_rng(0)
        factors = rng.integers(0, 4, (400, 3))
        codes = factors @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(400, 4))
        matrix = irs(codes, factors, variant="thesis").evidence["robustness"]
        ours = [[irs_of(codes, factors, of=[j], fixed=[k]) for k in range(3)] for j in range(4)]
        np.testing.assert_allclose(ours, np.clip(matrix, 0, 1), atol=1e-12)

    def test_by_hand(self):
        """With x fixed, y is up to 2 from its mean, and both codes move by as much: 2 sqrt 2, of 4 at the corners."""
        found = {fixed: irs_of(self.TURNED, self.GRID, of=[0, 1], fixed=fixed) for fixed in ((), (0,), (0, 1), (2,))}
        assert found == pytest.approx({(): 0.0, (0,): 1 - np.sqrt(2) / 2, (0, 1): 1.0, (2,): 0.0})

    def test_joined_factors_are_held_fixed_together(self):
        rep = Representation(self.TURNED, {"x": self.GRID[:, 0], "y": self.GRID[:, 1], "shape": self.GRID[:, 2]})
        joined = rep.with_joined_factors({"position": ["x", "y"]})
        assert float(irs(rep, variant="thesis")) < 0.7
        for metric in (lambda one: irs(one, variant="thesis"), z_min_var, z_diff, z1):
            assert float(metric(joined)) == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"of": [], "fixed": [0]}, "of must be columns of the codes, from 0 to 2, got"),
            ({"of": [3], "fixed": [0]}, "of must be columns of the codes"),
            ({"of": [0], "fixed": ["hue"]}, "fixed must be one of"),
        ],
    )
    def test_what_is_not_there_is_refused(self, given, words):
        with pytest.raises(ValueError, match=words):
            irs_of(self.TURNED, self.GRID, **given)


def test_variances_of_wide_codes_are_those_in_double_precision(monkeypatch):
    rng = np.random.default_rng(0)
    rep = Representation(1000 + rng.normal(size=(400, 70)), rng.integers(0, 3, (400, 2)))
    wide = group_variances(rep, RowGroupOptions(n_votes=20), np.random.default_rng(1))
    monkeypatch.setattr("unbraid.evidence.interventions.MOST_EXACT", 100)
    few = group_variances(rep, RowGroupOptions(n_votes=20), np.random.default_rng(1))
    np.testing.assert_allclose(wide.summary, few.summary, rtol=1e-4)


@pytest.mark.parametrize("function", [irs, z1, z2])
def test_wide_codes_score_as_the_same_codes_one_factor_at_a_time(monkeypatch, function):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (150, 3)).astype(float)
    factors[:10, 0] = np.nan
    codes = rng.normal(size=(150, 70))
    codes[:, :3] += np.nan_to_num(factors)
    wide = function(codes, factors)
    monkeypatch.setattr("unbraid.evidence.interventions.MOST_EXACT", 100)
    monkeypatch.setattr("unbraid.metrics.interventions.irs.MOST_EXACT", 100)
    few = function(codes, factors)
    assert wide.value == pytest.approx(few.value, abs=1e-12)
    for name, matrix in few.evidence.items():
        np.testing.assert_allclose(wide.evidence[name], matrix, atol=1e-12)


@pytest.mark.parametrize("n_codes", [6, 80])
def test_groups_are_taken_from_rows_and_not_from_a_copy_of_all_codes(monkeypatch, n_codes):
    rng = np.random.default_rng(0)
    rep = Representation(rng.normal(size=(300, n_codes)), rng.integers(0, 3, (300, 2)))
    drawn, by_rows = interventions._drawn_variances, []

    def watched(codes, *rest):
        by_rows.append(codes.flags.c_contiguous)
        return drawn(codes, *rest)

    monkeypatch.setattr(interventions, "_drawn_variances", watched)
    group_variances(rep, RowGroupOptions(n_votes=10), rng)
    assert by_rows
    assert all(by_rows)
