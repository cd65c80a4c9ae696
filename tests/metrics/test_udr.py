"""Agreement between models, where it is known on paper."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from helpers.worlds import random_rotation, standardised
from unbraid import Representation
from unbraid.evidence.agreement import AgreementOptions, ModelSimilarity, agreement, explained_by_one
from unbraid.metrics import udr
from unbraid.metrics.identification.udr import agreement_of_pairs

ROOT = np.sqrt(0.5)
QUARTER = np.array([[ROOT, -ROOT], [ROOT, ROOT]])
METHODS = ["lasso", "spearman"]


def white(n_rows, n_codes):
    """Normal codes whose sample moments are exact: mean 0, deviation 1, no correlation."""
    codes = standardised(np.random.default_rng(0).normal(size=(n_rows, n_codes)))
    return codes @ np.linalg.inv(np.linalg.cholesky(np.cov(codes.T, bias=True))).T


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", ["published", "thesis"])
def test_copies_turned_in_order_and_sign_agree_fully(method, variant):
    codes = white(20_000, 3)
    others = [codes, codes[:, [2, 0, 1]] * [1, -1, -1], 5 * codes[:, ::-1] - 2]
    found = udr(others, method=method, variant=variant)
    # ranks of codes without correlation are still correlated a little by chance
    np.testing.assert_allclose(found.per_model, 1, atol=1e-9 if method == "lasso" else 0.03)
    assert np.isnan(np.diagonal(found.pairs)).all()
    assert found.notes == ()


def test_shrinkage_can_be_kept_as_published_code_does():
    codes = white(1000, 3)
    np.testing.assert_allclose(udr([codes, codes], undo_shrinkage=False).per_model, 0.9)
    np.testing.assert_allclose(udr([codes, codes], strength=0.25, undo_shrinkage=False).per_model, 0.75)
    np.testing.assert_allclose(udr([codes, codes], strength=0.25).per_model, 1)


def test_half_a_turn_between_two_axes():
    codes = white(50_000, 2)
    pair = [codes, codes @ QUARTER]
    # every weight is sqrt(1/2) shrunk by 0.1; r² / 2r = r / 2
    np.testing.assert_allclose(udr(pair).per_model, (ROOT - 0.1) / 0.9 / 2, rtol=1e-4)
    # rank correlation of normals: 6 / pi * asin(rho / 2)
    np.testing.assert_allclose(udr(pair, method="spearman").per_model, 6 / np.pi * np.arcsin(ROOT / 2) / 2, atol=0.005)
    # two codes equally alike: the thesis' share is a half
    for method in METHODS:
        np.testing.assert_allclose(udr(pair, method=method, variant="thesis").per_model, 0.5, atol=0.005)


def test_noise_does_not_agree():
    noise = [np.random.default_rng(seed).normal(size=(5000, 4)) for seed in range(3)]
    np.testing.assert_array_equal(udr(noise).per_model, 0)
    assert udr(noise, method="spearman").per_model.max() < 0.03
    np.testing.assert_array_equal(udr(noise, variant="thesis").per_model, 0)


def test_one_informative_code():
    codes = white(2000, 3)
    other = np.column_stack([np.random.default_rng(1).normal(size=(2000, 2)), -codes[:, 0]])
    found = udr([codes, other], active=[[True, False, False], [False, False, True]])
    np.testing.assert_allclose(found.per_model, 1)
    assert found.n_informative.tolist() == [1, 1]


def test_no_informative_code_agrees_with_none():
    codes = white(500, 3)
    rates = [[1.0, 2.0, 0.5], [0.001, 0.0, 0.01], [1.0, 1.0, 1.0]]
    found = udr([codes, codes, codes], rates=rates)
    assert found.pairs[0, 1] == found.pairs[1, 0] == found.pairs[1, 2] == 0
    assert found.pairs[0, 2] == pytest.approx(1)
    assert found.per_model.tolist() == pytest.approx([0.5, 0, 0.5])
    assert found.notes == ("Models [1] have no informative code: they agree with none, and score 0.",)
    empty = udr([codes, codes], rates=[np.zeros(3)] * 2)
    assert empty.per_model.tolist() == [0, 0]


def test_rates_above_the_threshold_are_informative():
    codes = white(500, 3)
    found = udr([codes, codes], rates=[[0.5, 0.01, 0.02]] * 2)
    assert found.n_informative.tolist() == [2, 2]
    assert udr([codes, codes], rates=[[0.5, 0.01, 0.02]] * 2, threshold=0.1).n_informative.tolist() == [1, 1]


def test_without_rates_faint_codes_do_not_count():
    codes = white(500, 3) * [1, 0.3, 0.05]  # variances 1, 0.09 and 0.0025
    dead = np.column_stack([codes[:, :2], np.full(500, 3.0)])
    assert udr([codes, dead]).n_informative.tolist() == [2, 2]
    assert udr([codes, dead], threshold=0).n_informative.tolist() == [3, 2]


def test_a_missing_code_counts_by_the_formula():
    codes = white(2000, 3)
    # two of three codes are found again; the third resembles none: (2 + 2) / (3 + 2)
    found = udr([codes, codes[:, :2]])
    np.testing.assert_allclose(found.per_model, 0.8)


def test_score_of_a_table_by_hand():
    table = np.array([[0.8, 0.0, 0.2], [0.1, 0.6, 0.3]])  # two codes say so much of three
    similarity = np.zeros((5, 5))
    similarity[:2, 2:] = table
    by_target = 0.8**2 / 0.9 + 0.6**2 / 0.6 + 0.3**2 / 0.5
    by_source = 0.8**2 / 1.0 + 0.6**2 / 1.0
    found = ModelSimilarity(similarity=similarity, counts=np.array([2, 3]))
    # row: the model that is predicted
    pairs = agreement_of_pairs(found, squared=True)
    assert pairs[1, 0] == pytest.approx((by_target + by_source) / 5)
    assert pairs[0, 1] == 0
    plain = agreement_of_pairs(found, squared=False)
    assert plain[1, 0] == pytest.approx((0.8 / 0.9 + 1 + 0.3 / 0.5 + 0.8 + 0.6) / 5)


def test_a_model_is_scored_by_the_median_of_the_others():
    codes = white(20_000, 2)
    turned, noise = codes @ QUARTER, np.random.default_rng(9).normal(size=(20_000, 2))
    found = udr([codes, codes, turned, noise])
    half = (ROOT - 0.1) / 0.9 / 2
    np.testing.assert_allclose(found.pairs[0, 1:], [1, half, 0], atol=1e-3)
    np.testing.assert_allclose(found.per_model, [half, half, half, 0], atol=1e-3)


def peer_pairs(models):
    """Agreement as published, with scikit-learn's Lasso for every two models, [predicted, predicting]."""
    scaled = [standardised(codes) for codes in models]
    pairs = np.full((len(models), len(models)), np.nan)
    for u, source in enumerate(scaled):
        for m, goal in enumerate(scaled):
            if m != u:
                r = np.abs(Lasso(alpha=0.1, tol=1e-10).fit(source, goal).coef_.T)
                both = [r.max(axis) ** 2 / np.maximum(r.sum(axis), 1e-12) for axis in (0, 1)]
                pairs[m, u] = np.concatenate(both).mean()
    return pairs


