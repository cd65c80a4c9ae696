"""One code for each value, against answers known on paper and DRVI's benchmark."""

import json
from pathlib import Path

import numpy as np
import pytest

from golden.neighbours import codes_and_classes, mixed_codes_and_factors
from unbraid import metrics

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "neighbours.json").read_text())["values"]
BY = {"information": "SMI", "neighbours": "SPN", "spearman": "ASC"}
MATCHING = {"one_to_one": "LMS", "best": "MSAS", "gap": "MSGS"}


def one_hot(n_values: int = 4, n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    kind = np.random.default_rng(0).integers(0, n_values, n_rows)
    return np.eye(n_values)[kind], np.array(list("abcdefgh"))[kind][:, None]


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("matching", MATCHING)
def test_values_equal_those_of_drvi(by, matching):
    codes, classes = codes_and_classes()
    ours = metrics.one_vs_rest(
        codes, classes.astype(str)[:, None], by=by, matching=matching, n_bins=10, binning="uniform"
    )
    assert ours.value == pytest.approx(PEERS[f"drvi-py 0.2.8, {MATCHING[matching]}-{BY[by]}"], abs=1e-9)


@pytest.mark.parametrize("by", BY)
def test_a_code_for_each_value_scores_one(by):
    assert metrics.one_vs_rest(*one_hot(), by=by).value == pytest.approx(1, abs=1e-6)


def test_copies_are_free_one_to_one_and_leave_no_gap():
    codes, kind = one_hot()
    twice = np.hstack([codes, codes])
    assert metrics.one_vs_rest(twice, kind).value == pytest.approx(1, abs=1e-6)
    assert metrics.one_vs_rest(twice, kind, matching="gap").value == pytest.approx(0, abs=1e-6)


def test_one_code_that_orders_the_values_serves_one_of_them():
    kind = np.tile(np.arange(4), 100)
    codes = np.column_stack([kind, np.zeros(400)]) + 0.0
    labels = np.array(list("abcd"))[kind][:, None]
    assert metrics.one_vs_rest(codes, labels).value == pytest.approx(1 / 4, abs=1e-6)
    assert metrics.one_vs_rest(codes, labels, matching="best").value == pytest.approx(1, abs=1e-6)


def test_categories_are_never_numbers():
    """Another order or spelling of the names changes nothing."""
    codes, classes = codes_and_classes()
    for by in BY:
        named = [np.array(list(names))[classes][:, None] for names in ("abcde", "ezayb")]
        first, second = (metrics.one_vs_rest(codes, labels, by=by).value for labels in named)
        assert second == pytest.approx(first)


def test_a_factor_of_two_values_counts_once():
    yes = np.tile([0, 1], 100)[:, None]
    found = metrics.one_vs_rest(np.hstack([yes, np.zeros((200, 1))]), yes)
    assert found.value == pytest.approx(1, abs=1e-6)
    assert found.evidence["association"].shape == (2, 1)


def test_more_values_than_codes_is_said():
    codes, kind = one_hot()
    assert any("4 values and there are 2 codes" in note for note in metrics.one_vs_rest(codes[:, :2], kind).notes)


def test_ties_along_a_code_are_in_random_order_for_neighbours():
    """A code of one value for all rows but one knows nothing of classes that come in blocks of rows."""
    kind = np.repeat(np.arange(4), 100)
    codes = np.column_stack([np.arange(400) == 399, np.random.default_rng(0).normal(size=400)])
    assert metrics.one_vs_rest(codes, kind.astype(str)[:, None], by="neighbours", matching="best").value < 0.2


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="by must be"):
        metrics.one_vs_rest(*one_hot(), by="pearson")
    with pytest.raises(ValueError, match="matching must be"):
        metrics.one_vs_rest(*one_hot(), matching="greedy")


def test_med_equals_its_published_formula():
    codes, factors = mixed_codes_and_factors()
    bins = {"n_bins": 20, "binning": "uniform"}
    names = {0: "disentanglement", 1: "top1_disentanglement", 2: "top2_disentanglement"}
    for top_k, name in names.items():
        ours = metrics.med(codes, factors, top_k=top_k, **bins).value
        assert ours == pytest.approx(PEERS[f"disentanglement_lib_med, {name}"], abs=1e-6)


def test_med_of_separate_doubled_and_shared_factors_on_a_grid():
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(-1, 3)
    assert metrics.med(grid, grid).value == pytest.approx(1, abs=1e-6)
    assert metrics.med(np.hstack([grid, grid]), grid).value == pytest.approx(1, abs=1e-6)
    # A code of two factors, each of log 4 nats: an entropy of log 2 in base 3, with two thirds of the weight.
    packed = np.column_stack([4 * grid[:, 0] + grid[:, 1], grid[:, 2]])
    expected = 2 / 3 * (1 - np.log(2) / np.log(3)) + 1 / 3
    assert metrics.med(packed, grid).value == pytest.approx(expected, abs=1e-6)


def test_top_codes_of_med_leave_out_the_mixed_ones():
    codes, factors = mixed_codes_and_factors()
    best = metrics.med(codes, factors, top_k=1)
    assert best.value > metrics.med(codes, factors).value
    assert np.isfinite(best.per_code).sum() == 3


def test_med_of_noise_is_nothing_where_plug_in_estimates_see_something():
    rng = np.random.default_rng(0)
    noise, factors = rng.normal(size=(1000, 10)), rng.integers(0, 6, (1000, 3))
    assert metrics.med(noise, factors).value < 0.01
    with pytest.raises(ValueError, match="top_k must be at least 0"):
        metrics.med(noise, factors, top_k=-1)
