"""Scores of the spectrum of the codes, against spectra that are known on paper and against other packages."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from golden.neighbours import wide_codes
from unbraid import evaluate, metrics
from unbraid.metrics.label_free.spectrum import power_law_exponent

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "neighbours.json").read_text())["values"]
NAMES = ("rankme", "effective_rank", "stable_rank", "participation_ratio", "alpha_req")
#: Published code adds this to every share.
EPSILON = 1e-7


def with_spectrum(*variances: float, n_rows: int = 400, seed: int = 0) -> np.ndarray:
    """Centred codes whose variances along their principal directions are exact on these rows, in a random basis."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n_rows, len(variances)))
    basis = np.linalg.qr(columns - columns.mean(axis=0))[0]
    turn = np.linalg.qr(rng.normal(size=(len(variances), len(variances))))[0]
    return basis * np.sqrt(n_rows * np.array(variances)) @ turn


def entropy_rank(*amounts: float) -> float:
    share = np.array(amounts) / np.sum(amounts)
    return float(np.exp(-share @ np.log(share)))


@pytest.mark.parametrize("name", NAMES[:4])
@pytest.mark.parametrize("n_equal", [1, 3, 7])
def test_equal_directions_are_counted(name, n_equal):
    codes = with_spectrum(*[2.0] * n_equal) @ np.eye(n_equal, 9)
    assert float(getattr(metrics, name)(codes)) == pytest.approx(n_equal, abs=1e-6)


