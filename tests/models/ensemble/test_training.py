import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import unbraid
from helpers.dots import Dots
from unbraid.models import encode, encode_all, load_models, train
from unbraid.models.ensemble import BatchSource, EnsembleEngine, Settings
from unbraid.models.families import HYPERPARAMETERS

pytestmark = pytest.mark.slow

SMALL = {"n_codes": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3}


def parameters(ensemble):
    return list(ensemble.network.parameters())


@pytest.mark.parametrize("model", [name for name in HYPERPARAMETERS if name != "factor_vae"])
def test_member_is_the_model_trained_alone(model):
    hyperparameters = {name: [default, default / 2] for name, default in HYPERPARAMETERS[model].items()}
    both = train(model, Dots(), seeds=[3, 8], n_steps=12, **SMALL, **hyperparameters)
    halves = {name: default / 2 for name, default in HYPERPARAMETERS[model].items()}
    alone = train(model, Dots(), seeds=8, n_steps=12, **SMALL, **halves)
    for one, other in zip(parameters(both[1]), parameters(alone), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert not torch.equal(parameters(both)[0][0], parameters(both)[0][1])


def judged(seeds, gammas):
    """Return an engine of FactorVAEs with narrow discriminators."""
    source = BatchSource(Dots())
    return EnsembleEngine(
        Settings(
            model="factor_vae",
            data="dots",
            n_rows=49,
            shape=source.shape,
            seeds=seeds,
            hyperparameters=(("gamma", gammas),),
            discriminator_width=16,
            **SMALL,
        ),
        source,
    )


def test_member_of_factor_vaes_and_its_discriminator_are_those_trained_alone():
    both, alone = judged((1, 2), (5.0, 50.0)), judged((2,), (50.0,))
    before = [parameter.clone() for parameter in both.network.discriminator.parameters()]
    for _ in range(10):
        together, single = both.advance(), alone.advance()
    torch.testing.assert_close(together[:, 1:], single, rtol=1e-4, atol=1e-4)
    for many, one in zip(both.network.parameters(), alone.network.parameters(), strict=True):
        torch.testing.assert_close(many[1:], one, rtol=1e-4, atol=1e-5)
    assert not any(torch.equal(a, b) for a, b in zip(before, both.network.discriminator.parameters(), strict=True))


def test_only_its_own_loss_teaches_the_discriminator():
    one, other = judged((1,), (0.0,)), judged((1,), (1000.0,))
    inputs = one._inputs()
    for engine in (one, other):
        engine.objective(inputs)[0].backward()
    for a, b in zip(one.network.discriminator.parameters(), other.network.discriminator.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    a, b = (next(engine.network.encoder.parameters()).grad for engine in (one, other))
    assert not torch.allclose(a, b)


@pytest.fixture(scope="module")
def trained():
    return train(
        "beta_vae", Dots(), seeds=[0, 1], beta=1.0, n_steps=600, n_codes=4, width=8, batch_size=32, learning_rate=3e-3
    )


def test_training_draws_the_pictures(trained):
    first, last = trained.history[0], trained.history[-1]
    assert trained.history.shape == (13, 3, 2)
    assert (last[0] < 0.15 * first[0]).all()
    torch.testing.assert_close(last[0], last[1] + last[2])
    rows = np.arange(49)
    pictures = Dots().observations(rows)
    drawn = trained.decode(trained.encode(pictures))
    assert drawn.shape == (2, 49, 1, 16, 16)
    assert np.abs(drawn - pictures).mean() < 0.03


def test_encoding_gives_codes_beside_their_factors(trained):
    rep = unbraid.encode(trained[1], Dots())
    assert rep.factor_names == ("row", "column")
    assert rep.codes.shape == (49, 4)
    np.testing.assert_allclose(rep.codes, encode_all(trained, Dots())[1].codes, atol=1e-5)
    some = encode(trained[1], Dots(), n=20, seed=3)
    chosen = [7 * int(row) + int(column) for row, column in zip(*(f.numbers for f in some.factors), strict=True)]
    assert len(set(chosen)) == 20
    np.testing.assert_allclose(some.codes, rep.codes[chosen], atol=1e-5)


def test_samples_spread_about_the_means_as_the_posterior_says(trained):
    member = trained[0]
    x = np.repeat(Dots().observations(np.array([24])), 4000, axis=0)
    drawn, means = member.encode(x, sample=True)[0], member.encode(x[:1])[0]
    deviations = member.network.encode(torch.as_tensor(x[None, :1])).stddev[0, 0].detach().numpy()
    np.testing.assert_allclose(drawn.std(axis=0), deviations, rtol=0.06)
    assert (np.abs(drawn.mean(axis=0) - means[0]) < 4 * deviations / 4000**0.5).all()
    np.testing.assert_array_equal(drawn, member.encode(x, sample=True)[0])
    assert not np.array_equal(drawn, member.encode(x, sample=True, seed=1)[0])


def test_a_decoder_can_be_measured(trained):
    for mode in ("forward", "reverse"):
        found = unbraid.manifold.analyze(trained[0].decoder, latent_dim=4, n_samples=20, mode=mode, progress=False)
        assert found.latent_dim == 4
    with pytest.raises(ValueError, match=r"ensemble of 2 has no single decoder; take a member first"):
        _ = trained.decoder


def test_conditioned_prior_puts_the_factors_in_their_codes():
    model = train("conditioned_vae", Dots(), n_steps=300, **SMALL | {"learning_rate": 3e-3})
    codes = encode(model, Dots()).codes
    places = 2.0 * (Dots().factors(np.arange(49)) - 3)
    assert np.abs(codes[:, :2] - places).mean() < 0.8


def test_vectors_have_networks_of_their_own():
    x = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    found = train("vae", x, n_steps=3, **SMALL)
    assert found.settings.network == "mlp"
    assert found.settings.likelihood == "gaussian"
    assert found.encode(x).shape == (1, 40, 4)


def test_data_that_do_not_fit_are_fetched_and_change_nothing():
    here, fetched = BatchSource(Dots()), BatchSource(Dots(), memory=10)
    rows = torch.tensor([[3, 4], [48, 0]])
    assert fetched.resident is None
    assert here.resident.dtype == torch.uint8
    torch.testing.assert_close(here.batch(rows).float() / 255, fetched.batch(rows))
    grey = BatchSource(
        np.concatenate([Dots().observations(np.arange(20)), np.full((1, 1, 16, 16), 0.3001, np.float32)])
    )
    assert grey.resident.dtype == torch.float32


def test_pictures_that_fit_as_bytes_only_are_rounded_where_asked():
    x = np.random.default_rng(0).random((30, 1, 16, 16), dtype=np.float32)
    rows = torch.arange(30)[None]
    assert BatchSource(x, memory=x.size).resident is None
    rounded = BatchSource(x, memory=x.size, rounded=True)
    assert rounded.resident.dtype == torch.uint8
    torch.testing.assert_close(rounded.batch(rows)[0].float() / 255, torch.as_tensor(x), atol=0.5 / 255 + 1e-6, rtol=0)
    assert BatchSource(x, memory=4 * x.size, rounded=True).resident.dtype == torch.float32
    assert BatchSource(2 * x, memory=x.size, rounded=True).resident is None


def test_run_goes_on_bit_for_bit(tmp_path):
    whole = train("beta_tcvae", Dots(), seeds=[1, 2], n_steps=20, **SMALL)
    train("beta_tcvae", Dots(), seeds=[1, 2], n_steps=9, out=tmp_path, **SMALL)
    torch.manual_seed(0)  # whatever else happened in between
    resumed = train("beta_tcvae", Dots(), seeds=[1, 2], n_steps=20, out=tmp_path, **SMALL)
    for one, other in zip(parameters(whole), parameters(resumed), strict=True):
        assert torch.equal(one, other)
    loaded = load_models(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(parameters(whole), parameters(loaded), strict=True))
    assert loaded.settings == resumed.settings


def test_killed_run_goes_on_bit_for_bit(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from helpers.dots import Dots; from unbraid.models import train;"
        "train('vae', Dots(), n_steps=10**7, n_codes=4, width=4, batch_size=16, learning_rate=1e-3,"
        " out=sys.argv[2], checkpoint_every=5)"
    )
    tests = os.path.dirname(os.path.dirname(sys.modules["helpers.dots"].__file__))
    process = subprocess.Popen([sys.executable, "-c", code, tests, str(tmp_path)])
    deadline = time.monotonic() + 600  # a busy machine takes its time to import torch
    while not (tmp_path / "ensemble.pt").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    step = torch.load(tmp_path / "ensemble.pt", weights_only=True)["step"]
    resumed = train("vae", Dots(), n_steps=step + 3, out=tmp_path, **SMALL)
    whole = train("vae", Dots(), n_steps=step + 3, **SMALL)
    for one, other in zip(parameters(whole), parameters(resumed), strict=True):
        assert torch.equal(one, other)


def test_other_settings_are_refused_with_the_difference(tmp_path):
    train("beta_vae", Dots(), n_steps=2, out=tmp_path, **SMALL)
    before = (tmp_path / "ensemble.pt").read_bytes()
    message = r"holds a run with other settings \(hyperparameters .*4\.0.* -> .*2\.0.*; n_codes 4 -> 5\); give the same"
    with pytest.raises(ValueError, match=message):
        train("beta_vae", Dots(), n_steps=4, out=tmp_path, beta=2.0, **SMALL | {"n_codes": 5})
    assert (tmp_path / "ensemble.pt").read_bytes() == before


def test_damaged_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"holds no trained models: there is no ensemble\.pt in it"):
        load_models(tmp_path)
    (tmp_path / "ensemble.pt").write_bytes(b"not this")
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged; delete it and train again"):
        load_models(tmp_path)


def test_settings_survive_json():
    settings = train("annealed_vae", Dots(), seeds=[1, 2], n_steps=1, **SMALL).settings
    assert Settings.from_json(settings.to_json()) == settings
    assert json.loads(settings.to_json())["seeds"] == [1, 2]


@pytest.mark.parametrize(("seeds", "cure"), [([1, 2, 3], "try at_once=2"), (1, "try batch_size=8")])
def test_not_enough_memory_after_all(monkeypatch, seeds, cure):
    def fail(engine, run, *others):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("unbraid.models.ensemble.loop._advance", fail)
    with pytest.raises(ValueError, match=f"with batches of 16 do not fit in memory; {cure}"):
        train("vae", Dots(), seeds=seeds, n_steps=1, **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "betavae"}, "model must be one of vae, .* got 'betavae'; did you mean 'beta_vae'"),
        ({"gamma": 3.0}, "beta_vae has no hyperparameter 'gamma'; it has beta"),
        ({"seeds": [1, 2], "beta": [1.0, 2.0, 3.0]}, "seeds must be one value or 3, one for each member, got 2"),
        ({"n_steps": 0}, "n_steps must be at least 1, got 0"),
        ({"places": [[1.0]]}, "places are for conditioned_vae, got them for beta_vae"),
        ({"model": "conditioned_vae", "n_codes": 1}, "n_codes must be at least 2, got 1"),
        ({"model": "conditioned_vae", "data": np.zeros((9, 1, 8, 8))}, "data set with factors for conditioned_vae"),
        ({"model": "conditioned_vae", "places": [[0.0]]}, r"places must have \[7, 7\] values"),
        ({"network": "cnn"}, "network must be one of conv, mlp, got 'cnn'"),
        ({"device": "cuda:99"}, "cuda"),
        ({"device": "meta"}, "device 'meta' cannot hold numbers here"),
        ({"noise_dim": 62}, "noise_dim is for info_gan, got it for beta_vae"),
        ({"discriminator_width": 1000}, "discriminator_width is for factor_vae, got it for beta_vae"),
    ],
)
def test_bad_input(options, message):
    given = {"model": "beta_vae", "data": Dots(), "n_steps": 1, **SMALL} | options
    with pytest.raises(ValueError, match=message):
        train(given.pop("model"), given.pop("data"), **given)


