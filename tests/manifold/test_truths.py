"""Decoders whose answer is known on paper."""

import numpy as np
import pytest
import torch

from helpers.decoders import UNIT_ENTROPY, linear, network, rotation, torus
from unbraid import manifold


def analyze(decoder, latent_dim, **options):
    return manifold.analyze(decoder, latent_dim=latent_dim, **{"n_samples": 20, "dtype": "float64"} | options)


def test_pca_in_closed_form():
    variances = np.array([9.0, 4.0, 1.0, 0.25, 0.01])
    found = analyze(linear(rotation(5) * np.sqrt(variances)), 5)
    expected = UNIT_ENTROPY + 0.5 * np.log(variances)
    assert found.latent_entropy == pytest.approx(expected, abs=1e-8)
    assert found.total_entropy == pytest.approx(expected.sum(), abs=1e-8)
    assert found.total_correlation == pytest.approx(0, abs=1e-8)
    off_diagonal = ~np.eye(5, dtype=bool)
    assert found.pairwise_mutual_information[off_diagonal] == pytest.approx(0, abs=1e-8)
    assert np.isnan(np.diagonal(found.pairwise_mutual_information)).all()
    assert found.latent_entropy_error == pytest.approx(0, abs=1e-8)
    assert found.order.tolist() == [0, 1, 2, 3, 4]


def test_pca_of_fewer_latents_than_data_and_by_sets():
    variances = np.array([1.0, 9.0, 4.0])
    found = analyze(linear(rotation(7)[:, :3] * np.sqrt(variances)), 3, partition={"ends": [0, 2], "middle": [1]})
    expected = np.array([2 * UNIT_ENTROPY + 0.5 * np.log(4), UNIT_ENTROPY + 0.5 * np.log(9)])
    assert found.manifold_entropy == pytest.approx(expected, abs=1e-8)
    assert found.total_correlation == pytest.approx(0, abs=1e-8)
    assert found.set_mutual_information[0, 1] == pytest.approx(0, abs=1e-8)
    assert found.order.tolist() == [1, 2, 0]
    assert found.sorted_entropy == pytest.approx(UNIT_ENTROPY + 0.5 * np.log([9, 4, 1]), abs=1e-8)


@pytest.mark.parametrize("angle", [0.01, 0.3, np.pi / 4, 1.2, np.pi / 2])
def test_two_vectors_at_an_angle(angle):
    columns = np.array([[3.0, 0.5 * np.cos(angle)], [0.0, 0.5 * np.sin(angle)], [0.0, 0.0]])
    found = analyze(linear(columns), 2)
    expected = -0.5 * np.log(np.sin(angle) ** 2)
    assert found.pairwise_mutual_information[0, 1] == pytest.approx(expected, abs=1e-8)
    assert found.pairwise_mutual_information[1, 0] == pytest.approx(expected, abs=1e-8)
    assert found.total_correlation == pytest.approx(expected, abs=1e-8)


def test_torus_has_the_corrected_entropies():
    decode, deviations = torus()
    found = analyze(decode, 20, n_samples=600)
    expected = UNIT_ENTROPY + np.log(deviations)
    # Radii move the data along straight lines, so that nothing scatters; angles scatter with the radius.
    assert found.latent_entropy[10:] == pytest.approx(expected[10:], abs=1e-8)
    assert (np.abs(found.latent_entropy - expected)[:10] < 3 * found.latent_entropy_error[:10]).all()
    assert found.total_correlation == pytest.approx(0, abs=1e-8)
    assert np.nanmax(found.pairwise_mutual_information) < 1e-8


