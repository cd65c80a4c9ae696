"""Reproductions of models that read labels, with hardly any training."""

from dataclasses import replace

import numpy as np
import pytest

from unbraid.reproduce.labelled import dc_ign, diva, majority, read_label, vfae
from unbraid.reproduce.result import Number

pytestmark = pytest.mark.slow


def test_labels_are_read_where_they_are_and_guessed_where_not():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    told, silent = labels[:, None] + 0.1 * rng.standard_normal((600, 2)), rng.standard_normal((600, 2))
    assert min(read_label(told[:400], labels[:400], told[400:], labels[400:], seed=0)) > 0.99
    assert max(read_label(silent[:400], labels[:400], silent[400:], labels[400:], seed=0)) < 0.62
    assert majority(np.array([0, 1, 1, 1])) == 0.75


def test_every_angle_is_left_out_once():
    small = replace(diva.QUICK, n_per_digit=3, block_size=2, width=2, n_epochs=1, batch_size=30)
    result = diva.diva_rotated(n_seeds=2, settings=small, progress=False)
    assert list(result.unseen) == ["0", "15", "30", "45", "60", "75"]
    assert all(len(number.seeds) == 2 for number in result.unseen.values())
    assert set(result.read) == {f"{block}|{label}" for block in ("z_d", "z_y", "z_x") for label in ("digit", "angle")}
    assert diva.DivaRotated.from_json(result.to_json()) == result
    assert [len(table.rows) for table in result.tables()] == [6, 6]
    with pytest.raises(ValueError, match="n_per_digit must be below 174, the pictures of the rarest digit, got 174"):
        diva.diva_rotated(settings=replace(small, n_per_digit=174))


def test_what_was_read_is_kept_and_models_are_not_needed_again(tmp_path, monkeypatch):
    small = replace(diva.QUICK, n_per_digit=2, block_size=2, width=2, n_epochs=1, batch_size=30)
    first = diva.diva_rotated(n_seeds=1, settings=small, store=tmp_path, progress=False)
    monkeypatch.setattr(diva, "_trained", lambda *_: pytest.fail("models were trained again"))
    again = diva.diva_rotated(n_seeds=1, settings=small, store=tmp_path, progress=False)
    assert (again.unseen, again.read) == (first.unseen, first.read)


def test_claims_of_blocks_are_held_against_chance():
    small = replace(diva.QUICK, n_per_digit=2, block_size=2, width=2, n_epochs=1, batch_size=30)
    result = diva.diva_rotated(n_seeds=1, settings=small, progress=False)
    good = {"z_y|digit": 0.95, "z_d|angle": 0.95, "z_y|angle": 0.2, "z_d|digit": 0.15, "z_x|digit": 0, "z_x|angle": 0}
    for key, value in (("z_y|angle", 0.3), ("z_d|digit", 0.25), ("z_y|digit", 0.8), (None, 0)):
        read = {name: Number(ours=one) for name, one in good.items()} | ({key: Number(ours=value)} if key else {})
        blocks = diva.diva_checks(replace(result, read=read))[1]
        assert blocks.n_agree == (3 if key else 4)


def test_weights_of_the_discrepancy_are_members_of_one_ensemble():
    small = replace(vfae.QUICK, n_rows=200, n_steps=2, width=2, weights=(0.0, 5.0))
    result = vfae.vfae_tradeoff(n_seeds=2, settings=small, progress=False)
    assert [one.mmd for one in result.weighted] == [0.0, 5.0]
    assert all(len(one.group_forest.seeds) == 2 for one in result.weighted)
    assert result.raw.group_linear.ours > 0.95
    assert vfae.VfaeTradeoff.from_json(result.to_json()) == result
    assert len(result.tables()[0].rows) == 3
    leaky = replace(result.weighted[1], group_forest=Number(ours=result.majority + 0.06))
    hidden = replace(result.weighted[1], group_forest=Number(ours=result.majority + 0.04))
    agree = [
        vfae.vfae_checks(replace(result, weighted=(result.weighted[0], one)))[0].n_agree for one in (leaky, hidden)
    ]
    assert agree[1] == agree[0] + 1


def test_both_models_are_scored_factor_by_factor():
    small = replace(dc_ign.QUICK, n_steps=2, width=2)
    result = dc_ign.dc_ign_sprites(n_seeds=1, settings=small, progress=False)
    assert set(result.z1) == set(result.z1_vae) == set(result.own) == {"scale", "x", "y"}
    assert dc_ign.DcIgnSprites.from_json(result.to_json()) == result
    sure = {name: Number(ours=0.95) for name in result.z1}
    checks = dc_ign.dc_ign_checks(replace(result, z1=sure, z1_vae=sure | {"x": Number(ours=0.99)}))[0]
    assert checks.n_agree == 5
