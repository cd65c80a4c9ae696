"""Noise of scores on fixed codes, discrimination along a run, and cases of kinds of factors and of sparse codes."""

import numpy as np
import pytest

from unbraid import audit
from unbraid.audit import CASES, CaseVerdict, reliability
from unbraid.audit.candidate import from_catalogue
from unbraid.audit.cases import INDEPENDENT
from unbraid.audit.reliability import _of_the_run, _row

SMALL = {"n_steps": 4, "n_draws": 3, "n_reseeds": 3, "n_rows": 400, "n_jobs": 1, "progress": False}


def test_counts_have_no_noise_and_drawn_rows_have():
    found = reliability("mig,r2,flatness,d_lsbd", **SMALL)
    assert list(found.index) == ["mig", "r2", "flatness", "d_lsbd"]
    assert found.reseed["mig"] == 0.0
    assert found.reseed["flatness"] > 0
    assert (found.redraw > 0).all()
    assert found.along_run[["mig", "r2", "d_lsbd"]].tolist() == [1.0, 1.0, 1.0]
    assert (found.told_apart[["mig", "r2"]] > 0.6).all()


def test_the_run_ends_with_the_factors():
    codes, factors = _of_the_run(INDEPENDENT, 1.0, 0, 500)
    assert np.abs(np.corrcoef(codes.T, factors.T)[[0, 1, 2], [3, 4, 5]]).min() > 1 - 1e-9


def test_a_score_that_goes_down_along_the_run_is_told():
    values = {("m", "ends", end, 0): float(1 - end) for end in (0, 1)}
    values |= {("m", "run", step, draw): -step + 0.01 * draw for step in range(3) for draw in range(2)}
    values |= {("m", "reseed", 1, turn): 0.0 for turn in range(2)}
    assert _row("m", 1.0, values, 3)["along_run"] == -1.0
    assert _row("m", -1.0, values, 3)["told_apart"] == 1.0
    assert np.isnan(_row("m", 1.0, {**values, ("m", "run", 0, 0): "no"}, 3)["along_run"])


def test_deviations_of_a_score_that_noise_satisfies_too_are_in_ranges_along_the_run():
    values = {("m", "ends", end, draw): 0.001 * draw for end in (0, 1) for draw in range(2)}
    values |= {("m", "run", step, draw): 0.3 - 0.1 * step + 0.02 * draw for step in range(3) for draw in range(2)}
    values |= {("m", "reseed", 1, turn): 0.1 * turn for turn in range(2)}
    found = _row("m", -1.0, values, 3)
    assert found["span"] == pytest.approx(0.2)
    assert found["reseed"] == pytest.approx(0.1 / np.sqrt(2) / 0.2)


def test_a_score_for_angles_is_judged_on_angles_and_refuses_elsewhere():
    found = audit.run("d_lsbd", cases="circular/*,independent/rotated", n_seeds=2, n_rows=600, n_jobs=1, progress=False)
    assert found["d_lsbd", "circular/wheels"].verdict is CaseVerdict.PASS
    assert found["d_lsbd", "circular/noise_normal"].verdict is CaseVerdict.PASS
    assert found["d_lsbd", "circular/wheels_rotated"].verdict is CaseVerdict.PASS
    refused = found["d_lsbd", "independent/rotated"]
    assert refused.verdict is CaseVerdict.PASS
    assert refused.because == ("needs a circular factor",)


def test_sparse_and_hierarchical_cases_are_what_they_say():
    codes, factors = CASES["sparse/sparse_codes"].build(n_rows=4000)
    assert codes.shape[1] == 63
    assert (codes[:, 3:] != 0).mean() == pytest.approx(0.01, abs=0.003)
    np.testing.assert_array_equal(codes[:, :3] > 0, factors > 0)
    codes, factors = CASES["sparse/split_feature"].build()
    np.testing.assert_array_equal(codes[:, :3] + codes[:, 3:], factors)
    assert 0.2 < (codes[:, 0] / np.maximum(factors[:, 0], 1)).sum() / factors[:, 0].sum() < 0.8
    codes, factors = CASES["hierarchical/absorbed"].build()
    assert (factors[:, 1] <= factors[:, 0]).all()
    np.testing.assert_array_equal(codes[:, 0] + codes[:, 1], factors[:, 0])
    assert np.linalg.matrix_rank(CASES["independent/all_copies"].build()[0]) == 1
    untrained = [CASES["independent/untrained"].build(seed=seed)[0] for seed in (0, 0)]
    np.testing.assert_array_equal(*untrained)


@pytest.mark.parametrize("options", [{"n_steps": 2}, {"n_draws": 1}, {"n_reseeds": 1}])
def test_bad_numbers(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        reliability("mig", **options)


def test_groups_share_evidence():
    assert len(from_catalogue("flatness,linearity,distances")) == 1
