import numpy as np
import pytest

from unbraid.metrics import dci_boosting, dci_forest
from unbraid.metrics.table.catalogue import METRICS
from unbraid.probes import bins as subject
from unbraid.probes.bins import N_BINS, FoldedTask, bins_of, most_telling, most_telling_together
from unbraid.probes.trees import BoostingOptions, boosting_importance
from unbraid.representation.representation import Representation

RNG = np.random.default_rng(0)


class TestBins:
    def test_a_continuous_code_has_about_equal_bins(self):
        counts = np.bincount(bins_of(RNG.normal(size=(3200, 1)))[:, 0])
        assert len(counts) == N_BINS
        assert counts.min() >= 0.9 * 3200 / N_BINS

    def test_few_values_keep_a_bin_each(self):
        values = RNG.integers(0, 5, (500, 1))
        np.testing.assert_array_equal(bins_of(values * 3.0), values)

    def test_a_code_that_is_mostly_zero_keeps_bins_for_the_rest(self):
        code = np.where(RNG.random((5000, 1)) < 0.9, 0.0, RNG.exponential(size=(5000, 1)))
        found = bins_of(code)[:, 0]
        assert len(np.unique(found[code[:, 0] == 0])) == 1
        assert len(np.unique(found[code[:, 0] > 0])) >= 20
        assert found[code[:, 0] > 0].min() > found[code[:, 0] == 0].max()

    def test_increasing_maps_change_nothing(self):
        codes = RNG.normal(size=(1000, 3))
        np.testing.assert_array_equal(bins_of(np.exp(codes)), bins_of(codes))


class TestMostTelling:
    def test_codes_that_tell_are_tried_whatever_their_distribution(self):
        codes = RNG.normal(size=(2000, 300))
        codes[:, 7] = RNG.random(2000) < 0.1
        targets = np.column_stack([codes[:, 250] ** 2, codes[:, 7]]) + RNG.normal(size=(2000, 2))
        chosen = most_telling(bins_of(codes), targets, np.arange(2000) % 3)
        assert all(250 in fold[0] and 7 in fold[1] for fold in chosen)
        assert all(len(own) == subject.LEAST_TRIED for fold in chosen for own in fold)

    @pytest.mark.slow
    def test_luck_does_not_fill_the_places_of_very_many_codes(self):
        codes, targets = RNG.normal(size=(1000, 4096)), RNG.normal(size=(1000, 1))
        chosen = most_telling(bins_of(codes), targets, np.arange(1000) % 3)
        assert all(len(own) <= 2 * subject.LEAST_TRIED for fold in chosen for own in fold)

    def test_rows_of_the_own_fold_decide_nothing(self):
        codes, fold = RNG.normal(size=(600, 200)), np.arange(600) % 3
        targets = RNG.normal(size=(600, 1))
        changed = np.where(fold[:, None] == 1, 5 * codes[:, :1], targets)
        before, after = (most_telling(bins_of(codes), y, fold) for y in (targets, changed))
        np.testing.assert_array_equal(before[1][0], after[1][0])
        assert not np.array_equal(before[0][0], after[0][0])

    def test_a_code_that_only_corrects_another_is_tried(self):
        codes, target = RNG.normal(size=(2000, 200)), RNG.normal(size=2000)
        codes[:, 0] = target + codes[:, 100]
        chosen = most_telling(bins_of(codes), target[:, None], np.arange(2000) % 3)
        assert all(100 in fold[0] for fold in chosen)


class TestMostTellingTogether:
    def test_codes_of_every_output_are_tried(self):
        codes = RNG.normal(size=(1500, 300))
        outputs = np.column_stack([codes[:, 7] > 1, codes[:, 250] ** 2 > 1]).astype(float)
        task = FoldedTask(rows=np.arange(1500), fold=np.arange(1500) % 3, outputs=outputs)
        (chosen,) = most_telling_together(bins_of(codes), [task], 20)
        assert len(chosen) == 3
        assert all({7, 250} <= set(own) and len(own) == 20 for own in chosen)
        assert all((np.diff(own) > 0).all() for own in chosen)

    def test_rows_of_the_own_fold_decide_nothing(self):
        codes, fold = RNG.normal(size=(600, 200)), np.arange(600) % 3
        outputs = RNG.normal(size=(600, 2))
        changed = np.where(fold[:, None] == 1, 5 * codes[:, :1], outputs)
        tasks = [FoldedTask(rows=np.arange(600), fold=fold, outputs=y) for y in (outputs, changed)]
        before, after = most_telling_together(bins_of(codes), tasks, 30)
        np.testing.assert_array_equal(before[1], after[1])
        assert not np.array_equal(before[0], after[0])


def known_among_noise(n_rows: int, n_codes: int, n_factors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 2, (n_rows, n_factors))
    codes = rng.normal(size=(n_rows, n_codes))
    codes[:, :n_factors] += 2.0 * factors
    return codes, factors


def spread_over_codes(n_rows: int, n_codes: int, n_factors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight codes for each factor, and eight that mix them all."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, n_factors))
    codes = rng.normal(size=(n_rows, n_codes))
    codes[:, : 8 * n_factors] += 2 * np.repeat(factors, 8, axis=1)
    codes[:, -8:] += 2 * factors.sum(axis=1, keepdims=True)
    return codes, factors


@pytest.mark.slow
@pytest.mark.parametrize("world", [known_among_noise, spread_over_codes])
@pytest.mark.parametrize("function", [dci_forest, dci_boosting])
def test_scores_of_128_codes_are_those_of_exact_trees(monkeypatch, world, function):
    draws = [world(2500, 128, 2, seed) for seed in range(3)]
    fast = np.mean([[float(score) for score in function(*draw)] for draw in draws], axis=0)
    monkeypatch.setattr(subject, "MOST_EXACT", 128)
    exact = np.mean([[float(score) for score in function(*draw)] for draw in draws], axis=0)
    tolerance = METRICS[f"{function.__name__}.disentanglement"].tolerance
    np.testing.assert_allclose(fast[1:], exact[1:], atol=tolerance)
    np.testing.assert_allclose(fast[0], exact[0], atol=tolerance)


@pytest.mark.slow
def test_known_codes_are_found_among_4096():
    codes, factors = known_among_noise(600, 4096, 2, 0)
    scores = dci_forest(codes, factors)
    assert float(scores.disentanglement) > 0.9
    assert float(scores.completeness) > 0.9


@pytest.mark.slow
def test_the_best_of_4096_codes_of_noise_predicts_nothing():
    rep = Representation(RNG.normal(size=(600, 4096)), RNG.integers(0, 2, (600, 3)))
    found = boosting_importance(rep, BoostingOptions(n_rounds=20), np.random.default_rng(0))
    assert found.matrix.sum() == 0
    assert (found.informativeness < 0.56).all()
