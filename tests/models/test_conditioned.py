import numpy as np
import pytest
import torch

from unbraid._base.devices import seeded
from unbraid.reproduce.reference_vae import VAE, Schedule, decode, encode, train_conditioned_vae

pytestmark = pytest.mark.slow

PLACES = ((-3.0, 3.0), (-2.0, 2.0))


def bars(n_samples=96, *, seed=0):
    """Return pictures of one channel whose left half is lit by the first factor and whose top by the second."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(2, size=(n_samples, 2))
    pictures = np.zeros((n_samples, 1, 8, 8), dtype=np.float32)
    pictures[:, :, :, :4] += 0.5 * factors[:, 0, None, None, None]
    pictures[:, :, :4] += 0.5 * factors[:, 1, None, None, None]
    return pictures, factors


def trained(*, n_steps=200, **options):
    schedule = Schedule(n_steps=n_steps, batch_size=32, learning_rate=3e-3)
    return train_conditioned_vae(*bars(), PLACES, n_codes=4, width=4, schedule=schedule, **options)


@pytest.fixture(scope="module")
def run():
    return trained()


def test_training_lowers_the_loss(run):
    losses = [loss.total.item() for loss in run[1]]
    assert len(losses) == 200
    assert np.mean(losses[-20:]) < 0.75 * np.mean(losses[:20])
    assert all(loss.total.item() == pytest.approx(loss.distortion.item() + loss.rate.item()) for loss in run[1])


def test_each_factor_ends_in_the_code_that_the_prior_gives_it(run):
    pictures, factors = bars(seed=1)
    codes = encode(run[0], pictures)
    for k, places in enumerate(PLACES):
        assert np.abs(codes[:, k] - np.array(places)[factors[:, k]]).max() < 1


def test_decoder_draws_the_factors_that_its_codes_say(run):
    wanted, factors = bars(seed=2)
    codes = np.zeros((len(wanted), 4))
    codes[:, :2] = [[PLACES[k][value] for k, value in enumerate(row)] for row in factors]
    assert np.abs(decode(run[0], codes) - wanted).mean() < 0.1


def test_same_seed_same_network():
    first, second, other = (trained(n_steps=5, seed=seed)[0].state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["encoder.backbone.0.weight"], other["encoder.backbone.0.weight"])


def test_training_leaves_torch_as_it_was():
    with seeded(7):
        expected = torch.rand(3)
    with seeded(7):
        trained(n_steps=2)
        assert torch.equal(torch.rand(3), expected)


def test_every_parameter_learns():
    with seeded(0):
        before = VAE((1, 8, 8), 4, width=4).state_dict()
    after = trained(n_steps=5, seed=0)[0].state_dict()
    assert not any(torch.equal(before[name], after[name]) for name in before)


def test_every_row_is_seen_before_any_is_seen_again(monkeypatch):
    from unbraid.reproduce import reference_vae as conditioned

    seen = []
    original = conditioned.factor_prior
    monkeypatch.setattr(conditioned, "factor_prior", lambda y, *rest: (seen.append(len(y)), original(y, *rest))[1])
    trained(n_steps=6)
    assert seen == [32, 32, 32] * 2
    seen.clear()
    schedule = Schedule(n_steps=4, batch_size=64)
    train_conditioned_vae(*bars(), PLACES, n_codes=4, width=4, schedule=schedule)
    assert seen == [64, 32, 64, 32]


def test_encoding_many_is_encoding_each(run):
    pictures = np.tile(bars()[0], (7, 1, 1, 1))  # more than go through at once
    np.testing.assert_allclose(encode(run[0], pictures), np.tile(encode(run[0], bars()[0]), (7, 1)), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pictures": np.zeros((5, 1, 9, 8), np.float32)}, "sides that are multiples of 4, got 9 by 8"),
        ({"n_codes": 1}, "n_codes must be at least 2, got 1"),
    ],
)
def test_bad_sizes(change, message):
    pictures, factors = bars(5)
    options = {"pictures": pictures, "factors": factors, "places": PLACES} | change
    with pytest.raises(ValueError, match=message):
        train_conditioned_vae(**options)


@pytest.mark.parametrize("options", [{"n_steps": 0}, {"batch_size": 0}])
def test_bad_schedule(options):
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        Schedule(**options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_no_gpu():
    with pytest.raises(ValueError, match="device 'cuda' is not there: torch sees no CUDA card"):
        trained(device="cuda")
