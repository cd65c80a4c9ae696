"""Partitions, priors and arguments that make no sense."""

import re

import numpy as np
import pytest
import torch

from helpers.decoders import linear, network
from unbraid import manifold


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
