"""Scores for dependent factors: closed forms of Gaussian worlds, then what must and must not change them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from unbraid import Representation, evaluate
from unbraid.evidence.cross_prediction import CrossPredictionOptions, cross_prediction
from unbraid.evidence.regressors import factor_variable
from unbraid.metrics import Dependent, dependent
from unbraid.representation.factor import make_factor

N = 3000
RNG = np.random.default_rng(0)
A, B, C, NUISANCE = RNG.standard_normal((4, N))


def linear(codes: np.ndarray, factors: np.ndarray, **options) -> Dependent:
    """Lines fit Gaussian worlds perfectly, so that closed forms hold and fits take no time."""
    return dependent(codes, factors, regressor="linear", **options)


class TestClosedForms:
    """Jointly Gaussian codes and factors: every conditional mean is a line, every error a standard deviation."""

    @pytest.mark.parametrize(("error", "power"), [("absolute", 1), ("squared", 2)])
    @pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
    def test_a_code_of_two_independent_factors(self, error, power, share):
        other = np.sqrt(1 - share**2)
        codes = np.column_stack([share * A + other * B, C])
        found = linear(codes, np.column_stack([A, B, C]), error=error)
        alone = 1 - np.array([other, share]) ** power  # what stays unexplained by the one is the other's part
        np.testing.assert_allclose(found.modularity.evidence["modularity"][0, :2], alone, atol=0.03)
        np.testing.assert_allclose(found.minimality.evidence["minimality"][0, :2], alone, atol=0.03)
        assert found.modularity.value == pytest.approx((alone.max() + 1) / 2, abs=0.02)

    @pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
    def test_a_code_of_two_dependent_factors_is_not_modular(self, rho):
        """z = a + b with correlation rho: given a, the part of b that a does not tell is left."""
        b = rho * A + np.sqrt(1 - rho**2) * B
        codes = np.column_stack([A + b, C])
        found = linear(codes, np.column_stack([A, b, C]))
        left = np.sqrt(1 - rho**2) / np.sqrt(2 + 2 * rho)
        assert found.modularity.per_code[0] == pytest.approx(1 - left, abs=0.02)
        assert found.modularity.per_code[0] < 0.8

    @pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
    def test_codes_that_are_the_factors_score_1_however_the_factors_depend(self, rho):
        factors = np.column_stack([A, rho * A + np.sqrt(1 - rho**2) * B])
        for score in linear(factors[:, ::-1] * 3, factors):
            assert score.value == pytest.approx(1, abs=1e-6)

    def test_nuisance_lowers_minimality_and_leaves_modularity(self):
        codes = np.column_stack([A + NUISANCE, B])
        found = linear(codes, np.column_stack([A, B]))
        assert found.modularity.per_code[0] == pytest.approx(1, abs=0.03)
        assert found.minimality.per_code[0] == pytest.approx(1 - np.sqrt(0.5), abs=0.02)

    def test_weights_follow_what_the_factors_tell_of_a_code(self):
        codes = np.column_stack([A, B + NUISANCE, NUISANCE])
        found = linear(codes, np.column_stack([A, B]))
        weights = found.minimality.evidence["code_weights"]
        np.testing.assert_allclose(weights, [1, 1 - np.sqrt(0.5), 0], atol=0.02)
        best = found.minimality.per_code
        assert found.minimality.value == pytest.approx(weights @ best / weights.sum(), abs=1e-12)

    def test_one_factor_over_two_codes(self):
        """y = z1 + z2: one code leaves half of the variance, both leave nothing."""
        codes = np.column_stack([A, B, C])
        found = linear(codes, np.column_stack([A + B, C]))
        expected = [1 - np.sqrt(0.5), 1]
        np.testing.assert_allclose(found.compactness.per_factor, expected, atol=0.02)
        np.testing.assert_allclose(found.sufficiency.per_factor, expected, atol=0.02)
        np.testing.assert_allclose(found.explicitness.per_factor, 1, atol=1e-6)

    def test_what_no_code_tells_lowers_sufficiency_and_leaves_compactness(self):
        found = linear(np.column_stack([A, C]), np.column_stack([A + NUISANCE, C]))
        assert found.compactness.per_factor[0] == pytest.approx(1, abs=0.05)
        assert found.sufficiency.per_factor[0] == pytest.approx(1 - np.sqrt(0.5), abs=0.02)
        assert found.explicitness.per_factor[0] == pytest.approx(1 - np.sqrt(0.5), abs=0.02)

    def test_a_group_of_codes_is_one_code(self):
        codes = np.column_stack([A, B, C, NUISANCE])
        factors = np.column_stack([A + B, C])
        found = linear(codes, factors, groups=[[0, 1], [2]])
        assert found.compactness.value == pytest.approx(1, abs=1e-6)
        assert found.sufficiency.value == pytest.approx(1, abs=1e-6)
        assert found.compactness.evidence["compactness"].shape == (2, 2)
        # The error of a group is the mean of its columns': each is told as well as the sum tells it.
        assert found.minimality.per_code[0] == pytest.approx(1 - np.sqrt(0.5), abs=0.03)
        assert found.minimality.per_code[0] == found.minimality.per_code[1]
        assert np.isnan(found.minimality.per_code[3])


class TestPropositions:
    """The paper's propositions as they hold for scores: squared errors of lines add up, as Pythagoras has them."""

    @pytest.fixture(params=range(4))
    def found(self, request):
        """Scores of codes that mix three dependent factors and a nuisance at random."""
        rng = np.random.default_rng(request.param)
        factors = np.column_stack([A, B, C]) @ rng.normal(size=(3, 3))
        codes = factors @ rng.normal(size=(3, 3)) + rng.uniform(0, 1) * NUISANCE[:, None]
        return linear(codes, factors, error="squared", predictions="in_sample")

    def test_sufficient_is_compact_and_explicit(self, found):
        """Proposition 1: what one code lacks is what it lacks beside all codes, and what all codes lack."""
        compact, sufficient = found.compactness.evidence["compactness"], found.sufficiency.evidence["sufficiency"]
        together = np.clip(compact + found.explicitness.per_factor - 1, 0, 1)
        np.testing.assert_allclose(sufficient, together, atol=5e-3)

    def test_minimal_is_modular_and_free_of_nuisances(self, found):
        """Propositions 2 and 3: what a factor does not explain is due to other factors, or to nuisances."""
        modular, minimal = found.modularity.evidence["modularity"], found.minimality.evidence["minimality"]
        explained = found.modularity.evidence["code_weights"][:, None]
        np.testing.assert_allclose(minimal, np.clip(modular + explained - 1, 0, 1), atol=5e-3)


