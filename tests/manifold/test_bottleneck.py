"""Knee, density at points and bottleneck, against what linear decoders give on paper."""

import json

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from unbraid import manifold

UNIT = 0.5 * (1 + np.log(2 * np.pi))
VARIANCES = np.array([4.0, 0.25, 9.0, 1.0])


def linear(matrix):
    return lambda z: z @ torch.as_tensor(matrix).to(z).T


def pca(n_data=7):
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((n_data, len(VARIANCES))))[0]
    return directions * np.sqrt(VARIANCES)


def test_knee_is_the_largest_fall():
    found = manifold.knee([-3.0, 2.5, 2.0, -np.inf])
    assert (found.n_before, found.fall) == (3, 97.0)  # to a latent that moves nothing, as far as counted
    assert manifold.knee([2.5, -3.0, 2.0]).n_before == 2
    assert manifold.knee([2.5, 2.0, 1.2]) is None
    assert manifold.knee([2.5, 2.0, 1.2], least_fall=0.7).n_before == 2
    assert manifold.knee([1.0]) is None
    with pytest.raises(ValueError, match="got NaN"):
        manifold.knee([1.0, np.nan])


def test_density_of_all_latents_is_that_of_the_generated_data():
    matrix = np.random.default_rng(1).standard_normal((4, 4))
    z = np.random.default_rng(2).standard_normal((20, 4))
    found = manifold.log_density(linear(matrix), z, dtype="float64")
    np.testing.assert_allclose(found, multivariate_normal(np.zeros(4), matrix @ matrix.T).logpdf(z @ matrix.T))


def test_density_of_some_latents_is_that_of_their_normal_on_the_plane_they_span():
    matrix = np.random.default_rng(1).standard_normal((6, 4))
    z = np.random.default_rng(2).standard_normal((20, 4))
    found = manifold.log_density(linear(matrix), z, latents=[3, 1], dtype="float64")
    part = matrix[:, [1, 3]]
    axes, shape = np.linalg.qr(part)
    in_plane = z[:, [1, 3]] @ part.T @ axes
    np.testing.assert_allclose(found, multivariate_normal(np.zeros(2), shape @ shape.T).logpdf(in_plane))


def test_mean_of_the_density_is_the_entropy():
    torch.manual_seed(0)
    decoder = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 9))
    z = np.random.default_rng(0).standard_normal((1000, 3))
    found = manifold.analyze(decoder, prior=z, latents=[0, 2], dtype="float64", progress=False)
    density = manifold.log_density(decoder, z, latents=[0, 2], dtype="float64")
    assert -density.mean() == pytest.approx(found.total_entropy, abs=4 * density.std() / 1000**0.5)


def test_density_is_infinite_where_a_latent_moves_nothing():
    found = manifold.log_density(lambda z: z * torch.tensor([1.0, 0.0]), np.zeros((2, 2)))
    assert (found == np.inf).all()
    alone = manifold.log_density(lambda z: z * torch.tensor([1.0, 0.0]), np.zeros((2, 2)), latents=[0])
    np.testing.assert_allclose(alone, -0.5 * np.log(2 * np.pi), rtol=1e-6)


def test_bottleneck_of_pca_keeps_the_largest_variances():
    options = {"latent_dim": 4, "n_samples": 4000, "dtype": "float64", "progress": False}
    found = manifold.bottleneck(linear(pca()), **options)
    assert found.order.tolist() == [2, 0, 3, 1]
    assert found.n_kept.tolist() == [0, 1, 2, 3, 4]
    ranked = VARIANCES[found.order]
    nats = [k * UNIT + 0.5 * np.log(ranked[:k]).sum() for k in range(5)]
    np.testing.assert_allclose(found.entropy, nats, atol=1e-9)
    left = np.array([ranked[k:].sum() for k in range(5)])
    assert (np.abs(found.squared_error - left) <= 4 * found.squared_error_error + 1e-12).all()
    assert found.squared_error[-1] == pytest.approx(0, abs=1e-20)


def test_nats_of_all_latents_are_the_total_entropy_where_columns_are_oblique():
    matrix = np.random.default_rng(5).standard_normal((6, 3))
    options = {"latent_dim": 3, "n_samples": 5, "dtype": "float64", "progress": False}
    found = manifold.bottleneck(linear(matrix), keep=[3, 1], **options)
    whole = manifold.analyze(linear(matrix), **options)
    assert found.entropy[1] == pytest.approx(whole.total_entropy)
    assert found.entropy[0] == pytest.approx(whole.latent_entropy.max())
    assert found.table().index.tolist() == [1, 3]
    assert json.loads(found.to_json())["n_kept"] == [1, 3]


def test_samples_are_narrowed_to_their_own_mean():
    data = np.random.default_rng(0).standard_normal((500, 4)) * 0.5 + np.array([3.0, 0, 0, 0])
    found = manifold.bottleneck(linear(pca()), prior=data, keep=[0], dtype="float64", progress=False)
    assert found.squared_error[0] == pytest.approx((data.var(axis=0) * VARIANCES).sum(), rel=1e-9)


@pytest.mark.parametrize(("keep", "message"), [([5], "keep must be numbers from 0 to 4"), ([], "at least 1, got 0")])
def test_bad_numbers_of_latents(keep, message):
    with pytest.raises(ValueError, match=message):
        manifold.bottleneck(linear(pca()), latent_dim=4, n_samples=4, keep=keep)
