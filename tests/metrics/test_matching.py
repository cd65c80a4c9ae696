"""Options of the mean correlation coefficient: cross-fitting, normalisation, and correlation of any kind."""

import json
from pathlib import Path

import numpy as np
import pytest

from golden.neighbours import factors_and_many_codes
from unbraid import Representation, evaluate, metrics

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "neighbours.json").read_text())["values"]


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_cross_fitted_values_equal_those_of_identifiability_guard(correlation):
    factors, codes = factors_and_many_codes()
    ours = metrics.mcc(codes, factors, cross_fit=True, correlation=correlation, normalisation="matched").value
    assert ours == pytest.approx(PEERS[f"identifiability-guard 144f545, crossfit, {correlation}"], abs=1e-9)


def test_codes_that_are_the_factors_keep_one():
    rng = np.random.default_rng(0)
    columns = {"number": rng.normal(size=300), "name": np.array(list("abc"))[rng.integers(0, 3, 300)]}
    columns["turn"] = rng.integers(0, 8, 300)
    angle = 2 * np.pi * columns["turn"] / 8
    place = {"a": -1.0, "b": 5.0, "c": 2.0}
    codes = np.column_stack([-columns["number"], [place[name] for name in columns["name"]], np.cos(angle)])
    rep = Representation(codes, columns, kinds={"turn": "circular:8"})
    assert metrics.mcc(rep, cross_fit=True).value == pytest.approx(1, abs=1e-6)
    assert metrics.mcc(rep, correlation="rdc").value > 0.99


def test_noise_of_many_codes_scores_nothing_where_the_plain_score_does():
    rng = np.random.default_rng(0)
    plain, cross_fitted = [], []
    for _ in range(10):
        codes, factors = rng.normal(size=(100, 200)), rng.normal(size=(100, 3))
        plain.append(metrics.mcc(codes, factors).value)
        cross_fitted.append(metrics.mcc(codes, factors, cross_fit=True).per_factor.mean())
    assert np.mean(plain) > 0.25
    assert np.mean(cross_fitted) == pytest.approx(0, abs=0.05)


def test_normalisation_counts_all_factors_or_those_with_a_code():
    factors = np.random.default_rng(0).normal(size=(200, 4))
    codes = factors[:, :2]
    assert metrics.mcc(codes, factors).value == pytest.approx(0.5, abs=1e-6)
    assert metrics.mcc(codes, factors, normalisation="matched").value == pytest.approx(1, abs=1e-6)


def test_correlation_of_any_kind_sees_a_square_that_ranks_do_not():
    factors = np.random.default_rng(0).normal(size=(1000, 3))
    assert metrics.mcc(factors**2, factors, correlation="spearman").value < 0.1
    assert metrics.mcc(factors**2, factors, correlation="rdc").value > 0.95
    assert metrics.mcc(np.exp(3 * factors), factors, correlation="rdc").value > 0.99


def test_correlation_of_any_kind_is_unchanged_by_increasing_maps_and_order():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(300, 2))
    codes = factors + 0.5 * rng.normal(size=(300, 2))
    before = metrics.mcc(codes, factors, correlation="rdc").value
    assert metrics.mcc(np.exp(codes), factors, correlation="rdc").value == pytest.approx(before, abs=1e-9)
    assert metrics.mcc(codes[:, ::-1], factors, correlation="rdc").value == pytest.approx(before, abs=1e-9)
    assert metrics.mcc(codes, factors[:, ::-1], correlation="rdc").value == pytest.approx(before, abs=1e-9)
    assert metrics.mcc(codes, factors, correlation="rdc", rng=1).value == before