class TestKindsOfFactor:
    @pytest.mark.parametrize("error", ["absolute", "squared"])
    def test_a_wrong_category_and_the_far_side_of_a_circle_are_wrong_by_1(self, error):
        rows = np.arange(4)
        for values, kind in ((["x", "y", "x", "y"], None), ([0.0, 180.0, 0.0, 180.0], "circular:360")):
            variable = factor_variable(make_factor(values, name="f", kind=kind), rows, "range")
            wrong = variable.errors(variable.columns[:1], variable.columns[1:2], error)
            assert wrong == pytest.approx(1)

    def test_a_category_counts_by_its_probability_not_its_number(self):
        """A code that tells one of three even categories from the others: by hand, error 2/3 · 1/2 of 2/3."""
        label = RNG.integers(0, 3, N)
        codes = np.column_stack([label == 0, B])
        factors = {"kind": np.array(["x", "y", "z"])[label], "b": B}
        found = linear(codes, Representation(codes, factors).factors)
        # Blind: 1 - 3/9 = 2/3. Told "not x": wrong by 1/2, on 2/3 of the rows: 1/3.
        assert found.sufficiency.per_factor[0] == pytest.approx(0.5, abs=0.03)

    def test_renaming_categories_changes_nothing(self):
        label = RNG.integers(0, 4, 600)
        codes = np.column_stack([label == 2, B[:600]])
        scores = []
        for names in ("abcd", "dbca"):
            rep = Representation(codes, {"kind": np.array(list(names))[label], "b": B[:600]})
            scores.append([score.value for score in linear(rep, None)])
        np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)

    def test_an_angle_has_no_beginning(self):
        angle = RNG.uniform(0, 360, N)
        scores = []
        for start in (0, 100):
            turned = np.deg2rad(angle - start)
            codes = np.column_stack([np.cos(turned), np.sin(turned), A])
            rep = Representation(codes, {"angle": angle, "a": A}, kinds={"angle": "circular:360"})
            scores.append([score.value for score in linear(rep, None, groups=[[0, 1], [2]])])
        np.testing.assert_allclose(scores, 1, atol=1e-6)

    def test_half_of_an_angle(self):
        """Only the cosine is known: the chord left is twice the sine, or the sine itself for a guess in the middle."""
        angle = RNG.uniform(0, 2 * np.pi, N)
        rep = Representation(
            np.column_stack([np.cos(angle), A]), {"angle": angle, "a": A}, kinds={"angle": "circular:6.283185307179586"}
        )
        assert linear(rep, None).sufficiency.per_factor[0] == pytest.approx(1 - 2 / np.pi, abs=0.02)


