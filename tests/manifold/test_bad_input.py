"""Partitions, priors and arguments that make no sense."""

import re

import numpy as np
import pytest
import torch

from helpers.decoders import linear, network
from unbraid import manifold
from unbraid._base.memory import TooMuchMemoryError


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([[0, 1], [1, 2, 3]], "partition must have every latent in one set, got 1 in more than one."),
        ([[0, 1], [3]], "partition must have every latent in a set, but [2] are in none; add a set for the rest."),
        ([[0, 1], [2, 3, 4]], "partition must use latents 0 to 3, got 4."),
        ([[0, 1, 2, 3], []], "partition must have latents in every set, got none in 'set 1'; leave it out."),
        ({"core": "ab"}, "partition must be sets of latent numbers, got 'ab' for 'core'."),
        ([[0.5], [1, 2, 3]], "partition must be sets of latent numbers, got [0.5] for 'set 0'."),
        ([None], "partition must be sets of latent numbers, got None for 'set 0'."),
        ([], "partition must have every latent in a set, but [0, 1, 2, 3] are in none; add a set for the rest."),
    ],
)
def test_bad_partitions(partition, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        manifold.analyze(network(), latent_dim=4, n_samples=3, partition=partition)


def test_partition_may_be_numbers():
    found = manifold.analyze(network(), latent_dim=4, n_samples=3, partition=[0, range(1, 3), (3,)])
    assert [one.tolist() for one in found.partition.sets] == [[0], [1, 2], [3]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give a decoder, a torch module or function, or its jacobians (n_samples, data, latent), got neither."),
        (
            {"decoder": linear(np.eye(2)), "jacobians": np.ones((2, 2, 2))},
            "give either a decoder or its jacobians, got both.",
        ),
        (
            {"jacobians": np.ones((3, 2, 1)), "latent_dim": 2},
            "latent_dim must be 1, the last axis of jacobians, got 2.",
        ),
        ({"decoder": linear(np.eye(2)), "latent_dim": 2, "seed": -1}, "seed must be at least 0, got -1."),
        (
            {"jacobians": np.ones((3, 2, 2)), "log_abs_det": torch.sum},
            "log_abs_det needs the decoder; it cannot be used with jacobians, leave it out.",
        ),
        (
            {"decoder": linear(np.ones((3, 2))), "latent_dim": 2, "log_abs_det": torch.sum, "dtype": "float64"},
            "log_abs_det is for square decoders, got 2 latents and 3 outputs; leave it out.",
        ),
        (
            {"jacobians": np.zeros((3, 2, 2))},
            "decoder must depend on its latents, but each of the 2 stands still in some sample; give the trained "
            "decoder, or more samples it was trained on as prior.",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        manifold.analyze(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], [[1.0, 2.0]]), "deviations must have the shape of means, got (1, 2) and (1, 1)."),
        (([[0.0]], [[-1.0]]), "deviations must be positive, got -1; give standard deviations, not logarithms."),
        (([[0.0]], [[1.0]], [-1.0]), "weights must be 1 numbers that are not negative, got [-1.0]."),
        (([["a"]], [[1.0]]), "means must be a matrix of numbers: could not convert string to float"),
    ],
)
def test_bad_mixtures(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        manifold.GaussianMixture(*arguments)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_an_output_that_is_not_finite_for_some_latents_is_noticed(mode, value):
    """Where a value is put in, the derivative is 0, not NaN."""
    net = network()

    def decoder(z):
        output = net(z)
        bad = (z[:, :1] > 0.84) & (torch.arange(output.shape[1]) == 1)
        return torch.where(bad, value, output)

    prior = np.linspace(-1, 1, 400).reshape(100, 4)
    n_bad = int((prior[:, 0] > 0.84).sum())
    with pytest.raises(ValueError, match=f"outputs must be finite, got NaN or inf for {n_bad} of 100 latents"):
        manifold.analyze(decoder, prior=prior, mode=mode, dtype="float64")


class Unloaded(torch.nn.Module):
    """Its second layer has no weights yet."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 4, device="meta")

    def forward(self, z):
        return self.second(self.first(z))


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (Unloaded(), "decoder must have its weights loaded, but 'second.weight' and 'second.bias' are on"),
        (lambda z: z.to_sparse(), "decoder must return a dense tensor with values, got one that is torch.sparse_coo"),
        (lambda z: z.to("meta"), "decoder must return a dense tensor with values, got one that is on the meta device"),
        (lambda z: z[:, :0], "decoder must return numbers, got an empty output of shape (3, 0)."),
    ],
)
def test_outputs_without_values_are_named(decoder, message):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}"):
        manifold.analyze(decoder, latent_dim=2, n_samples=3)


def test_what_torch_cannot_do_with_a_decoder_is_one_sentence():
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(context, z):
            return z.clone()

        @staticmethod
        def backward(context, gradient):
            raise RuntimeError("no memory\nand many lines")

    with pytest.raises(ValueError, match=r"^decoder (cannot be measured|must be differentiable)[^\n]*no memory[^\n]*$"):
        manifold.analyze(Odd.apply, latent_dim=2, n_samples=3, mode="reverse")


@pytest.mark.parametrize(
    ("sizes", "work"),
    [
        ({"latent_dim": 3, "n_samples": 10**12}, "1,000,000,000,000 samples of 3 latents"),
        ({"latent_dim": 10**7, "n_samples": 10}, "10 samples of 10,000,000 latents"),
    ],
)
def test_more_samples_than_memory_holds_are_refused_before_they_are_drawn(sizes, work):
    with pytest.raises(TooMuchMemoryError, match=f"^{work} would take about"):
        manifold.analyze(network(), **sizes)


def test_a_jacobian_that_memory_does_not_hold_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr("unbraid.evidence.jacobians.budget.available_bytes", lambda: 2**20)
    decoder = linear(np.eye(4000, 40))
    work = (
        r"the Jacobian of one sample, 4,000 outputs by 40 latents, would take about \d+ MiB of memory, more than the 1 "
    )
    with pytest.raises(TooMuchMemoryError, match=f"^{work}"):
        manifold.analyze(decoder, latent_dim=40, n_samples=3, memory="64k", dtype="float64")
    assert manifold.analyze(decoder, latent_dim=40, n_samples=3, memory="64M", dtype="float64").latent_dim == 40
