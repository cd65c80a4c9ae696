import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers.worlds import random_factors, standardised
from unbraid import Representation, evaluate
from unbraid.metrics import completeness, dci_boosting, dci_forest, dci_linear, disentanglement, informativeness
from unbraid.metrics.prediction.dci import normalised_entropy
from unbraid.probes.importance import Importance
from unbraid.results.note import NoteKind
from unbraid.results.score import Score

every_probe = pytest.mark.parametrize("dci", [dci_linear, dci_forest, dci_boosting])
FACTORS = random_factors(5, 4, 6, n_samples=2000)
LEVELS = standardised(FACTORS.astype(float))


def rotated(signal: float, *, n_rows: int = 2000, n_factors: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Factors of ten values, turned by a fixed rotation and buried in noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 10, (n_rows, n_factors))
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(n_factors, n_factors)))[0]
    return signal * (factors - 4.5) / 2.87 @ turn + rng.normal(size=(n_rows, n_factors)), factors


def importance(matrix: list[list[float]], values: list[float] | None = None) -> Importance:
    array = np.array(matrix, dtype=float)
    return Importance(
        matrix=array,
        informativeness=np.array(values or [0.0] * array.shape[1]),
        in_accuracy=np.zeros(array.shape[1]),
    )


class TestPureScores:
    def test_one_code_for_each_factor_is_perfect(self):
        perfect = importance([[1, 0], [0, 1], [0, 0]])
        assert float(disentanglement(perfect)) == 1.0
        assert float(completeness(perfect)) == 1.0

    def test_both_are_1_for_permutations_alone(self):
        """Proposition 3.3 of the paper on DCI-ES, over all patterns of three codes and three factors."""
        for pattern in itertools.product((0, 1), repeat=9):
            matrix = np.reshape(pattern, (3, 3))
            if not matrix.any(axis=0).all():
                continue  # shares of a factor that no code matters for do not exist
            scores = importance((matrix / matrix.sum(axis=0)).tolist())
            is_perfect = float(disentanglement(scores)) > 1 - 1e-9 and float(completeness(scores)) > 1 - 1e-9
            assert is_perfect == (matrix.sum(axis=1) == 1).all()

    def test_even_importances_score_zero(self):
        even = importance([[1, 1], [1, 1]])
        assert float(disentanglement(even)) == pytest.approx(0.0)
        assert float(completeness(even)) == pytest.approx(0.0)

    def test_every_code_doubled_lowers_completeness_by_log_two(self):
        doubled = importance([[0.5, 0], [0.5, 0], [0, 0.5], [0, 0.5]])
        assert float(disentanglement(doubled)) == 1.0
        assert float(completeness(doubled)) == pytest.approx(1 - np.log(2) / np.log(4))

    def test_two_factors_in_one_code_lower_disentanglement_only(self):
        shared = importance([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
        assert float(disentanglement(shared)) == pytest.approx(2 / 3 * (1 - np.log(2) / np.log(3)) + 1 / 3)
        assert float(completeness(shared)) == 1.0

    def test_codes_weigh_as_much_as_they_matter(self):
        uneven = importance([[3, 0], [0.5, 0.5]])
        assert float(disentanglement(uneven)) == pytest.approx(3 / 4)

    def test_a_silent_code_first_in_line_does_not_silence_the_rest(self):
        assert float(disentanglement(importance([[0, 0], [1, 0], [0, 1]]))) == 1.0

    def test_nothing_predicted_is_zero_with_a_note(self):
        nothing = importance([[0, 0], [0, 0]])
        assert float(disentanglement(nothing)) == 0.0
        assert "No code helps to predict any factor." in disentanglement(nothing).notes
        assert float(completeness(nothing)) == 0.0

    def test_a_factor_that_is_not_predicted_is_left_out_of_the_base_too(self):
        mixed = disentanglement(importance([[1, 1, 0], [1, 1, 0]]))
        assert float(mixed) == pytest.approx(0.0)
        assert [note.kind for note in mixed.notes] == [NoteKind.LEFT_OUT]
        assert float(disentanglement(importance([[1, 0, 0], [0, 1, 0]]))) == 1.0

    def test_a_factor_that_is_undecided_counts_nought(self):
        found = replace(importance([[1, 0, 0], [0, 1, 0]]), undecided=np.array([0.0, 0, 1]))
        assert float(disentanglement(found)) == pytest.approx(2 / 3)
        assert [note.values for note in disentanglement(found).notes] == [("1", "3")]

    def test_one_factor_alone_says_nothing(self):
        alone = disentanglement(importance([[1, 0, 0], [0, 0, 0]]))
        assert float(alone) == 0.0
        assert NoteKind.LEFT_OUT in [getattr(note, "kind", None) for note in alone.notes]

    def test_limits_of_trees_are_said(self):
        found = replace(importance([[1, 0], [0, 1]]), leaves_a_tree=2048, rows_a_tree=20_000)
        for score in (disentanglement(found), completeness(found)):
            assert [note.values for note in score.notes] == [("20000",), ("2048",)]

    def test_informativeness_is_the_mean_over_factors(self):
        assert float(informativeness(importance([[1, 0], [0, 1]], [0.25, 0.75]))) == 0.5

    def test_entropy_is_in_base_of_the_row_length(self):
        np.testing.assert_allclose(normalised_entropy(np.array([[1.0, 1, 1], [1, 0, 0], [0, 0, 0]])), [1, 0, 1])


@every_probe
class TestEveryProbe:
    def test_permuted_factors_are_near_perfect(self, dci):
        assert all(float(score) > 0.97 for score in dci(LEVELS[:, [2, 0, 1]], FACTORS))

    def test_rotation_lowers_disentanglement_and_completeness(self, dci):
        evenly = np.array([[2, 2, -1], [-1, 2, 2], [2, -1, 2]]) / 3
        turned = dci(LEVELS @ evenly, FACTORS)
        assert float(turned.disentanglement) < 0.7
        assert float(turned.completeness) < 0.7
        assert float(turned.informativeness) > 0.9

    def test_noise_cannot_be_predicted(self, dci):
        noise = np.random.default_rng(0).standard_normal((2000, 4))
        assert float(dci(noise, FACTORS).informativeness) < 0.02

    def test_a_factor_nobody_can_predict_does_not_lend_importance_to_anyone(self, dci):
        """Else noise weights, scaled to shares, would look like a code that serves one factor."""
        rng = np.random.default_rng(99)
        labels = {"size": FACTORS[:, 0], "coin": rng.integers(2, size=2000), "dial": rng.integers(7, size=2000)}
        found = dci(Representation(LEVELS[:, :1].repeat(3, axis=1) + rng.standard_normal((2000, 3)), labels))
        matrix = found.disentanglement.evidence["importance"]
        np.testing.assert_allclose(matrix.sum(axis=0), [1, 0, 0], atol=1e-9)

    def test_a_dead_code_first_changes_nothing_but_the_base(self, dci):
        codes = np.column_stack([np.zeros(2000), LEVELS])
        found = dci(codes, FACTORS)
        assert float(found.disentanglement) > 0.97
        assert np.isnan(found.disentanglement.per_code[0])

    def test_categories_report_accuracy_and_numbers_r2(self, dci):
        shapes = np.array(["a", "b", "c", "d", "e"])[FACTORS[:, 0]]
        found = dci(Representation(LEVELS, {"shape": shapes, "size": FACTORS[:, 1]}))
        assert np.all(found.informativeness.per_factor > [0.5, 0.97])
        assert "Accuracy for categorical factors and R² for the others, averaged." in found.informativeness.notes

    def test_an_angle_is_read_from_its_cosine_and_sine(self, dci):
        angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 2000)
        codes = np.column_stack([np.cos(angle), np.sin(angle), LEVELS[:, 0]])
        rep = Representation(codes, {"angle": angle, "size": FACTORS[:, 0]}, kinds={"angle": "circular"})
        found = dci(rep)
        assert found.informativeness.per_factor[0] > 0.97
        assert found.completeness.per_factor[0] == pytest.approx(1 - np.log(2) / np.log(3), abs=0.1)

    def test_a_class_too_rare_to_be_held_out_does_not_raise(self, dci):
        shapes = np.array(["a", "b"], dtype=object)[FACTORS[:, 0] // 3]
        shapes[0] = "only once"
        assert float(dci(Representation(LEVELS, {"s": shapes, "n": FACTORS[:, 1]})).informativeness) > 0.8


class TestFadingSignal:
    def test_linear_disentanglement_does_not_rise(self):
        found = [float(dci_linear(*rotated(signal)).disentanglement) for signal in (3, 1, 0.5, 0.3, 0.2, 0.1)]
        assert max(found) < 0.35
        assert found[-1] <= found[0]

    @pytest.mark.slow
    @pytest.mark.parametrize("dci", [dci_forest, dci_boosting])
    def test_disentanglement_of_trees_does_not_rise(self, dci):
        strong, weak = (float(dci(*rotated(signal)).disentanglement) for signal in (1, 0.2))
        assert max(strong, weak) < 0.4
        assert weak < min(0.35, strong + 0.1)
        # Few factors are predicted from codes of so much noise, and D of two of them is anything, but most often 0.
        gone = [float(dci(*rotated(0.1, seed=seed)).disentanglement) for seed in range(5)]
        assert np.median(gone) == 0
        assert np.mean(gone) < strong

    @pytest.mark.slow
    @pytest.mark.parametrize("signal", [0.5, 0.2])
    def test_disentanglement_of_the_panel_does_not_rise_beyond_its_interval(self, signal):
        def score(signal: float) -> Score:
            report = evaluate(*rotated(signal), metrics="dci_linear", nulls=False, n_jobs=1)
            return report["dci_linear.disentanglement"]

        assert score(signal).low <= score(3).value
        assert score(signal).value <= 0.35

    def test_noise_has_no_disentanglement(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            codes, factors = rng.normal(size=(2000, 5)), rng.integers(0, 6, (2000, 10))
            assert float(dci_linear(codes, factors).disentanglement) <= 0.1, seed

    @pytest.mark.slow
    @pytest.mark.parametrize("dci", [dci_forest, dci_boosting])
    def test_noise_has_no_disentanglement_by_trees(self, dci):
        rng = np.random.default_rng(0)
        assert float(dci(rng.normal(size=(1000, 4)), rng.integers(0, 6, (1000, 6))).disentanglement) <= 0.1

    @pytest.mark.slow
    def test_one_factor_above_the_noise_is_not_better_than_chance(self):
        """Of ten factors one is in the codes: nothing is known of codes that share factors."""
        rng = np.random.default_rng(0)
        factors = rng.integers(0, 6, (1000, 10))
        codes = rng.normal(size=(1000, 4))
        codes[:, 0] += factors[:, 0]
        score = evaluate(codes, factors, metrics="dci_linear", n_jobs=1)["dci_linear.disentanglement"]
        assert score.value == 0.0
        assert score.beats_chance is False
        assert NoteKind.LEFT_OUT in [note.kind for note in score.notes]


def test_linear_scores_hardly_depend_on_the_number_of_rows():
    def draw(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        hidden = rng.normal(size=(n_rows, 3))
        mixed = hidden @ np.array([[1, 0.3, 0, 0.5, 0], [0, 1, 0.2, 0.5, 0], [0.2, 0, 1, 0, 0]])
        return mixed + 0.3 * rng.normal(size=mixed.shape), hidden

    few = [[float(score) for score in dci_linear(*draw(2000, seed))] for seed in range(10)]
    many = [float(score) for score in dci_linear(*draw(50_000, 99))]
    np.testing.assert_allclose(np.mean(few, axis=0), many, atol=0.015)


def test_a_dropped_factor_leaves_the_others_perfect():
    codes = np.column_stack([LEVELS[:, :2], np.random.default_rng(0).normal(size=2000)])
    assert float(dci_linear(codes, FACTORS).disentanglement) == pytest.approx(1.0, abs=1e-6)


def test_permutation_importance_finds_the_same_codes():
    found = dci_forest(LEVELS, FACTORS, importance="permutation", n_trees=10)
    assert float(found.disentanglement) > 0.97


def test_extra_trees_share_importance_between_twin_codes():
    """A truth on paper: codes that say the same should split the importance, completeness 1 - log 2 / log 6."""
    twins = np.hstack([LEVELS, LEVELS]) + 0.02 * np.random.default_rng(0).standard_normal((2000, 6))
    truth = 1 - np.log(2) / np.log(6)
    assert float(dci_forest(twins, FACTORS, forest="extra").completeness) == pytest.approx(truth, abs=0.03)


def test_linear_probe_sees_nothing_in_noise_rather_than_amplifying_it():
    noise = np.random.default_rng(0).standard_normal((2000, 5))
    assert float(dci_linear(noise, FACTORS).disentanglement) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forest": "tropical"}, "forest must be one of random, extra, got 'tropical'"),
        ({"n_trees": 0}, "n_trees must be"),
        ({"importance": "shap"}, "importance must be one of auto, held_out, impurity, permutation"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        dci_forest(LEVELS, FACTORS, **options)


def test_raw_importances_weigh_factors_by_how_well_they_are_predicted():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (600, 2))
    # The first factor is clear in a code of its own; the second is faint, and shares its code with the first.
    codes = np.column_stack([factors[:, 0], 0.5 * factors[:, 1] + factors[:, 0], rng.normal(size=600)])
    codes = codes + 0.3 * rng.normal(size=codes.shape)
    options = {"importance": "permutation", "n_trees": 10}
    shares, raw = (dci_forest(codes, factors, columns=columns, **options) for columns in ("shares", "raw"))
    matrix = raw.disentanglement.evidence["importance"]
    np.testing.assert_allclose(matrix / matrix.sum(axis=0), shares.disentanglement.evidence["importance"])
    assert matrix.sum(axis=0).max() != pytest.approx(1.0)
    assert raw.disentanglement.value != pytest.approx(shares.disentanglement.value, abs=1e-3)
    assert raw.completeness.value == pytest.approx(shares.completeness.value)
    assert raw.informativeness.value == shares.informativeness.value
    linear = [dci_linear(codes, factors, columns=one, strength=0.01).disentanglement for one in ("shares", "raw")]
    assert linear[0].value != pytest.approx(linear[1].value, abs=1e-3)


def test_permutation_of_training_rows_finds_what_trees_learned_by_heart():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (300, 2))
    codes = np.column_stack([factors[:, 0], factors[:, 1], rng.normal(size=300)]) + rng.normal(size=(300, 3))
    options = {"n_trees": 10, "min_leaf": 1, "columns": "raw"}
    held_out, in_sample = (
        dci_forest(codes, factors.astype(str), importance=one, **options).disentanglement.evidence["importance"]
        for one in ("permutation", "permutation_in_sample")
    )
    assert in_sample[2].sum() > held_out[2].sum() + 0.1  # the code of noise


def test_trees_are_grown_on_as_many_rows_as_asked_for():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (400, 2)).astype(str)
    codes = rng.normal(size=(400, 3))
    options = {"importance": "permutation", "n_trees": 3}
    capped = dci_forest(codes, factors, rows_a_tree=100, **options).completeness
    assert any("grown on 100 of the rows" in str(note) for note in capped.notes)
    whole = dci_forest(codes, factors, rows_a_tree=0, **options).completeness
    assert not any("of the rows" in str(note) for note in whole.notes)


@pytest.mark.slow
@pytest.mark.parametrize("n_codes", [64, 65, 128])
def test_noise_beside_the_codes_of_two_values_counts_for_nothing(n_codes):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, (2000, 3))
    codes = rng.normal(size=(2000, n_codes))
    codes[:, :3] += 2 * factors
    scores = dci_linear(codes, factors)
    assert scores.disentanglement.value > 0.97
    assert scores.completeness.value > 0.97
    assert scores.informativeness.value == pytest.approx(0.84, abs=0.03)
    shuffled = dci_linear(codes, rng.permutation(factors))
    assert shuffled.disentanglement.value == 0