class TestScaling:
    @pytest.mark.parametrize("draw", ["normal", "standard_exponential", "uniform"])
    def test_what_cannot_be_predicted_scores_0_whatever_its_distribution(self, draw):
        nuisance = getattr(np.random.default_rng(1), draw)(size=N)
        found = dependent(np.column_stack([A, nuisance]), np.column_stack([A, B]), n_trees=5, max_rows=1000)
        assert found.minimality.per_code[1] == pytest.approx(0, abs=0.06)
        assert found.sufficiency.per_factor[1] == pytest.approx(0, abs=0.06)

    @pytest.mark.slow
    def test_an_unpredictable_coin_scores_0(self):
        coin = RNG.integers(0, 10, N) == 0
        found = dependent(np.column_stack([A, B]), {"a": A, "coin": coin}, max_rows=1000)
        assert found.sufficiency.per_factor[1] == pytest.approx(0, abs=0.06)

    def test_the_published_scaling_takes_a_narrow_nuisance_for_a_factor(self):
        codes, factors = np.column_stack([A, NUISANCE]), np.column_stack([A, B])
        assert linear(codes, factors, scaling="range").minimality.per_code[1] > 0.4
        assert linear(codes, factors).minimality.per_code[1] < 0.02

    def test_the_published_scaling_agrees_for_even_spread(self):
        y = np.random.default_rng(2).uniform(size=(N, 2))
        codes = np.column_stack([y[:, 0], np.random.default_rng(3).uniform(size=N)])
        for first, second in zip(linear(codes, y), linear(codes, y, scaling="range"), strict=True):
            assert first.value == pytest.approx(second.value, abs=0.02)