def test_unequal_directions_by_formula():
    codes = with_spectrum(9.0, 4.0, 1.0)
    assert float(metrics.rankme(codes)) == pytest.approx(entropy_rank(3, 2, 1), abs=1e-9)
    assert float(metrics.effective_rank(codes)) == pytest.approx(entropy_rank(3, 2, 1), abs=1e-9)
    assert float(metrics.effective_rank(codes, of="variances")) == pytest.approx(entropy_rank(9, 4, 1), abs=1e-9)
    assert float(metrics.stable_rank(codes)) == pytest.approx(14 / 9, abs=1e-9)
    assert float(metrics.participation_ratio(codes)) == pytest.approx(14**2 / (81 + 16 + 1), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n_codes", [6, 60])
def test_the_exponent_of_a_power_law_is_found(alpha, n_codes):
    codes = with_spectrum(*np.arange(1.0, n_codes + 1) ** -alpha)
    assert float(metrics.alpha_req(codes)) == pytest.approx(alpha, abs=1e-6)


def test_the_fit_of_the_exponent_leaves_out_what_it_is_told_to():
    values = np.concatenate([[1000.0, 900.0], np.arange(3.0, 31.0) ** -1.5])
    assert power_law_exponent(values, 3, 30) == pytest.approx(1.5, abs=1e-9)
    assert power_law_exponent(values, 1, 30) > 2


def test_few_directions_start_the_fit_at_the_first_with_a_note():
    assert any("too few to leave out 10" in note for note in metrics.alpha_req(with_spectrum(4.0, 2.0, 1.0)).notes)
    assert not metrics.alpha_req(with_spectrum(*np.arange(1.0, 31.0) ** -1.0)).notes


@pytest.mark.parametrize("name", NAMES)
def test_a_common_factor_changes_nothing_and_a_shift_only_rankme(name):
    codes = wide_codes()
    before = float(getattr(metrics, name)(codes))
    assert float(getattr(metrics, name)(1e-6 * codes)) == pytest.approx(before, rel=1e-6)
    shifted = float(getattr(metrics, name)(codes + 5))
    assert (shifted == pytest.approx(before, rel=1e-6)) == (name != "rankme")


def test_the_mean_counts_for_rankme_only_as_published():
    codes = with_spectrum(1.0, 1.0)
    assert float(metrics.rankme(codes + 100)) < 1.1
    assert float(metrics.rankme(codes + 100, centred=True)) == pytest.approx(2, abs=1e-6)


def test_the_unbiased_ratio_is_the_mean_over_sets_of_four_rows():
    codes = np.random.default_rng(1).normal(size=(9, 3)) * [3, 2, 1]
    above = below = 0.0
    for a, b, c, d in itertools.permutations(range(9), 4):
        first, second = codes[a] - codes[b], codes[c] - codes[d]
        above += (first @ first) * (second @ second)
        below += (first @ second) ** 2
    found = metrics.participation_ratio(codes, debiased=True)
    assert found.value == pytest.approx(min(3.0, above / below), abs=1e-9)
    assert found.plain == pytest.approx(float(metrics.participation_ratio(codes)), abs=1e-12)


def test_debiasing_finds_all_directions_of_noise_that_plain_ratios_miss():
    codes = np.random.default_rng(2).normal(size=(200, 100))
    assert float(metrics.participation_ratio(codes)) < 70
    assert float(metrics.participation_ratio(codes, debiased=True)) == pytest.approx(100, abs=3)


def test_the_panel_extrapolates_to_many_rows_and_keeps_the_plain_score():
    many = np.arange(1.0, 21.0) ** -1.0
    truth = {"effective_rank": entropy_rank(*np.sqrt(many)), "participation_ratio": many.sum() ** 2 / (many**2).sum()}
    rng = np.random.default_rng(3)
    errors = {name: [] for name in truth}
    for _ in range(4):
        codes = rng.normal(size=(300, 20)) * np.sqrt(many)
        report = evaluate(codes, metrics=list(truth), nulls=False, n_jobs=1, progress=False)
        for name in truth:
            assert report[name].plain == pytest.approx(float(getattr(metrics, name)(codes)), abs=1e-9)
            errors[name].append((report[name].plain - truth[name], report[name].value - truth[name]))
    for name, found in errors.items():
        plain, value = np.mean(found, axis=0)
        assert plain < -0.1, name
        assert abs(value) < 0.6 * abs(plain), name


def raised_by_epsilon(value: float, shares: np.ndarray) -> float:
    """What published code gives for a rank of these shares: to first order, more by this."""
    return value * (1 - EPSILON * float((np.log(shares) + 1).sum()))


def test_ranks_equal_those_of_other_packages():
    codes = wide_codes()
    singular = np.linalg.svd(codes, compute_uv=False)
    centred = np.linalg.svd(codes - codes.mean(axis=0), compute_uv=False)
    rows = {
        "embedding-quality 0.1.1, RankMe": (metrics.rankme(codes), singular),
        "embedding-quality 0.1.1, RankMe of codes less their mean": (metrics.effective_rank(codes), centred),
        "reptrix 0.1.0, get_rankme": (metrics.effective_rank(codes, of="variances"), centred**2),
    }
    for name, (ours, amounts) in rows.items():
        assert raised_by_epsilon(ours.value, amounts / amounts.sum()) == pytest.approx(PEERS[name], abs=1e-4), name
    assert float(metrics.stable_rank(codes)) == pytest.approx(PEERS["embedding-quality 0.1.1, NESum"], abs=1e-9)
    ours = float(metrics.stable_rank(codes, centred=False))
    assert ours == pytest.approx(PEERS["embedding-quality 0.1.1, Stable_rank"], abs=1e-9)


def test_the_exponent_equals_that_of_another_package():
    codes = wide_codes()
    assert float(metrics.alpha_req(codes)) == pytest.approx(PEERS["reptrix 0.1.0, get_alpha"], abs=1e-6)
    ours = float(metrics.alpha_req(codes, first=3, last=60))
    assert ours == pytest.approx(PEERS["reptrix 0.1.0, get_alpha, fit_range=np.arange(2, 60)"], abs=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda z: metrics.effective_rank(z, of="entropy"), "of must be"),
        (lambda z: metrics.alpha_req(z, first=0), "first must be at least 1"),
        (lambda z: metrics.alpha_req(z, first=5, last=5), "last must be at least 6"),
        (lambda z: metrics.participation_ratio(z[:3], debiased=True), "at least 4 rows"),
    ],
)
def test_bad_options_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(with_spectrum(2.0, 1.0))
