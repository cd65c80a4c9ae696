"""Agreement with other implementations, each with the options that reproduce it."""

import json
from pathlib import Path

import numpy as np
import pytest

from golden.sets import SEEDS, make_set
from unbraid import metrics

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "peers.json").read_text())["values"]
every_set = pytest.mark.parametrize("name", SEEDS)


def peer(row: str, name: str) -> np.ndarray:
    return np.array(PEERS[row]["values"][name])


@every_set
@pytest.mark.parametrize("n_bins", [10, 20])
def test_information_metrics_equal_their_peers(name, n_bins):
    codes, factors = make_set(name)
    bins = {"n_bins": n_bins, "binning": "uniform"}
    for metric, options in [
        ("mig", {"normalise_by": "code"}),
        ("mig_sup", {"normalise_by": "code"}),
        ("jemmig", {}),
        ("dcimig", {}),
        ("modularity", {}),
    ]:
        ours = float(getattr(metrics, metric)(codes, factors, **bins, **options))
        assert ours == pytest.approx(peer(f"{metric}, {n_bins} bins", name), abs=1e-6), metric


@every_set
def test_mig_and_modularity_equal_disentanglement_lib(name):
    codes, factors = make_set(name)
    ours = float(metrics.mig(codes, factors, n_bins=20, binning="uniform"))
    assert ours == pytest.approx(peer("mig, by factor entropy", name), abs=1e-6)
    ours = float(metrics.modularity(codes, factors, n_bins=20, binning="uniform"))
    assert ours == pytest.approx(peer("modularity", name), abs=1e-6)


@every_set
def test_irs_equals_its_peers(name):
    codes, factors = make_set(name)
    binned = np.stack([np.digitize(v, np.histogram(v, 20)[1][:-1]) for v in factors.T], axis=1)
    assert float(metrics.irs(codes, factors, quantile=1)) == pytest.approx(peer("irs, quantile 1", name), abs=1e-6)
    assert float(metrics.irs(codes, factors, quantile=0.99)) == pytest.approx(
        peer("irs, quantile 0.99", name), abs=1e-6
    )
    assert float(metrics.irs(codes, binned, quantile=0.99)) == pytest.approx(
        peer("irs, quantile 0.99, factors in 20 bins", name), abs=1e-6
    )


@every_set
def test_sap_equals_its_peer(name):
    assert float(metrics.sap(*make_set(name))) == pytest.approx(peer("sap, regression", name), abs=1e-5)


@pytest.mark.slow
@every_set
def test_multinomial_explicitness_agrees(name):
    ours = float(metrics.explicitness(*make_set(name), classifier="multinomial"))
    assert ours == pytest.approx(peer("explicitness, multinomial", name), abs=0.01)


@every_set
def test_intervention_votes_agree(name):
    codes, factors = make_set(name)
    for metric, options in {"z_diff": {}, "z_min_var": {"n_votes": 800, "group_size": 200}}.items():
        ours = np.mean([float(getattr(metrics, metric)(codes, factors, **options, rng=seed)) for seed in range(3)])
        assert ours == pytest.approx(max(0.0, peer(metric, name)), abs=0.03), metric


@pytest.mark.parametrize("name", ["perm", "rotated", "nonmodular"])
def test_linear_dci_agrees(name):
    ours = [float(score) for score in metrics.dci_linear(*make_set(name))]
    np.testing.assert_allclose(ours, peer("dci, lasso", name), atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perm", "rotated", "dup", "nonmodular"])
def test_published_lasso_is_the_peers(name):
    """Informativeness is not compared: theirs comes from the squared error of a uniform target."""
    ours = metrics.dci_linear(*make_set(name), strength="published", columns="raw")
    np.testing.assert_allclose([float(score) for score in ours[:2]], peer("dci, lasso", name)[:2], atol=1e-4)


@pytest.mark.slow
def test_linear_dci_on_doubled_codes_is_the_converged_lasso():
    """The peer's completeness here, 0.9999, is a solver stopped early; run to the end it is 0.956."""
    from sklearn.linear_model import Lasso

    codes, factors = ((columns - columns.mean(axis=0)) / columns.std(axis=0) for columns in make_set("dup"))
    early, converged = (
        np.stack(
            [np.abs(Lasso(alpha=1.2e-3, tol=tol, max_iter=100_000).fit(codes, v).coef_) for v in factors.T], axis=1
        )
        for tol in (1e-4, 1e-9)
    )
    assert completeness(early) == pytest.approx(peer("dci, lasso", "dup")[1], abs=1e-3)
    ours = float(metrics.dci_linear(*make_set("dup"), strength=1.2e-3).completeness)
    assert ours == pytest.approx(completeness(converged), abs=0.002)


@pytest.mark.slow
@every_set
def test_forest_disentanglement_and_completeness_agree(name):
    """Informativeness is not compared: theirs is in-sample, ours is R² on held-out rows."""
    ours = [float(score) for score in metrics.dci_forest(*make_set(name), max_depth=16)][:2]
    np.testing.assert_allclose(ours, peer("dci, random forest of depth 16", name)[:2], atol=0.03)


def completeness(weights: np.ndarray) -> float:
    share = weights / weights.sum(axis=0)
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=0) / np.log(len(weights))
    return float((1 - entropy).mean())
