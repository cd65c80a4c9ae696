import pytest
import torch

from helpers.dots import Dots
from unbraid.models import encode, encode_all, load_models, train
from unbraid.models.ensemble import losses as _losses
from unbraid.models.objectives import Loss

SMALL = {"n_codes": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3}
BAD_STEP = 7


@pytest.fixture
def poisoned(monkeypatch):
    """Members whose beta is 13 have a loss that is no number at the seventh step, and only then."""
    plain = _losses.LOSSES["beta_vae"]

    def loss(at):
        found = plain(at)
        bad = (at.hyperparameters["beta"] == 13) & (at.step == BAD_STEP - 1)
        return Loss(found.total * torch.where(bad, torch.nan, 1.0), found.distortion, found.rate)

    monkeypatch.setattr(_losses, "LOSSES", {**_losses.LOSSES, "beta_vae": loss})
    monkeypatch.setattr("unbraid.models.ensemble.networks.LOSSES", _losses.LOSSES)


@pytest.fixture
def ensemble(poisoned):
    return train("beta_vae", Dots(), seeds=[0, 1, 2], beta=[1.0, 13.0, 4.0], n_steps=12, **SMALL)


def test_who_and_when(ensemble):
    assert ensemble.diverged == (None, BAD_STEP, None)
    assert ensemble[1].diverged == (BAD_STEP,)
    assert ensemble.only([2, 1]).diverged == (None, BAD_STEP)
    assert not any(p[1].isfinite().all() for p in ensemble.network.parameters())


def test_the_others_do_not_notice(ensemble):
    unharmed = train("beta_vae", Dots(), seeds=[0, 1, 2], beta=[1.0, 2.0, 4.0], n_steps=12, **SMALL)
    assert unharmed.diverged == (None, None, None)
    for m in (0, 2):
        for one, other in zip(ensemble[m].network.parameters(), unharmed[m].network.parameters(), strict=True):
            assert torch.equal(one, other)
    assert torch.equal(ensemble.only([0, 2]).history, unharmed.only([0, 2]).history)


def test_a_strength_that_is_far_too_large():
    found = train("beta_vae", Dots(), seeds=[0, 1], beta=[1.0, 1e39], n_steps=2, **SMALL)
    assert found.diverged == (None, 1)  # infinite in float32


@pytest.mark.slow
def test_weights_lost_in_the_last_step_count(poisoned):
    found = train("beta_vae", Dots(), beta=13.0, n_steps=BAD_STEP, **SMALL)
    assert found.diverged == (BAD_STEP,)

    def nan(at):
        grad_only = (at.posterior.mean.sum(dim=(1, 2)) * 0.0).sqrt()  # 0 with a derivative that is no number
        return Loss(_losses.LOSSES["vae"](at).total + grad_only, *_losses.LOSSES["vae"](at)[1:])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid.models.ensemble.networks.LOSSES", {"beta_vae": nan})
        found = train("beta_vae", Dots(), n_steps=1, **SMALL)
    assert found.history.isfinite().all()
    assert found.diverged == (1,)


def test_is_kept_in_checkpoints_and_groups(poisoned, tmp_path):
    options = {"seeds": [0, 1, 2], "beta": [1.0, 13.0, 4.0], **SMALL}
    train("beta_vae", Dots(), n_steps=9, out=tmp_path / "one", **options)
    assert load_models(tmp_path / "one").diverged == (None, BAD_STEP, None)
    assert train("beta_vae", Dots(), n_steps=11, out=tmp_path / "one", **options).diverged == (None, BAD_STEP, None)
    assert train("beta_vae", Dots(), n_steps=9, at_once=1, **options).diverged == (None, BAD_STEP, None)


def test_has_no_codes_to_give(ensemble):
    with pytest.raises(ValueError, match=r"the model diverged, at step 7: its loss was not finite; train with a small"):
        encode(ensemble[1], Dots())
    message = r"members 1 \(step 7\) diverged: their loss was not finite; give ensemble\.only\(\[0, 2\]\)"
    with pytest.raises(ValueError, match=message):
        encode_all(ensemble, Dots())
    with pytest.raises(ValueError, match="the model diverged"):
        _ = ensemble[1].decoder
    assert [len(rep.codes) for rep in encode_all(ensemble.only([0, 2]), Dots())] == [49, 49]
