"""CKA, Procrustes, CCA, RSA and dictionaries: truths, invariances, other libraries' values, intervals, chance."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from golden.random_input import two_representations
from unbraid import similarity
from unbraid.similarity import cca, cka, dictionaries, matching, procrustes, rsa

QUICK = {"interval": False, "chance": False}
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "specialists.json").read_text(encoding="utf-8"))


@pytest.fixture
def codes():
    rng = np.random.default_rng(1)
    return rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))


def rotation(size, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


class TestTruths:
    @pytest.mark.parametrize("measure", [cka, procrustes, cca])
    def test_a_rotated_and_rescaled_copy_is_the_same(self, measure, codes):
        assert abs(measure(codes, 3 * codes @ rotation(6) - 7, **QUICK).value - 1) < 1e-9

    @pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"debiased": False}, {"kernel": "rbf", "debiased": False}])
    def test_so_it_is_for_every_form_of_cka(self, codes, options):
        assert abs(cka(codes, 3 * codes @ rotation(6) - 7, **options, **QUICK).value - 1) < 1e-9

    @pytest.mark.parametrize("debiased", [True, False])
    def test_so_it_is_for_more_codes_than_rows(self, debiased):
        wide = np.random.default_rng(2).normal(size=(50, 80))
        assert abs(cka(wide, 3 * wide @ rotation(80) - 7, debiased=debiased, **QUICK).value - 1) < 1e-9

    @pytest.mark.parametrize("debiased", [True, False])
    def test_products_of_codes_and_of_rows_give_the_same(self, codes, debiased):
        """With columns of zeros there are more codes than rows, and products of rows are taken."""
        other = np.tanh(codes[:, :4])
        padded = np.hstack([codes, np.zeros((len(codes), len(codes)))])
        found = [cka(one, other, debiased=debiased) for one in (codes, padded)]
        assert found[0].value == pytest.approx(found[1].value, abs=1e-12)
        assert found[0].low == pytest.approx(found[1].low, abs=1e-9)
        assert found[0].chance == pytest.approx(found[1].chance, abs=1e-9)

    @pytest.mark.parametrize("name", similarity.MEASURES)
    def test_a_representation_is_exactly_itself(self, name, codes):
        found = similarity.MEASURES[name](codes, codes)
        assert found.value == pytest.approx(1, abs=1e-12)
        assert found.low == pytest.approx(1, abs=1e-9)

    def test_unrelated_noise_of_more_codes_than_rows_is_0_once_debiased_and_near_1_before(self):
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(100, 2000)), rng.normal(size=(100, 2000))
        assert abs(cka(a, b, **QUICK).value) < 0.02
        assert cka(a, b, debiased=False, **QUICK).value > 0.9

    def test_linear_cka_of_columns_that_correlate_one_by_one_is_the_squared_correlation(self):
        # Linear HSIC is the sum of squared covariances.
        rng = np.random.default_rng(0)
        a = rng.normal(size=(200_000, 2))
        b = 0.6 * a + 0.8 * rng.normal(size=a.shape)
        assert cka(a, b, **QUICK).value == pytest.approx(0.36, abs=0.005)

    def test_debiased_cka_is_free_of_the_number_of_rows(self):
        rng = np.random.default_rng(0)
        few, many = [], []
        for _ in range(40):
            a = rng.normal(size=(1000, 10))
            b = a[:, :5] + rng.normal(size=(1000, 5))
            few.append(cka(a[:40], b[:40], **QUICK).value)
            many.append(cka(a, b, **QUICK).value)
        assert np.mean(few) == pytest.approx(np.mean(many), abs=0.03)

    def test_mean_cca_of_half_shared_codes_is_a_half(self):
        rng = np.random.default_rng(0)
        shared, a, b = (rng.normal(size=(50_000, 2)) for _ in range(3))
        found = cca(np.hstack([shared, a]), np.hstack([b, shared @ rotation(2)]), **QUICK).value
        assert found == pytest.approx(0.5, abs=0.01)

    def test_no_interval_comes_from_halves_that_always_share_directions(self):
        a, b = np.random.default_rng(4).normal(size=(2, 300, 80))
        found = cca(a, b)
        assert found.low is found.high is found.beats_chance is None
        assert any("in 150 rows 160 directions always have some in common" in str(note) for note in found.notes)
        assert cca(a[:, :60], b[:, :60]).low < cca(a[:, :60], b[:, :60]).high

    def test_svcca_leaves_out_directions_of_little_variance(self):
        rng = np.random.default_rng(0)
        shared = rng.normal(size=(2000, 2))
        a, b = (np.hstack([shared, 0.01 * rng.normal(size=(2000, 3))]) for _ in range(2))
        assert cca(a, b, keep=0.99, **QUICK).value > 0.999
        assert cca(a, b, **QUICK).value < 0.5

    def test_procrustes_by_hand(self):
        a = np.tile([[1.0, 0], [-1, 0], [0, 1], [0, -1]], (2, 1))
        b = a * [1.0, 3.0]
        # Singular values of a'b are 4 and 12; norms are the roots of 8 and 40.
        assert procrustes(a, b, **QUICK).value == pytest.approx(16 / np.sqrt(8 * 40))

    def test_dictionaries_match_one_to_one_or_by_the_best(self):
        rng = np.random.default_rng(0)
        a = rng.normal(size=(20_000, 3))
        twice = np.stack([a[:, 0], a[:, 0], rng.normal(size=20_000)], axis=1)
        one = dictionaries(a, twice, **QUICK)
        assert one.value == pytest.approx(1 / 3, abs=0.02)
        assert one.evidence["share_found"].tolist() == [pytest.approx(1 / 3)] * 2
        best = dictionaries(a, twice, matching="best", **QUICK)
        assert best.value == pytest.approx((1 / 3 + 2 / 3) / 2, abs=0.02)

    def test_decoder_columns_are_compared_by_cosine_without_sign(self):
        columns = rotation(20)[:, :5]
        found = dictionaries(columns, -4 * columns[:, ::-1], of="columns")
        assert found.value == pytest.approx(1)
        assert found.low is None
        assert 0.2 < found.chance < 0.8


class TestManyCodes:
    """With more than 1024 codes in both dictionaries, correlations are in single precision, made in parts."""

    def pair(self, n_codes=1200, n_others=1400):
        rng = np.random.default_rng(0)
        a = rng.normal(size=(80, n_codes))
        found = rng.permutation(n_codes)
        b = np.column_stack([-3 * a[:, found[:700]], rng.normal(size=(80, n_others - 700))])
        return a, b, found

    def test_copies_are_found_among_noise(self, monkeypatch):
        monkeypatch.setattr(matching, "CELLS", 100_000)
        a, b, found = self.pair()
        ours = dictionaries(a, b, **QUICK)
        assert ours.per_code[found[:700]] == pytest.approx(1.0, abs=1e-5)
        assert (ours.per_code[found[700:]] < 0.7).all()
        assert ours.evidence["share_found"].tolist() == [pytest.approx(700 / 1200), pytest.approx(700 / 1400)]

    @pytest.mark.parametrize("turned", [False, True])
    def test_values_are_those_of_double_precision(self, monkeypatch, turned):
        monkeypatch.setattr(matching, "CELLS", 100_000)
        a, b, _ = self.pair()
        a, b = (b, a) if turned else (a, b)
        size = np.abs(np.corrcoef(a.T, b.T)[: a.shape[1], a.shape[1] :])
        rows, columns = linear_sum_assignment(size, maximize=True)
        assert dictionaries(a, b, **QUICK).value == pytest.approx(size[rows, columns].mean(), abs=1e-6)
        best = dictionaries(a, b, matching="best", **QUICK).value
        assert best == pytest.approx((size.max(axis=0).mean() + size.max(axis=1).mean()) / 2, abs=1e-6)

    @pytest.mark.slow
    def test_few_shuffles_say_the_chance_level_of_many_codes(self, monkeypatch):
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(2, 200, 1100))
        few = dictionaries(a, b, interval=False).chance
        monkeypatch.setattr(matching, "MANY_CODES", 2000)
        assert few == pytest.approx(dictionaries(a, b, interval=False, rng=1).chance, abs=1e-3)


class TestInvariance:
    def test_only_some_measures_ignore_a_stretch(self, codes):
        stretched = codes * [1, 1, 1, 1, 1, 100]
        assert cca(codes, stretched, **QUICK).value == pytest.approx(1)
        assert cka(codes, stretched, **QUICK).value < 0.9
        assert procrustes(codes, stretched, **QUICK).value < 0.9

    def test_rsa_ignores_rotations_with_euclidean_distances_only(self, codes):
        turned = codes @ rotation(6)
        assert rsa(codes, turned, distance="euclidean", **QUICK).value == pytest.approx(1)
        assert rsa(codes, turned, **QUICK).value < 0.99

    def test_dictionaries_ignore_order_sign_and_scale_and_see_a_rotation(self, codes):
        moved = codes[:, ::-1] * [-1, 2, -3, 4, 5, 6] + 7
        assert dictionaries(codes, moved, **QUICK).value == pytest.approx(1, abs=1e-9)
        assert dictionaries(codes, codes @ rotation(6), **QUICK).value < 0.9

    @pytest.mark.parametrize("name", similarity.MEASURES)
    def test_order_of_the_two_does_not_matter(self, name, codes):
        other = np.tanh(codes[:, :4])
        measure = similarity.MEASURES[name]
        assert measure(codes, other, **QUICK).value == pytest.approx(measure(other, codes, **QUICK).value)


class TestOtherLibraries:
    """Values of public code for the same arrays, made once.

    similarity-repository 0.0.1: linear and RBF CKA (yuanli2333), normalised Bures similarity (amzn/xfer), which is the
    Procrustes similarity, mean CCA (google/svcca); rsatoolbox 0.3.2: Spearman correlation of correlation distances.
    """

    @pytest.mark.parametrize(
        ("measure", "options", "value", "tolerance"),
        [
            (cka, {"debiased": False}, 0.6533743433638606, 1e-12),
            (cka, {"kernel": "rbf", "debiased": False}, 0.6971715654553188, 1e-12),
            (cca, {}, 0.7284841326503263, 1e-8),  # their epsilon of 1e-10 is felt in the tenth digit
            (procrustes, {}, 0.7510260107432274, 1e-7),  # theirs takes roots of eigenvalues around 0
            (rsa, {}, 0.65471473, 1e-8),
        ],
    )
    def test_same_value(self, measure, options, value, tolerance):
        assert measure(*two_representations(), **options, **QUICK).value == pytest.approx(value, abs=tolerance)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_debiased_cka_equals_that_of_thingsvision(self, kernel):
        ours = cka(*two_representations(), kernel=kernel, **QUICK).value
        assert ours == pytest.approx(GOLDEN["debiased_cka"]["values"][kernel], abs=1e-12)

    def test_matched_dictionaries_equal_correlations_assigned_by_scipy(self):
        a, b = two_representations()
        size = np.abs(np.corrcoef(a.T, b.T)[:6, 6:])
        ours = dictionaries(a, b, **QUICK).value
        assert ours == pytest.approx(size[linear_sum_assignment(-size)].mean(), abs=1e-12)


class TestUncertainty:
    @pytest.mark.slow
    def test_intervals_of_cka_hold_the_value_of_many_rows(self):
        def draw(n, seed):
            rng = np.random.default_rng(seed)
            a = rng.normal(size=(n, 5))
            return a, a[:, :3] + rng.normal(size=(n, 3))

        truth = cka(*draw(200_000, 0), **QUICK).value
        found = [cka(*draw(300, seed), chance=False) for seed in range(1, 101)]
        held = sum(one.low <= truth <= one.high for one in found)
        assert 89 <= held <= 100
        assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=0.01)

    def test_chance_is_that_of_unrelated_codes(self):
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(200, 30)), rng.normal(size=(200, 30))
        for measure in (cka, procrustes, cca, rsa, dictionaries):
            found = measure(a, b)
            assert found.value == pytest.approx(found.chance, abs=0.05)
            assert found.beats_chance is False
        assert cca(a, a + 0.1 * b).beats_chance

    def test_same_seed_same_numbers(self, codes):
        one, two = (rsa(codes, np.tanh(codes), max_rows=100, rng=3) for _ in range(2))
        assert (one.value, one.low, one.chance) == (two.value, two.low, two.chance)
        assert len(one.notes) == 1


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda a: cka(a, a[:-1]), "b must have the rows of a"),
        (lambda a: cka(a[:5], a[:5]), "a must have at least"),
        (lambda a: cka(a, a, kernel="cubic"), "kernel"),
        (lambda a: cka(a, a, kernel="rbf", bandwidth=0), "bandwidth"),
        (lambda a: cca(a, a, keep=0), "keep"),
        (lambda a: rsa(a[:, :2], a), "a must have at least 3 codes"),
        (lambda a: dictionaries(a, a, threshold=2), "threshold"),
        (lambda a: dictionaries(a, a[:-1], of="columns"), "b must have the outputs of a"),
        (lambda a: similarity.similarities({"a": a}), "representations must be two or more"),
        (lambda a: similarity.similarities({"a": a, "b": a}, measures="cke"), "measures must be among"),
        (lambda a: similarity.similarities({"a": a, "b": a}, options={"cke": {}}), "options must be among"),
    ],
)
def test_bad_input_is_named(call, named, codes):
    with pytest.raises(ValueError, match=named):
        call(codes)