class TestOptions:
    def test_in_sample_flatters_and_held_out_does_not(self):
        codes, factors = RNG.standard_normal((200, 3)), RNG.standard_normal((200, 2))
        neighbours = KNeighborsRegressor(n_neighbors=2)
        found = {
            how: dependent(codes, factors, regressor=neighbours, predictions=how)
            for how in ("in_sample", "held_out", "cross_fitted")
        }
        assert found["cross_fitted"].explicitness.value < 0.1
        assert found["held_out"].explicitness.value < 0.3
        # The noise is fitted as closely as the factors, so the flattery cancels in the score.
        assert found["in_sample"].explicitness.value < 0.1

    def test_a_regressor_that_remembers_every_row_is_refused_in_sample(self):
        with pytest.raises(ValueError, match="regressor remembers every row"):
            dependent(
                A[:100, None] * [1, 2],
                np.column_stack([A, B])[:100],
                regressor=KNeighborsRegressor(n_neighbors=1),
                predictions="in_sample",
            )

    def test_any_scikit_learn_regressor_will_do(self):
        codes, factors = np.column_stack([A + B, C]), np.column_stack([A, C])
        ours, given = linear(codes, factors), dependent(codes, factors, regressor=LinearRegression())
        for first, second in zip(ours, given, strict=True):
            assert first.value == pytest.approx(second.value, abs=1e-9)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"regressor": "tree"}, "regressor must be one of forest, extra, linear"),
            ({"error": "median"}, "error must be one of absolute, squared"),
            ({"predictions": "oob"}, "predictions must be one of cross_fitted, held_out, in_sample"),
            ({"scaling": "none"}, "scaling must be one of spread, range"),
            ({"n_folds": 1}, "n_folds must be at least 2, got 1"),
            ({"groups": [[0, 9]]}, "groups must name columns of codes from 0 to 1, got 9"),
            ({"groups": [[0], [0]]}, "groups must not share columns"),
            ({"groups": []}, "groups must have at least one column each"),
            ({"groups": [0, 1]}, r"groups must be lists of columns such as \[\[0, 1\], \[2\]\]"),
        ],
    )
    def test_bad_options_are_named(self, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            dependent(np.column_stack([A, B]), np.column_stack([A, B]), **options)

    def test_a_class_is_not_a_regressor(self):
        with pytest.raises(TypeError, match="regressor must be one of"):
            dependent(np.column_stack([A, B]), np.column_stack([A, B]), regressor=LinearRegression)

    def test_groups_as_text(self):
        assert CrossPredictionOptions(groups="0+1,2").groups == ((0, 1), (2,))

    @pytest.mark.slow
    def test_forests_of_both_kinds_follow_a_curve(self):
        codes, factors = np.column_stack([A**3, np.exp(B)]), np.column_stack([A, B])
        for regressor in ("forest", "extra"):
            found = dependent(codes, factors, regressor=regressor, n_trees=10, max_rows=1500)
            assert found.sufficiency.value > 0.9
        assert linear(codes, factors).sufficiency.value < 0.8


class TestEdges:
    def test_codes_of_noise_have_no_weight_and_say_so(self):
        found = linear(np.column_stack([C, NUISANCE]), np.column_stack([A, B]))
        for score in (found.modularity, found.minimality):
            assert score.value == 0
            assert "no code has weight" in score.notes[0]
        assert found.explicitness.value < 0.02

    @pytest.mark.slow
    def test_many_codes_of_noise_do_not_add_up(self):
        """By chance some seem a little better than noise; fewer than one in ten may keep a weight."""
        codes = np.column_stack([A, np.random.default_rng(5).standard_normal((N, 40))])
        weights = linear(codes, np.column_stack([A, B])).modularity.evidence["code_weights"]
        assert weights[0] > 0.99
        assert (weights[1:] > 0).sum() <= 4

    def test_a_factor_no_code_tells_is_named_beside_compactness(self):
        found = linear(np.column_stack([A, C]), {"a": A, "lost": B})
        assert any("'lost' cannot be predicted" in note for note in found.compactness.notes)
        assert not any("'a'" in note for note in found.compactness.notes)

    def test_a_constant_code_is_left_out(self):
        factors = np.column_stack([A, B])
        found = linear(np.column_stack([np.ones(N), A, B]), factors)
        assert np.isnan(found.modularity.per_code[0])
        assert np.isnan(found.compactness.evidence["compactness"][0]).all()
        assert found.sufficiency.value == pytest.approx(1, abs=1e-6)

    def test_one_live_code_says_that_it_is_alone(self):
        found = linear(np.column_stack([np.ones(N), A]), np.column_stack([A, B]))
        assert any("one code (or group) that changes" in note for note in found.sufficiency.notes)

    def test_one_factor_is_refused_by_the_function_and_left_out_by_the_panel(self):
        with pytest.raises(ValueError, match="factors must have at least two columns for dependent, got 1"):
            dependent(np.column_stack([A, B]), A)
        report = evaluate(
            np.column_stack([A, B])[:300],
            A[:300],
            metrics="dependent",
            options={"dependent": {"regressor": "linear"}},
            intervals=False,
            nulls=False,
            n_jobs=1,
        )
        assert set(report) == {f"dependent.{name}" for name in Dependent._fields} - {"dependent.modularity"}
        assert "at least two columns" in report.failures["dependent.modularity"]

    def test_too_few_complete_rows(self):
        factors = np.column_stack([A, B])[:40]
        factors[:15, 0], factors[25:, 1] = np.nan, np.nan
        with pytest.raises(ValueError, match="at least 20 rows with a label in every column, got 10"):
            linear(np.column_stack([A, B])[:40], factors)

    def test_a_factor_constant_where_all_labels_are_there(self):
        level = np.r_[np.zeros(50), np.ones(50)]
        half = np.where(np.arange(100) < 50, A[:100], np.nan)
        with pytest.raises(ValueError, match="factor 'level' takes one value only on the 50 rows"):
            linear(np.column_stack([A, B])[:100], {"level": level, "half": half})


class TestEvidence:
    def test_no_more_regressions_than_the_algorithms_need(self, monkeypatch):
        from unbraid.evidence import cross_prediction as module

        calls = []

        def counted(inputs, targets, *rest, **options):
            calls.append(inputs.shape[1])
            return np.zeros(targets.shape)

        monkeypatch.setattr(module, "predict", counted)
        codes, factors = np.column_stack([A, B, C, NUISANCE]), np.column_stack([A, B, C])
        options = CrossPredictionOptions(regressor="linear")
        cross_prediction(Representation(codes, factors), options, np.random.default_rng(0))
        # Each of 4 codes and the noise from each of 3 factors and all of them; then the other way round.
        assert len(calls) == (4 + 1) * (3 + 1) + (3 + 1) * (4 + 1)

    def test_every_row_is_predicted_by_a_fit_that_has_not_seen_it(self):
        from unbraid.probes.splits import cross_fit_splits

        splits = cross_fit_splits(101, "cross_fitted", 5, np.random.default_rng(0))
        assert sorted(np.concatenate([split.test for split in splits])) == list(range(101))
        for split in splits:
            assert not set(split.train) & set(split.test)
            assert len(split.train) + len(split.test) == 101

    def test_same_numbers_on_any_number_of_cores(self, monkeypatch):
        codes, factors = np.column_stack([A + B, C]), np.column_stack([A, C])
        found = []
        for cores in (1, 3):
            monkeypatch.setattr("unbraid._base.workers.usable_cores", lambda cores=cores: cores)
            found.append([score.value for score in dependent(codes, factors, n_trees=3, max_rows=300)])
        assert found[0] == found[1]

    def test_forests_of_one_input_grow_in_blocks_as_they_do_one_by_one(self, monkeypatch):
        """Numbers that hardly repeat leave no ties: with the same draws, the trees are the same."""
        from unbraid.evidence import cross_prediction as module

        rows = slice(0, 200)
        factors = {"a": A[rows], "b": B[rows], "angle": np.arctan2(B, C)[rows]}
        rep = Representation(
            np.column_stack([A + B, C, A * C])[rows], factors, kinds={"angle": "circular:6.283185307179586"}
        )
        options = CrossPredictionOptions(n_trees=3)
        found = []
        for most_cells, is_narrow in ((module.MOST_CELLS, None), (1, None), (1, lambda fit, regressor: False)):
            monkeypatch.setattr(module, "MOST_CELLS", most_cells)
            if is_narrow is not None:
                monkeypatch.setattr(module._Fit, "is_narrow", is_narrow)
            found.append(cross_prediction(rep, options, np.random.default_rng(0)))
        for other in found[1:]:
            for name in ("alone", "gap", "together"):
                for way in ("of_codes", "of_factors"):
                    ours, theirs = getattr(getattr(found[0], way), name), getattr(getattr(other, way), name)
                    np.testing.assert_allclose(ours, theirs, atol=1e-9)

    @pytest.mark.slow
    def test_wide_codes_score_what_trees_that_divide_between_all_values_give_them(self, monkeypatch):
        from unbraid.evidence import cross_prediction as module

        rng = np.random.default_rng(3)
        codes = np.column_stack([A + 0.3 * NUISANCE, A + B, B**3, rng.standard_normal((N, 20))])[:800]
        factors = np.round(2 * np.column_stack([A, B]))[:800]
        exact = dependent(codes, factors, n_trees=15)
        monkeypatch.setattr(module, "MOST_EXACT", 22)
        monkeypatch.setattr(module, "MOST_INPUTS", 22)
        shared = dependent(codes, factors, n_trees=15)
        for ours, theirs in zip(shared, exact, strict=True):
            assert ours.value == pytest.approx(theirs.value, abs=0.03)
        # Only predictions from all inputs at once divide between bins.
        assert shared.sufficiency.value == exact.sufficiency.value
        assert shared.explicitness.value != exact.explicitness.value

    def test_wide_codes_are_the_same_on_any_number_of_cores(self, monkeypatch):
        codes, factors = RNG.standard_normal((100, 65)), RNG.standard_normal((100, 2))
        found = []
        for cores in (1, 3):
            monkeypatch.setattr("unbraid._base.workers.usable_cores", lambda cores=cores: cores)
            found.append([score.value for score in dependent(codes, factors, n_trees=2)])
        assert found[0] == found[1]


class TestVectorsAndConditions:
    """A code that is the sum of two of three independent Gaussian factors, and a code that is the third."""

    RNG = np.random.default_rng(5)
    FACTORS = pd.DataFrame(RNG.standard_normal((1500, 3)), columns=["a", "b", "c"])
    CODES = np.column_stack([FACTORS["a"] + FACTORS["b"], FACTORS["c"]])

    def scored(self, **options):
        return dependent(self.CODES, self.FACTORS, regressor="linear", **options)

    def test_alone_each_factor_explains_half_of_the_sum(self):
        found = self.scored()
        assert found.modularity.per_code == pytest.approx([1 - np.sqrt(0.5), 1], abs=0.03)

    @pytest.mark.parametrize("vectors", [[["a", "b"]], "a+b"])
    def test_a_vector_explains_the_sum(self, vectors):
        found = self.scored(vectors=vectors)
        assert found.modularity.per_code == pytest.approx([1, 1], abs=0.01)
        assert found.explicitness.per_factor[0] == found.explicitness.per_factor[1] < 0.5
        assert found.compactness.evidence["compactness"].shape == (2, 2)

    @pytest.mark.parametrize("given", [{"a": ["b"]}, "a:b"])
    def test_given_the_other_a_factor_explains_the_sum(self, given):
        found = self.scored(given=given)
        assert found.modularity.per_code == pytest.approx([1, 1], abs=0.01)
        assert found.compactness.value == self.scored().compactness.value  # predicts factors, and knows none

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"vectors": "a"}, "vectors must be lists of two or more factors"),
            ({"vectors": "a+q"}, "vectors must be one of a, b, c, got 'q'"),
            ({"given": "a:a"}, "given must name, for a factor, others"),
            ({"given": "a:q"}, "given must be one of a, b, c, got 'q'"),
        ],
    )
    def test_bad_names_are_named(self, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            self.scored(**options)
