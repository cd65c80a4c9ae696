"""SAP, explicitness, MCC and linear R² on worlds with known answers."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import KFold, cross_val_predict

from helpers.worlds import full_grid, random_factors, random_rotation, standardised
from unbraid import Representation
from unbraid.metrics import dci_linear, explicitness, mcc, r2, sap

FACTORS = random_factors(5, 6, n_samples=2000)
LEVELS = standardised(FACTORS.astype(float))


class TestSap:
    def test_every_row_is_tested_so_that_the_folds_hardly_matter(self):
        """A tenth of the deviation over the rows, which 2000 of them leave at about 0.01."""
        rng = np.random.default_rng(0)
        codes = FACTORS + rng.normal(size=FACTORS.shape)
        rep = Representation(codes, FACTORS, kinds=["categorical"] * 2)
        assert np.std([float(sap(rep, rng=seed)) for seed in range(8)]) < 0.004

    def test_is_one_for_permuted_independent_numbers(self):
        grid = full_grid(5, 6)
        assert float(sap(grid[:, ::-1], grid)) == pytest.approx(1.0)

    def test_is_zero_for_doubled_codes(self):
        assert float(sap(np.hstack([LEVELS, -LEVELS]), FACTORS)) == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(("noise", "angle"), [(0.1, 0.0), (0.5, 0.0), (0.1, 0.5)])
    def test_class_means_predict_as_balanced_logistic_regression(self, noise, angle):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        codes = standardised(LEVELS @ turn + noise * np.random.default_rng(0).standard_normal(LEVELS.shape))
        folds = KFold(5, shuffle=True, random_state=0)
        theirs = np.zeros((2, 2))
        for j, k in np.ndindex(2, 2):
            model = LogisticRegression(class_weight="balanced", max_iter=500)
            predicted = cross_val_predict(model, codes[:, [j]], FACTORS[:, k], cv=folds)
            theirs[j, k] = balanced_accuracy_score(FACTORS[:, k], predicted)
        gaps = theirs.max(axis=0) - theirs.min(axis=0)
        found = sap(Representation(codes, FACTORS, kinds=["categorical"] * 2))
        assert float(found) == pytest.approx(gaps.mean(), abs=0.01)

    @pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
    def test_rotated_pair_scores_the_difference_of_squared_cosine_and_sine(self, angle):
        grid = full_grid(9, 9)
        s = standardised(grid.astype(float))
        c, d = np.cos(angle), np.sin(angle)
        assert float(sap(s @ [[c, -d], [d, c]], grid)) == pytest.approx(c**2 - d**2, abs=1e-9)

    def test_does_not_change_when_a_code_is_multiplied_by_ten(self):
        shapes = np.array(["a", "b", "c", "d", "e"])[FACTORS[:, 0]]
        noisy = LEVELS + 0.5 * np.random.default_rng(0).standard_normal(LEVELS.shape)
        labels = {"shape": shapes, "size": FACTORS[:, 1]}
        assert float(sap(Representation(noisy * [10, 1], labels))) == pytest.approx(
            float(sap(Representation(noisy, labels)))
        )

    def test_separable_categories_score_one_minus_chance(self):
        """The right code tells five classes apart; any other guesses one of five."""
        shapes = np.array(["a", "b", "c", "d", "e"])[FACTORS[:, 0]]
        score = sap(Representation(LEVELS, {"shape": shapes}))
        assert float(score) == pytest.approx(1 - 1 / 5, abs=0.05)

    def test_every_class_counts_alike_however_rare(self):
        """A tight common class is told 99 % of the time, a wide rare one 60 %: their mean, not that over rows."""
        rng = np.random.default_rng(0)
        rare = rng.random(20_000) < 0.05
        code = np.where(rare, rng.normal(1, 2, 20_000), rng.normal(0, 0.2, 20_000))
        rep = Representation(
            np.column_stack([code, rng.standard_normal(20_000)]), {"kind": np.where(rare, "rare", "common")}
        )
        matrix = sap(rep).evidence["predictability"]
        assert matrix[0, 0] == pytest.approx((0.994 + 0.599) / 2, abs=0.04)
        assert matrix[1, 0] == pytest.approx(0.5, abs=0.05)

    def test_angle_counts_through_its_cosine_and_sine(self):
        angle = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
        codes = np.column_stack([np.cos(angle), np.cos(40 * angle)])
        rep = Representation(codes, {"angle": angle}, kinds={"angle": "circular"})
        assert float(sap(rep)) == pytest.approx(1.0, abs=1e-6)


class TestExplicitness:
    def test_is_one_when_a_line_separates_every_value(self):
        values = FACTORS[:, 0] % 2
        assert float(explicitness(np.column_stack([values, LEVELS[:, 1]]), values)) == 1.0

    def test_is_a_half_for_noise_and_zero_when_normalised(self):
        noise = np.random.default_rng(0).standard_normal((2000, 3))
        assert float(explicitness(noise, FACTORS)) == pytest.approx(0.5, abs=0.03)
        assert float(explicitness(noise, FACTORS, normalised=True)) < 0.06

    def test_one_against_rest_cannot_cut_out_the_middle_of_a_line_and_multinomial_can(self):
        middle = random_factors(3, n_samples=3000)
        codes = np.column_stack([middle[:, 0], np.random.default_rng(0).standard_normal(3000)]).astype(float)
        apart = explicitness(codes, middle)
        together = explicitness(codes, middle, classifier="multinomial")
        assert float(apart) == pytest.approx((1 + 0.5 + 1) / 3, abs=0.05)
        assert float(together) == 1.0

    def test_a_class_missing_from_the_held_out_rows_is_left_out(self):
        labels = np.array(["a", "b"], dtype=object)[FACTORS[:, 0] // 3]
        labels[7] = "once"
        score = explicitness(Representation(LEVELS, {"label": labels}))
        assert 0.9 < float(score) <= 1.0

    def test_fitted_rows_flatter_noise(self):
        noise = np.random.default_rng(0).standard_normal((300, 20))
        labels = np.random.default_rng(1).integers(4, size=300)
        held_out, fitted = (float(explicitness(noise, labels, evaluate_on=w)) for w in ("held_out", "fitted"))
        assert fitted > held_out + 0.1


class TestMcc:
    def test_matches_by_assignment_not_by_column(self):
        assert float(mcc(-LEVELS[:, ::-1], FACTORS)) == pytest.approx(1.0)

    def test_rotated_pair_scores_the_larger_of_cosine_and_sine(self):
        grid = full_grid(9, 9)
        c, d = np.cos(0.3), np.sin(0.3)
        codes = standardised(grid.astype(float)) @ [[c, -d], [d, c]]
        assert float(mcc(codes, grid)) == pytest.approx(c)

    def test_spearman_sees_through_increasing_maps(self):
        values = np.random.default_rng(0).standard_normal((500, 2))
        assert float(mcc(np.exp(3 * values), values, correlation="spearman")) == pytest.approx(1.0)
        assert float(mcc(np.exp(3 * values), values)) < 0.8

    def test_two_factors_cannot_share_one_code(self):
        codes = np.column_stack([LEVELS[:, 0] + LEVELS[:, 1], np.random.default_rng(0).standard_normal(2000)])
        assert float(mcc(codes, FACTORS)) < 0.5

    def test_more_factors_than_codes_leave_some_at_zero(self):
        factors = random_factors(5, 6, 7, n_samples=2000)
        score = mcc(factors[:, :2].astype(float), factors)
        assert float(score) == pytest.approx(2 / 3, abs=0.02)
        assert "Fewer codes than factors: those left over count 0." in score.notes

    def test_correlation_ratio_stands_in_for_categories(self):
        shapes = np.array(["a", "b", "c", "d", "e"])[np.argsort([2, 0, 4, 1, 3])[FACTORS[:, 0]]]
        assert mcc(Representation(LEVELS, {"shape": shapes})).per_factor[0] == pytest.approx(1.0)


class TestR2:
    def test_is_one_under_any_rotation(self):
        turned = LEVELS @ random_rotation(2, np.random.default_rng(0))
        assert float(r2(turned, FACTORS)) == pytest.approx(1.0, abs=1e-6)

    def test_is_the_share_of_signal_in_noisy_codes(self):
        rng = np.random.default_rng(0)
        values = rng.standard_normal((20_000, 2))
        assert float(r2(values + np.sqrt(3) * rng.standard_normal(values.shape), values)) == pytest.approx(
            0.25, abs=0.02
        )

    def test_is_zero_for_noise_and_never_below(self):
        noise = np.random.default_rng(0).standard_normal((100, 20))
        score = r2(noise, random_factors(5, 6, n_samples=100))
        assert float(score) == 0.0
        assert (score.evidence["unfloored"] < 0).all()

    def test_every_kind_beside_the_others_is_a_cross_validated_regression(self):
        rng = np.random.default_rng(2)
        number, angle, shape = rng.normal(size=3000), rng.uniform(0, 360, 3000), rng.integers(0, 4, 3000)
        partly = np.where(rng.random(3000) < 0.5, number, np.nan)
        turn = np.deg2rad(angle)
        codes = np.column_stack([number, np.cos(turn), np.sin(turn), shape == 1, shape])
        codes = (codes + 0.5 * rng.normal(size=codes.shape)) @ random_rotation(5, rng)
        columns = {"number": number, "angle": angle, "shape": shape, "partly": partly}
        kinds = ["continuous", "circular:360", "categorical", "continuous"]
        found = r2(Representation(codes, columns, kinds=kinds), rng=1).per_factor
        targets = [number[:, None], np.column_stack([np.cos(turn), np.sin(turn)]), np.eye(4)[shape], partly[:, None]]
        for value, target in zip(found, targets, strict=True):
            rows = np.isfinite(target[:, 0])
            folds = KFold(5, shuffle=True, random_state=0)
            predicted = cross_val_predict(LinearRegression(), codes[rows], target[rows], cv=folds)
            expected = r2_score(target[rows], predicted, multioutput="variance_weighted")
            assert value == pytest.approx(expected, abs=0.005)

    def test_collinear_codes_are_no_trouble(self):
        assert float(r2(np.hstack([LEVELS, LEVELS, np.zeros((2000, 1))]), FACTORS)) == pytest.approx(1.0, abs=1e-6)


def test_mcc_says_how_an_angle_is_correlated():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    codes = np.column_stack([np.cos(angle), np.sin(angle)])
    circle = mcc(Representation(codes, angle[:, None], names=["turn"], kinds=["circular"]))
    assert float(circle) == pytest.approx(1.0)
    assert [note.partition(",")[0] for note in circle.notes] == [
        "“turn”: an angle is correlated through its cosine and sine together"
    ]
    assert mcc(codes, codes).notes == ()


def test_shares_of_values_are_those_of_scikit_learn():
    """One-versus-rest probabilities as shares of their sum, balanced, on codes in [0, 1] and the rows fitted on."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.multiclass import OneVsRestClassifier

    rng = np.random.default_rng(0)
    factor = rng.integers(0, 4, 400)
    codes = np.column_stack([factor + rng.normal(size=400), rng.normal(size=400)])
    unit = (codes - codes.min(axis=0)) / np.ptp(codes, axis=0)
    model = OneVsRestClassifier(LogisticRegression(class_weight="balanced", max_iter=1000)).fit(unit, factor)
    shares = model.predict_proba(unit)
    expected = np.mean([2 * roc_auc_score(factor == value, shares[:, value]) - 1 for value in range(4)])
    options = {"classifier": "one_vs_rest_shares", "evaluate_on": "all", "normalised": True}
    ours = explicitness(7 * codes - 3, factor[:, None], **options)
    assert ours.value == pytest.approx(expected, abs=1e-6)


def test_published_lasso_takes_numbers_only():
    codes = np.random.default_rng(0).normal(size=(100, 2))
    rep = Representation(codes, np.arange(100)[:, None] % 3 + np.zeros((1, 2)), kinds=["categorical"] * 2)
    with pytest.raises(ValueError, match="strength='published' regresses numbers, got categorical factor"):
        dci_linear(rep, strength="published")


def test_explicitness_says_what_is_missing_where_one_value_alone_repeats():
    rng = np.random.default_rng(0)
    values = np.r_[np.zeros(221), np.linspace(1, 2, 179)]
    for n_codes in (5, 70):
        rep = Representation(rng.normal(size=(400, n_codes)), {"dose": values}, kinds={"dose": "ordinal"})
        with pytest.raises(ValueError, match=r"'dose' must have two values.*declare it continuous"):
            explicitness(rep)