def test_torus_angles_to_the_last_digit():
    decode, deviations = torus(n_circles=2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    mean_log_radius = [(weights * np.log(1 + s * nodes)).sum() / weights.sum() for s in deviations[2:]]
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    samples = np.concatenate([np.zeros_like(grid), grid], axis=1)
    record = analyze(decode, 4, prior=samples).samples.log_lengths
    share = np.outer(weights, weights).reshape(-1) / weights.sum() ** 2
    assert share @ record[:, :2] == pytest.approx(np.log(deviations[:2]) + mean_log_radius, abs=1e-10)


def test_total_correlation_is_that_of_gaussians_with_the_cosines_as_correlation():
    matrix = np.random.default_rng(3).standard_normal((8, 5))
    cosines = (matrix.T @ matrix) / np.outer(*[np.linalg.norm(matrix, axis=0)] * 2)
    found = analyze(linear(matrix), 5)
    assert found.total_correlation == pytest.approx(-0.5 * np.log(np.linalg.det(cosines)), abs=1e-8)
    assert found.total_correlation_per_latent == pytest.approx(found.total_correlation / 5)


@pytest.mark.parametrize("seed", range(5))
def test_total_correlation_is_never_negative(seed):
    found = analyze(network(seed=seed), 4)
    assert (found.samples.total_correlation >= 0).all()
    assert found.total_correlation > 0.001


def test_entropy_of_a_union_is_the_sum_less_what_is_shared():  # A.28
    decoder = network(latent_dim=6, data_dim=12)
    s, t, rest = [0, 3], [1, 4, 5], [2]
    apart = analyze(decoder, 6, partition=[s, t, rest])
    together = analyze(decoder, 6, partition=[s + t, rest])
    shared = apart.set_mutual_information[0, 1]
    assert shared > 0.01
    entropies = apart.manifold_entropy
    assert together.manifold_entropy[0] == pytest.approx(entropies[0] + entropies[1] - shared, abs=1e-10)


@pytest.mark.parametrize("partition", [None, [[0, 3], [1, 4, 5], [2]], {"all": range(6)}])
@pytest.mark.parametrize("data_dim", [6, 12])
def test_total_correlation_is_entropies_less_the_total(partition, data_dim):  # A.31
    found = analyze(network(latent_dim=6, data_dim=data_dim), 6, partition=partition)
    assert found.total_correlation == pytest.approx(found.manifold_entropy.sum() - found.total_entropy, abs=1e-10)


def test_two_latents_make_the_pair_the_total_correlation():
    found = analyze(network(latent_dim=2), 2)
    assert found.pairwise_mutual_information[0, 1] == pytest.approx(found.total_correlation, abs=1e-10)
    assert found.pairwise_mutual_information_error[0, 1] == pytest.approx(found.total_correlation_error, abs=1e-10)


def test_pairs_are_what_pairwise_determinants_say():
    decoder = network()
    found = analyze(decoder, 4, n_samples=5)
    z = torch.as_tensor(np.random.default_rng(0).standard_normal((5, 4)))
    jacobian = torch.func.vmap(torch.func.jacrev(decoder))(z).detach()
    pair = jacobian[:, :, [1, 3]]
    gram = pair.mT @ pair
    each = 0.5 * (gram[:, 0, 0].log() + gram[:, 1, 1].log() - torch.logdet(gram))
    assert found.pairwise_mutual_information[1, 3] == pytest.approx(float(each.mean()), abs=1e-10)
    assert found.pairwise_mutual_information_error[1, 3] == pytest.approx(float(each.std()) / np.sqrt(5), abs=1e-10)


@pytest.mark.parametrize(("lengths", "expected"), [([1, 1, 1], 3.0), ([1, 1, 1e-9], 2.0), ([5, 1e-9, 1e-9], 1.0)])
def test_effective_dimension_counts_equal_lengths(lengths, expected):
    found = analyze(linear(np.diag(lengths)), 3)
    assert found.effective_dimension == pytest.approx(expected, abs=1e-6)
    assert found.n_active == 3


def test_rotating_the_data_changes_nothing_and_rotating_the_latents_all_but_the_total():
    decoder, turn = network(data_dim=4), torch.as_tensor(rotation(4, seed=5))
    plain = analyze(decoder, 4)
    turned_data = analyze(lambda z: decoder(z) @ turn, 4)
    assert turned_data.latent_entropy == pytest.approx(plain.latent_entropy, abs=1e-10)
    assert turned_data.total_correlation == pytest.approx(plain.total_correlation, abs=1e-10)
    z = np.random.default_rng(1).standard_normal((20, 4))
    given = analyze(decoder, 4, prior=z)
    turned_latents = analyze(lambda z: decoder(z @ turn), 4, prior=z @ turn.numpy().T)
    assert turned_latents.total_entropy == pytest.approx(given.total_entropy, abs=1e-10)
    assert np.abs(turned_latents.latent_entropy - given.latent_entropy).max() > 0.01