def test_agrees_with_a_lasso_for_every_two_models():
    rng = np.random.default_rng(1)
    factors = rng.uniform(-1, 1, size=(1500, 4))
    models = [factors @ (np.eye(4) + 0.3 * rng.normal(size=(4, 4))) for _ in range(3)]
    models += [np.tanh(2 * factors @ random_rotation(4, rng)), factors[:, :3] ** 3]
    found = udr(models, undo_shrinkage=False)
    np.testing.assert_allclose(found.pairs, peer_pairs(models), atol=1e-4)


def test_variance_one_lasso_explains_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    x = standardised(rng.normal(size=(300, 1)))
    y = standardised(0.5 * x[:, 0] + rng.normal(size=300))
    expected = Lasso(alpha=0.2).fit(x, y).score(x, y)
    assert explained_by_one(np.corrcoef(x[:, 0], y), 0.2)[0, 1] == pytest.approx(expected)
    weak = agreement([x, rng.normal(size=(300, 1))], [[True]] * 2, AgreementOptions(strength=0.5))
    assert weak.similarity[0, 1] == 0


def test_representations_are_taken():
    codes = white(500, 2)
    assert udr([Representation(codes), codes]).per_model == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("models", "options", "sentence"),
    [
        ([np.eye(5)], {}, "codes_of_models must hold at least two models to compare, got 1"),
        ([np.eye(5), np.eye(6)], {}, r"same rows, got 5 rows in the first and 6 in codes_of_models\[1\]"),
        ([np.eye(5), np.full((5, 2), np.nan)], {}, r"codes_of_models\[1\]: codes must be finite"),
        ([np.eye(5)] * 2, {"method": "pearson"}, "method must be one of lasso, spearman, got 'pearson'"),
        ([np.eye(5)] * 2, {"variant": "thesis2"}, "did you mean 'thesis'"),
        ([np.eye(5)] * 2, {"strength": 1.0}, r"strength must be in \[0, 1\), got 1.0"),
        ([np.eye(5)] * 2, {"threshold": -1}, "threshold must be at least 0, got -1"),
        ([np.eye(5)] * 2, {"rates": [np.ones(5)]}, "rates must have an entry for each of the 2 models, got 1"),
        ([np.eye(5)] * 2, {"rates": [np.ones(5), np.ones(4)]}, r"rates\[1\] must have a value for each of the 5 codes"),
        ([np.eye(5)] * 2, {"rates": [np.ones(5), np.full(5, np.nan)]}, "with NaN"),
        ([np.eye(5)] * 2, {"rates": [np.ones(5)] * 2, "active": [np.ones(5)] * 2}, "give one of them"),
    ],
)
def test_bad_input(models, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        udr(models, **options)
