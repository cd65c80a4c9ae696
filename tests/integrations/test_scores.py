import numpy as np
import pytest
import torch

import unbraid as ub
from unbraid.integrations.scores import RepresentationScores

METRICS = "mig,r2,dci_linear"


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (400, 2))
    return factors + 0.2 * rng.standard_normal(factors.shape), factors


def fed(scores, codes, factors, size=64):
    for start in range(0, len(codes), size):
        scores.update(codes[start : start + size], factors[start : start + size])
    return scores


def test_batches_score_as_all_rows_at_once(world):
    whole = ub.evaluate(*world, metrics=METRICS, intervals=False, nulls=False)
    for size in (64, 400, 7):
        assert fed(RepresentationScores(METRICS), *world, size).compute() == {
            name: score.value for name, score in whole.items()
        }


def test_tensors_score_as_arrays(world):
    codes, factors = (torch.as_tensor(part) for part in world)
    tensors = fed(RepresentationScores(METRICS), codes.float().requires_grad_(), factors)
    arrays = fed(RepresentationScores(METRICS), world[0].astype(np.float32), world[1])
    assert tensors.compute() == arrays.compute()


def test_batches_may_be_reused_by_the_caller(world):
    codes, factors = world
    kept = RepresentationScores("mig")
    buffer = np.empty((100, 2))
    for start in range(0, 400, 100):
        buffer[:] = codes[start : start + 100]
        kept.update(buffer, factors[start : start + 100])
    assert kept.compute() == fed(RepresentationScores("mig"), *world).compute()


def test_rows_are_bounded_whatever_comes(world):
    scores = RepresentationScores("mig", max_rows=50)
    for _ in range(20):
        fed(scores, *world)
        assert len(scores) <= 50
        assert sum(part.size for part in scores._codes) <= 100
    assert (len(scores), scores.n_seen) == (50, 8000)


def test_every_row_is_kept_equally_often():
    """Early and late rows alike: 20 of 100 rows, so each in a fifth of 500 runs, give or take 18."""
    kept = np.zeros(100)
    rows = np.column_stack([np.arange(100.0), np.arange(100.0)])
    for seed in range(500):
        scores = fed(RepresentationScores("mig", max_rows=20, seed=seed), rows, rows, 10)
        kept[np.concatenate(scores._arrivals)] += 1
    assert kept.sum() == 500 * 20
    assert abs(kept - 100).max() < 45
    thirds = kept.reshape(4, 25).sum(axis=1)
    assert abs(thirds - 2500).max() < 150


def test_a_sample_keeps_codes_and_factors_together_in_order():
    rows = np.column_stack([np.arange(1000.0), -np.arange(1000.0)])
    scores = fed(RepresentationScores("r2", max_rows=100), rows, rows, 33)
    codes, factors = np.concatenate(scores._codes), np.concatenate(scores._factors)
    np.testing.assert_array_equal(codes, factors)
    few = fed(RepresentationScores("mig", max_rows=2000), rows % 7, rows % 7, 33)
    assert few.compute() == fed(RepresentationScores("mig"), rows % 7, rows % 7).compute()


def test_reset_forgets_and_starts_the_same_sample(world):
    scores = RepresentationScores("mig", max_rows=100)
    first = fed(scores, *world).compute()
    scores.reset()
    assert (len(scores), scores.n_seen) == (0, 0)
    with pytest.raises(ValueError, match="update must be called before compute: no rows have come in"):
        scores.compute()
    assert fed(scores, *world).compute() == first


def test_a_report_has_intervals_names_and_kinds(world):
    scores = fed(RepresentationScores("mig", names=["a", "b"], kinds=["categorical", None]), *world)
    report = scores.report()
    assert report["mig"].low < report["mig"].value < report["mig"].high
    assert report.setup.factor_names == ("a", "b")
    assert report.setup.factor_kinds[0] == "categorical"


def test_what_fails_is_nan_with_a_warning(world):
    codes, factors = world
    scores = RepresentationScores("mig,z_diff")
    scores.update(codes, factors[:, 0])
    with pytest.warns(RuntimeWarning, match="z_diff could not be"):
        found = scores.compute()
    assert found["mig"] > 0.5
    assert np.isnan(found["z_diff"])


def test_bad_batches_are_refused(world):
    codes, factors = world
    scores = RepresentationScores("mig")
    with pytest.raises(ValueError, match=r"got \(400, 2\) and \(10, 2\)"):
        scores.update(codes, factors[:10])
    scores.update(codes, factors)
    with pytest.raises(ValueError, match=r"as many columns as before \(2 and 2\), got 3 and 2; call reset first"):
        scores.update(np.zeros((4, 3)), factors[:4])
    with pytest.raises(ValueError, match="max_rows must be at least 4, got 1"):
        RepresentationScores("mig", max_rows=1)
    with pytest.raises(ValueError, match="Unknown metric"):
        RepresentationScores("nothing")