def test_the_panel_takes_the_options():
    factors, codes = factors_and_many_codes()
    options = {"mcc": {"cross_fit": True, "normalisation": "matched"}}
    report = evaluate(codes, factors, metrics="mcc", options=options, n_jobs=1, progress=False)
    score = report["mcc"]
    assert score.low < score.value < score.high
    assert score.chance < 0.1 < score.value


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cross_fit": True, "correlation": "rdc"}, "cross_fit must be False"),
        ({"cross_fit": True, "n_folds": 200}, "at least 3 rows for each of 200 folds"),
        ({"normalisation": "none"}, "normalisation must be"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, says):
    factors, codes = factors_and_many_codes()
    with pytest.raises(ValueError, match=says):
        metrics.mcc(codes, factors, **options)


def grid(*sizes: int, times: int = 1) -> np.ndarray:
    return np.tile(np.stack(np.meshgrid(*map(np.arange, sizes)), axis=-1).reshape(-1, len(sizes)), (times, 1))


def test_z_max_var_of_separate_factors_is_one_and_of_noise_nothing():
    factors = grid(4, 5, 3, times=8)
    assert metrics.z_max_var(factors + 0.0, factors).value == pytest.approx(1, abs=1e-6)
    noise = np.random.default_rng(0).normal(size=(len(factors), 3))
    assert metrics.z_max_var(noise, factors).value < 0.15


def published_z_max_var(codes: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> float:
    """The algorithm of Zaidi et al.'s library: 200 rows with repetition, votes learned and tested on 800 each."""
    n_factors, scale = factors.shape[1], codes.var(axis=0)
    votes = np.empty((1600, 2), dtype=int)
    for vote in range(1600):
        k = rng.integers(n_factors)
        others = np.delete(factors, k, axis=1)
        rows = np.flatnonzero((others == others[rng.integers(len(factors))]).all(axis=1))
        votes[vote] = np.argmax(codes[rng.choice(rows, 200)].var(axis=0) / scale), k
    table = np.zeros((codes.shape[1], n_factors))
    np.add.at(table, tuple(votes[:800].T), 1)
    accuracy = (table.argmax(axis=1)[votes[800:, 0]] == votes[800:, 1]).mean()
    return float((accuracy - 1 / n_factors) / (1 - 1 / n_factors))


@pytest.mark.slow
def test_z_max_var_agrees_with_the_published_algorithm():
    factors = grid(4, 5, 3, times=60)
    rng = np.random.default_rng(0)
    s = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    codes = s @ [[1, 0.6, 0.3], [0.2, 1, 0.8], [0.9, 0.1, 1]] + 0.9 * rng.normal(size=s.shape)
    theirs = np.mean([published_z_max_var(codes, factors, rng) for _ in range(3)])
    ours = np.mean(
        [metrics.z_max_var(codes, factors, n_votes=800, group_size=200, rng=seed).value for seed in range(3)]
    )
    assert theirs == pytest.approx(0.83, abs=0.05)
    assert ours == pytest.approx(theirs, abs=0.04)


def test_z_max_var_of_a_code_shared_by_all_factors_is_a_guess():
    """The one code that varies wins every vote, so that one factor in three is right."""
    factors = grid(4, 4, 4, times=8)
    codes = np.column_stack([factors @ [1, 4, 16], np.zeros(len(factors))])
    codes[0, 1] = 1e-3
    assert metrics.z_max_var(codes, factors).value < 0.1


def test_a_code_of_noise_wins_the_votes_of_z_max_var():
    factors = grid(4, 5, 3, times=8)
    codes = np.hstack([factors, np.random.default_rng(0).normal(size=(len(factors), 1))])
    assert metrics.z_max_var(codes, factors).value < 0.8


def test_z_max_var_says_when_no_combination_repeats():
    factors = grid(4, 5, 6)
    rows = np.flatnonzero(factors.sum(axis=1) % 2 == 0)[:12]
    with pytest.raises(ValueError, match="never varies while all other factors stay the same"):
        metrics.z_max_var(factors[rows] + 0.0, np.column_stack([np.arange(12) % 2, np.arange(12), np.arange(12)]))
