"""Objectives against their formulas, and training against what it should find."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from unbraid.models.flows import (
    affine_flow,
    core_reconstruction,
    gin_flow,
    glow_flow,
    manifold_total_correlation,
    negative_log_likelihood,
    spline_flow,
    train_flow,
    wavelet_flow,
    with_reconstruction,
    with_total_correlation,
)
from unbraid.models.flows.loop import Rows, rate_share
from unbraid.models.flows.mixing import series_exponential
from unbraid.models.flows.training import initialise

pytestmark = pytest.mark.slow

SIZE = 4


@pytest.fixture
def flow():
    made = affine_flow(SIZE, n_blocks=3, hidden=(8,)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return made


@pytest.fixture
def x():
    return torch.randn(6, SIZE, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def correlated(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    return (rng.normal(size=(n, 2)) * [2.0, 0.2]) @ turn.T + 3


def test_total_correlation_is_that_of_the_jacobian(flow, x):
    found = manifold_total_correlation(flow, x)
    for sample, value in zip(x, found, strict=True):
        full = jacobian(lambda z: flow.decode(z[None])[0], flow.encode(sample[None])[0].detach())
        expected = full.norm(dim=0).log().sum() - torch.linalg.slogdet(full)[1]
        torch.testing.assert_close(value, expected)
        assert value.item() > 0.01


def test_total_correlation_of_a_rotation_is_0(x):
    flow = spline_flow(SIZE, n_blocks=0).double()
    torch.testing.assert_close(manifold_total_correlation(flow, x), torch.zeros(6, dtype=torch.float64))


def test_some_columns_estimate_all_without_bias(flow, x):
    whole = manifold_total_correlation(flow, x)
    drawn = generator()
    several = [manifold_total_correlation(flow, x, n_columns=1, generator=drawn).detach() for _ in range(100)]
    draws = torch.stack(several)
    error = draws.std(dim=0) / math.sqrt(len(draws))
    assert ((draws.mean(dim=0) - whole).abs() < 4 * error).all()
    assert (draws.std(dim=0) > 0.01).all()


def test_reconstruction_keeps_the_core_alone(flow, x):
    z = flow.encode(x)
    kept = torch.stack((torch.zeros(6), z[:, 1], torch.zeros(6), z[:, 3]), dim=1)
    expected = 0.5 * (x - flow.decode(kept)).square().sum(dim=1)
    torch.testing.assert_close(core_reconstruction(flow, x, core=(1, 3)), expected)
    everything = core_reconstruction(flow, x, core=range(SIZE))
    torch.testing.assert_close(everything, torch.zeros_like(everything), rtol=0, atol=1e-18)


@pytest.mark.parametrize("weight", [0.0, 1.0, 2.5])
def test_objectives_add_their_terms(flow, x, weight):
    likelihood = negative_log_likelihood(flow, x)
    torch.testing.assert_close(likelihood, -flow.log_prob(x))
    torch.testing.assert_close(
        with_total_correlation(weight)(flow, x, None, generator()),
        likelihood + weight * manifold_total_correlation(flow, x),
    )
    torch.testing.assert_close(
        with_reconstruction((0, 2), weight)(flow, x, None, generator()),
        likelihood + weight * core_reconstruction(flow, x, core=(0, 2)),
    )


def test_likelihood_reaches_the_entropy_of_gaussian_data():
    data = correlated()
    trained = train_flow(affine_flow(2, n_blocks=2, hidden=(8,)), data, n_steps=100, learning_rate=1e-2)
    entropy = 1 + math.log(2 * math.pi) + math.log(2.0 * 0.2)
    assert trained.losses[-20:].mean() == pytest.approx(entropy, abs=0.1)
    assert trained.losses[0] > trained.losses[-1]
    assert not trained.flow.training


def test_total_correlation_in_training_makes_columns_orthogonal():
    data, objective = correlated(), with_total_correlation(1.0)
    trained = train_flow(
        affine_flow(2, n_blocks=2, hidden=(8,)), data, objective=objective, n_steps=100, learning_rate=2e-2
    )
    found = manifold_total_correlation(trained.flow, torch.as_tensor(data[:200]).float())
    assert found.mean().item() < 0.02
    entangled = train_flow(affine_flow(2, n_blocks=2, hidden=(8,)), data, n_steps=100, learning_rate=2e-2)
    before = manifold_total_correlation(entangled.flow, torch.as_tensor(data[:200]).float())
    assert before.mean().item() > 0.1


def test_reconstruction_in_training_puts_the_length_into_the_core():
    data = correlated()
    trained = train_flow(
        affine_flow(2, n_blocks=2, hidden=(8,)),
        data,
        objective=with_reconstruction((1,), 5.0),
        n_steps=100,
        learning_rate=2e-2,
    )
    error = core_reconstruction(trained.flow, torch.as_tensor(data[:200]).float(), core=(1,))
    assert error.mean().item() < 0.1  # half the variance 0.04 at best; 2 with the other latent


@pytest.mark.parametrize("objective", [negative_log_likelihood, with_total_correlation(n_columns=1)])
def test_the_same_seed_gives_the_same_flow(objective):
    def run(seed):
        torch.rand(3)  # torch's own random state must not matter
        options = {"n_steps": 5, "batch_size": 32, "noise": 0.1, "seed": seed}
        return train_flow(affine_flow(2, n_blocks=2), correlated(100), objective=objective, **options)

    first, again, other = run(1), run(1), run(2)
    assert first.losses.tolist() == again.losses.tolist() != other.losses.tolist()
    assert torch.equal(first.flow.sample(5), again.flow.sample(5))


SMALL = {"n_blocks": (1, 1), "channels": (4, 4), "width": 8}


@pytest.mark.parametrize("make", [lambda: glow_flow(4, **SMALL, n_classes=2), lambda: gin_flow(4, 2, **SMALL)])
def test_classes_help(make):
    labels = np.arange(200) % 2
    data = np.random.default_rng(0).normal(size=(200, 16)) + 4 * labels[:, None]
    wrong = np.arange(200) // 2 % 2
    told, fooled = (
        train_flow(make(), data, labels=given, n_steps=60, batch_size=64, learning_rate=1e-2).losses[-5:].mean()
        for given in (labels, wrong)
    )
    assert told < fooled - 0.3  # the class is worth log 2 in the end


def test_batches_see_every_sample_before_any_again():
    drawn = Rows(10, 5, generator())
    assert sorted(torch.cat([next(drawn), next(drawn)]).tolist()) == list(range(10))
    assert len(next(Rows(10, 4, generator()))) == 4


def test_the_rate_rises_then_falls_to_nothing():
    rates = [rate_share(step, 100) for step in range(101)]
    assert rates[4] == max(rates) == 1.0
    assert rates[0] == pytest.approx(0.2)
    assert rates[100] == pytest.approx(0.0)
    assert all(a >= b for a, b in pairwise(rates[5:]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.zeros((5, 3))}, r"data must have shape \(n_samples, 2\), got \(5, 3\); flatten"),
        ({"data": np.zeros((1, 2))}, "data must have at least 2 samples"),
        ({"data": np.array([[0.0, np.nan]] * 4)}, "data must be finite"),
        ({"labels": [0, 1]}, "labels must be 8 whole numbers"),
        ({"labels": np.zeros(8)}, "labels must be 8 whole numbers"),
        ({"labels": np.arange(8)}, "labels must be from 0 to 2, got 0 to 7"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"batch_size": 1}, "batch_size must be at least 2"),
        ({"noise": -1.0}, "noise must be at least 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"device": "abacus"}, "device must be one"),
        ({"check_every": 0}, "check_every must be at least 1"),
        ({"recorded": True}, "recorded is for device 'cuda'"),
        ({"held_out": np.zeros((5, 3))}, r"data must have shape \(n_samples, 2\)"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"data": correlated(8), "labels": np.arange(8) % 3} | change
    with pytest.raises(ValueError, match=message):
        train_flow(affine_flow(2, n_blocks=1, n_classes=3), **given)


def test_a_loss_that_is_no_number_says_when_and_what_to_do():
    def broken(flow, x, labels, generator):
        return flow.log_prob(x) * float("nan")

    with pytest.raises(ValueError, match=r"the loss stopped being a number at step 1; give a smaller learning_rate"):
        train_flow(affine_flow(2, n_blocks=1), correlated(50), objective=broken, n_steps=3)


def test_pixels_that_never_change_start_with_the_deviation_of_the_noise():
    pictures = torch.zeros(64, 64)
    pictures[:, 32:] = torch.randn(64, 32, generator=generator())
    noisy = pictures + 0.01 * torch.randn(pictures.shape, generator=generator(1))

    def loss(noise):
        made = wavelet_flow(8, n_blocks=(1, 1), channels=(4, 4), width=8)
        initialise(made, pictures, None, noise=noise, seed=0)
        return -made.log_prob(noisy).mean().item() / 64

    assert loss(0.01) < 0 < 1000 < loss(0.0)


@pytest.mark.parametrize("make", [with_total_correlation, lambda weight: with_reconstruction((0,), weight)])
def test_negative_weights_are_refused(make):
    with pytest.raises(ValueError, match="weight must be at least 0, got -1"):
        make(-1)


def test_a_broken_run_goes_on_to_the_same_flow(tmp_path):
    def stop_at(n_calls):
        def objective(flow, x, labels, generator):
            if next(calls) == n_calls:
                raise KeyboardInterrupt
            return negative_log_likelihood(flow, x)

        calls = iter(range(100))
        return objective

    options = {"n_steps": 12, "batch_size": 32, "noise": 0.1, "check_every": 4, "held_out": correlated(40, seed=1)}
    whole, broken = (
        {"flow": affine_flow(2, n_blocks=1, hidden=(8,)), "data": correlated(100), **options} for _ in range(2)
    )
    straight = train_flow(**whole, objective=stop_at(-1))
    with pytest.raises(KeyboardInterrupt):
        train_flow(**broken, objective=stop_at(11), out=tmp_path)
    resumed = train_flow(**broken, objective=stop_at(-1), out=tmp_path)
    np.testing.assert_array_equal(resumed.losses, straight.losses)
    assert resumed.best_step == straight.best_step
    for one, other in zip(resumed.flow.parameters(), straight.flow.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    with pytest.raises(ValueError, match="holds a run with other settings or data; give the same, or another folder"):
        train_flow(**broken | {"noise": 0.2}, out=tmp_path)


def test_a_flow_ends_in_its_best_held_out_state():
    # Data whose likeness grows worse as the flow learns those it is given: the first look is the best.
    unlike = correlated(100) * [1.0, -1.0]
    trained = train_flow(
        affine_flow(2, n_blocks=1, hidden=(8,)), correlated(100), held_out=unlike, check_every=5, n_steps=40
    )
    last = train_flow(affine_flow(2, n_blocks=1, hidden=(8,)), correlated(100), n_steps=40)
    best, end = (
        float(negative_log_likelihood(one.flow, torch.as_tensor(unlike).float()).mean().detach())
        for one in (trained, last)
    )
    assert (trained.best_step, last.best_step) == (5, None)
    assert best < end


@pytest.mark.parametrize("size", [2, 16])
def test_the_exponential_of_fixed_length_is_the_exponential(size):
    skew = torch.randn(size, size, generator=generator(), dtype=torch.float64) * 2
    skew = skew - skew.mT
    torch.testing.assert_close(series_exponential(skew), torch.linalg.matrix_exp(skew), rtol=0, atol=1e-9)
