import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import unbraid
from helpers.dots import Dots
from unbraid.models import code_rates, encode_all, load_models, train
from unbraid.models.ensemble import BatchSource, EnsembleEngine, Settings
from unbraid.models.ensemble.families.info_gan import BatchNorm
from unbraid.models.ensemble.memory import member_bytes

pytestmark = pytest.mark.slow

SMALL = {"n_codes": 5, "categories": [3], "noise_dim": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3}


def state(ensemble):
    return ensemble.network.state_dict()


@pytest.mark.parametrize("network", ["conv", "mlp"])
def test_member_is_the_model_trained_alone(network):
    options = SMALL | {"n_steps": 12, "network": network}
    both = train("info_gan", Dots(), seeds=[3, 8], weight=[1.0, 0.5], continuous_share=[0.1, 1.0], **options)
    alone = train("info_gan", Dots(), seeds=8, weight=0.5, continuous_share=1.0, **options)
    for name, value in state(alone).items():
        torch.testing.assert_close(state(both[1])[name], value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(both.history[..., 1:], alone.history, rtol=1e-4, atol=1e-5)
    assert any(not torch.equal(value[0], value[1]) for value in state(both).values())


def engine(**changed):
    source = BatchSource(Dots())
    layout = {"n_codes": 5, "categories": (3,), "noise_dim": 4, "width": 4, "batch_size": 16}
    weights = (("weight", (changed.pop("weight", 1.0),)), ("continuous_share", (1.0,)))
    settings = Settings(
        model="info_gan", data="dots", n_rows=49, shape=source.shape, seeds=(1,), hyperparameters=weights, **layout
    )
    return EnsembleEngine(settings, source)


def gradients(weight):
    one = engine(weight=weight)
    one.objective(one._inputs())[0].backward()
    return {name: one.grad for name, one in one.network.named_parameters() if one.requires_grad}


def test_weight_decides_what_generator_and_shared_layers_learn_from_the_codes_and_not_what_q_learns():
    plain, half, whole = gradients(0.0), gradients(0.5), gradients(1.0)
    for name in plain:
        if name.startswith(("encoder.code", "encoder.real")):  # heads of q and d
            torch.testing.assert_close(plain[name], whole[name])
        else:
            torch.testing.assert_close(half[name], (plain[name] + whole[name]) / 2, rtol=1e-3, atol=1e-5)
            assert not torch.allclose(plain[name], whole[name], rtol=1e-3, atol=1e-6), name


def test_objective_of_the_engine_is_the_sum_of_its_terms():
    one = engine(weight=0.5)
    total, (loss, value, categorical, continuous) = one.objective(one._inputs())
    assert loss.item() == pytest.approx((value - 0.5 * (categorical + continuous)).item(), rel=1e-5)
    assert categorical.item() <= math.log(3)
    assert value.item() < 0
    assert torch.isfinite(total)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_step_can_be_traced_by_the_compiler():
    one = engine()
    inputs = one._inputs()
    traced = torch.compile(one.objective, dynamic=False, backend="aot_eager")
    torch.testing.assert_close(traced(inputs)[1], one.objective(inputs)[1], rtol=1e-4, atol=1e-4)


def test_generator_learns_at_the_rate_given_and_the_discriminator_at_a_fifth():
    groups = engine().optimizer.param_groups
    assert [group["lr"] for group in groups] == pytest.approx([1e-4, 2e-5])


def test_batch_norm_has_statistics_of_each_model():
    norm = BatchNorm(2, 3)
    x = torch.stack([torch.randn(500, 3), 5 + 2 * torch.randn(500, 3)])
    found = norm(x)
    torch.testing.assert_close(found.mean(dim=1), torch.zeros(2, 3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.var(dim=1, correction=0), torch.ones(2, 3), atol=1e-3, rtol=0)
    for _ in range(100):
        norm(x)
    torch.testing.assert_close(norm.eval()(x), found, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(norm(x[:, :1]), norm(x)[:, :1])  # one row alone is what it is among others


def digits():
    pixels, labels = load_digits(return_X_y=True)
    return (pixels / 16).astype(np.float32), labels


@pytest.fixture(scope="module")
def trained():
    """Return an InfoGAN and a plain GAN of 8 by 8 digits, with the same seed, trained together."""
    return train(
        "info_gan",
        digits()[0],
        seeds=[1, 1],
        weight=[1.0, 0.0],
        n_steps=800,
        n_codes=11,
        categories=[10],
        noise_dim=16,
        width=16,
        batch_size=64,
        learning_rate=1e-3,
        likelihood="bernoulli",
    )


def test_information_comes_near_the_entropy_and_a_plain_gan_hides_its_codes(trained):
    ours, plain = trained.history[-3:, 2].mean(dim=0).tolist()
    assert ours >= 0.9 * math.log(10)
    assert plain < 0.5 * math.log(10)
    assert trained.settings.entropies()["categorical_information"] == pytest.approx(math.log(10))


def test_q_reads_the_codes_of_what_the_generator_makes(trained):
    ours = trained[0]
    codes = np.concatenate([np.eye(10), np.zeros((10, 1))], axis=1)[None]
    seen = ours.encode(ours.decode(codes)[0])[0]
    assert (seen[:, :10].argmax(axis=1) == np.arange(10)).mean() >= 0.9
    np.testing.assert_allclose(seen[:, :10].sum(axis=1), 1, rtol=1e-5)


def test_generator_can_be_measured(trained):
    member = trained[0]
    found = unbraid.manifold.analyze(member.generator([3]), latent_dim=17, n_samples=20, progress=False)
    assert found.n_active == 17
    other = unbraid.manifold.analyze(member.generator([4]), latent_dim=17, n_samples=20, progress=False)
    assert not np.allclose(found.latent_entropy, other.latent_entropy)
    for bad in ([10], [1, 2], [-1]):
        with pytest.raises(ValueError, match=r"values must be one below each of \[10\]"):
            member.generator(bad)
    with pytest.raises(ValueError, match="generator is for a single info_gan, got 2 of info_gan"):
        trained.generator()


def test_codes_are_drawn_one_hot(trained):
    drawn = trained.encode(digits()[0][:50], sample=True)
    assert drawn.shape == (2, 50, 11)
    assert (drawn[..., :10].sum(axis=-1) == 1).all()


def test_run_goes_on_bit_for_bit_and_loads(tmp_path):
    options = SMALL | {"seeds": [1, 2]}
    whole = train("info_gan", Dots(), n_steps=8, **options)
    train("info_gan", Dots(), n_steps=3, out=tmp_path, **options)
    resumed = train("info_gan", Dots(), n_steps=8, out=tmp_path, **options)
    loaded = load_models(tmp_path)
    for name, value in state(whole).items():
        assert torch.equal(value, state(resumed)[name])
        assert torch.equal(value, state(loaded)[name])
    with pytest.raises(ValueError, match=r"other settings \(categories \(3,\) -> \(2,\)\)"):
        train("info_gan", Dots(), n_steps=9, out=tmp_path, **options | {"categories": [2]})


def test_codes_have_names_and_rates():
    model = train("info_gan", Dots(), n_steps=2, **SMALL)
    rep = encode_all(model, Dots())[0]
    assert rep.code_names == ("c0=0", "c0=1", "c0=2", "c1", "c2")
    assert {name: list(columns) for name, columns in rep.blocks.items()} == {"c0": [0, 1, 2], "c1": [3], "c2": [4]}
    rates = code_rates(model, Dots())
    assert rates.shape == (1, 5)
    assert (rates >= 0).all()


def test_a_deviation_that_is_given_is_that_of_q_and_is_not_learned():
    model = train("info_gan", Dots(), seeds=[0, 0], deviation=[0.0, 0.5], n_steps=3, **SMALL)
    x = torch.as_tensor(Dots().observations(np.arange(4)))
    with torch.no_grad():
        log_scale = model.network.posterior_parameters(x.expand(2, *x.shape))[1]
    n_values = model.settings.layout.n_values
    assert (log_scale[1, :, n_values:] == math.log(0.5)).all()
    assert not (log_scale[0, :, n_values:] == log_scale[0, :1, n_values:]).all()
    assert torch.equal(model[1].network.deviation, model.network.deviation[1:])


def test_a_member_that_diverges_is_named():
    model = train("info_gan", Dots(), seeds=[0, 1], weight=[1.0, math.inf], n_steps=3, **SMALL)
    assert model.diverged[0] is None
    assert model.diverged[1] is not None
    with pytest.raises(ValueError, match="diverged: their loss was not finite"):
        model.encode(Dots().observations(np.arange(2)))


WEIGHTS = (("weight", (1.0,)), ("continuous_share", (0.1,)))


def test_memory_grows_with_the_batch_and_the_network():
    about = {"model": "info_gan", "data": "", "n_rows": 49, "shape": (1, 16, 16), "seeds": (0,)}

    def needed(**sizes):
        return member_bytes(Settings(hyperparameters=WEIGHTS, **about, **sizes))

    assert needed(batch_size=64) < needed(batch_size=256) < needed(batch_size=256, width=128)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": [6]}, r"n_codes must be at least 6, a column for each value of categories \[6\], got 5"),
        ({"categories": [1]}, "categories must be at least 2, got 1"),
        ({"noise_dim": -1}, "noise_dim must be at least 0, got -1"),
        ({"model": "vae"}, "categories are for info_gan, got them for vae"),
        ({"beta": 2.0}, "info_gan has no hyperparameter 'beta'; it has weight, continuous_share, deviation"),
    ],
)
def test_bad_input(options, message):
    given = {"model": "info_gan", "n_steps": 1, **SMALL} | options
    with pytest.raises(ValueError, match=message):
        train(given.pop("model"), Dots(), **given)