def test_bad_encoding(trained):
    with pytest.raises(ValueError, match="must be a single one, got an ensemble of 2"):
        encode(trained, Dots())
    with pytest.raises(ValueError, match="n must be at most 49"):
        encode(trained[0], Dots(), n=50)
    with pytest.raises(ValueError, match=r"rows of shape \(1, 16, 16\), as in training, got \(1, 8, 8\)"):
        trained.encode(np.zeros((2, 1, 8, 8)))
    with pytest.raises(IndexError, match="member must be below 2"):
        trained[2]


def test_learning_rate_is_divided_by_ten_after_each_milestone(tmp_path):
    stepped = {"milestones": (4, 8), **SMALL}
    whole = train("vae", Dots(), n_steps=12, **stepped)
    assert [whole.settings.learning_rate_at(step) for step in (0, 3, 4, 7, 8)] == pytest.approx(
        [1e-3, 1e-3, 1e-4, 1e-4, 1e-5]
    )
    moved = [train("vae", Dots(), n_steps=n_steps, **stepped) for n_steps in (4, 5, 8, 9)]
    first, second, third, fourth = (torch.cat([p.flatten() for p in parameters(one)]) for one in moved)
    assert (second - first).abs().max() < 1.1e-4  # a step of Adam is at most about the learning rate
    assert (second - first).abs().max() > 1e-5
    assert (fourth - third).abs().max() < 1.1e-5
    train("vae", Dots(), n_steps=6, out=tmp_path, **stepped)
    resumed = train("vae", Dots(), n_steps=12, out=tmp_path, **stepped)
    assert all(torch.equal(a, b) for a, b in zip(parameters(whole), parameters(resumed), strict=True))


@pytest.mark.parametrize("milestones", [(5, 5), (8, 4), (0,)])
def test_milestones_that_do_not_rise_are_refused(milestones):
    with pytest.raises(ValueError, match="milestones must be rising numbers of steps"):
        train("vae", Dots(), n_steps=1, milestones=milestones, **SMALL)


def test_pictures_can_have_a_gaussian_likelihood():
    found = train("vae", Dots(), n_steps=1, likelihood="gaussian", **SMALL)
    x = torch.as_tensor(Dots().observations(np.arange(3)))[None]
    likelihood = found.network.decode(found.network.encode(x).mean)
    half = 0.5 * (x - likelihood.mean).square().sum(dim=(-3, -2, -1))
    torch.testing.assert_close(-likelihood.log_prob(x), half + 0.5 * 256 * np.log(2 * np.pi))
