"""Adam with rounded weights must make the steps of torch's Adam, and keep its state."""

import copy

import pytest
import torch

from unbraid.models.ensemble.engine import EPSILON, CompiledAdam, EnsembleEngine, RoundedWeights
from unbraid.models.ensemble.settings import Settings, member_hyperparameters
from unbraid.models.ensemble.source import BatchSource

DATA = (torch.arange(60 * 256).reshape(60, 1, 16, 16) % 7 / 6).numpy()


def engine_of(model, *, rounded):
    seeds, hyperparameters = member_hyperparameters(model, {}, range(2))
    settings = Settings(
        model=model,
        data="",
        n_rows=len(DATA),
        shape=DATA.shape[1:],
        seeds=seeds,
        hyperparameters=hyperparameters,
        width=4,
        discriminator_width=8,
        batch_size=8,
        precision="bfloat16",
    )
    engine = EnsembleEngine(settings, BatchSource(DATA))
    if rounded:
        engine.round_weights()
    return engine


@pytest.mark.parametrize("model", ["beta_vae", "factor_vae"])
def test_steps_with_rounded_weights_are_those_of_torch(model, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    ours, theirs = engine_of(model, rounded=True), engine_of(model, rounded=False)
    for _ in range(5):
        torch.testing.assert_close(ours.advance(), theirs.advance())
    for name, value in theirs.network.state_dict().items():
        torch.testing.assert_close(ours.network.state_dict()[name], value, rtol=1e-5, atol=1e-6)
    for number, moments in theirs.optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            torch.testing.assert_close(ours.optimizer.state_dict()["state"][number][name], value, rtol=1e-4, atol=1e-7)


def test_a_restored_engine_rounds_the_weights_it_was_given(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    trained, fresh = engine_of("beta_vae", rounded=True), engine_of("beta_vae", rounded=True)
    for _ in range(3):
        trained.advance()
    state = copy.deepcopy(trained.state())
    expected = trained.advance()
    fresh.restore(state)
    torch.testing.assert_close(fresh.advance(), expected)


@pytest.mark.slow
def test_copies_are_of_dense_layers_and_follow_their_weights():
    network = engine_of("beta_vae", rounded=False).network
    rounded = RoundedWeights(network)
    assert len(rounded.layers) == 4
    layer = rounded.layers[0]
    layer.weight.data.fill_(1.00001)
    rounded.renew()
    assert layer.rounded.dtype == torch.bfloat16
    assert layer.rounded.unique().tolist() == [1.0]
    assert CompiledAdam(torch.optim.Adam(network.parameters()), rounded, epsilon=EPSILON).copies.keys() == {
        id(one.weight) for one in rounded.layers
    }
