"""Some latents of a decoder, measured alone: the columns of their Jacobian."""

import numpy as np
import pytest
import torch

from unbraid import manifold

UNIT = 0.5 * (1 + np.log(2 * np.pi))
SOME = [5, 1, 4]


def linear(seed=0, n_data=9, n_latents=6):
    matrix = np.random.default_rng(seed).standard_normal((n_data, n_latents))
    return matrix, lambda z: z @ torch.as_tensor(matrix).to(z).T


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_entropies_are_those_of_the_columns(mode):
    matrix, decoder = linear()
    found = manifold.analyze(
        decoder, latent_dim=6, latents=SOME, n_samples=4, mode=mode, dtype="float64", progress=False
    )
    part = matrix[:, sorted(SOME)]
    np.testing.assert_array_equal(found.latents, [1, 4, 5])
    np.testing.assert_allclose(found.latent_entropy, UNIT + np.log(np.linalg.norm(part, axis=0)))
    volume = 0.5 * np.linalg.slogdet(part.T @ part)[1]
    assert found.total_entropy == pytest.approx(3 * UNIT + volume)
    assert found.latent_dim == 3
    assert [row.latent for row in found.rows()] == found.latents[found.order].tolist()
    assert found.meta["latent_dim"] == 6


def test_more_latents_than_outputs_can_be_measured_a_few_at_a_time():
    _, decoder = linear(n_data=3)
    with pytest.raises(ValueError, match="measure fewer latents"):
        manifold.analyze(decoder, latent_dim=6, n_samples=4, progress=False)
    assert manifold.analyze(decoder, latent_dim=6, latents=[0, 3], n_samples=4, progress=False).n_active == 2


def test_they_are_what_all_latents_give(tmp_path):
    torch.manual_seed(0)
    decoder = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 64))
    options = {"latent_dim": 6, "n_samples": 20, "dtype": "float64", "progress": False}
    whole = manifold.analyze(decoder, **options)
    part = manifold.analyze(decoder, latents=SOME, **options)
    np.testing.assert_allclose(part.latent_entropy, whole.latent_entropy[[1, 4, 5]])
    shared = whole.pairwise_mutual_information[np.ix_([1, 4, 5], [1, 4, 5])]
    np.testing.assert_allclose(part.pairwise_mutual_information, shared)
    pictures = manifold.draw(decoder, part, image_shape=(8, 8), n_latents=2, n_steps=3)
    assert set(pictures.latents) <= set(SOME)
    every = manifold.draw(decoder, whole, image_shape=(8, 8), n_latents=6, n_steps=3)
    place = every.latents.tolist().index(pictures.latents[0])
    np.testing.assert_allclose(pictures.mean_jacobian[0], every.mean_jacobian[place], rtol=1e-5)
    np.testing.assert_allclose(pictures.traversals[0], every.traversals[place], rtol=1e-5)
    page = part.to_html(tmp_path / "page.html", pictures=pictures).read_text(encoding="utf-8")
    assert "z5" in page
    assert "z0<" not in page


def test_columns_of_mixtures_are_scaled_by_their_own_deviations():
    matrix, decoder = linear()
    deviations = np.arange(1.0, 7.0)
    mixture = manifold.GaussianMixture([np.zeros(6)], [deviations])
    found = manifold.analyze(decoder, prior=mixture, latents=[2, 5], n_samples=4, dtype="float64", progress=False)
    lengths = np.linalg.norm(matrix, axis=0)[[2, 5]] * deviations[[2, 5]]
    np.testing.assert_allclose(found.latent_entropy, UNIT + np.log(lengths))


def test_partitions_name_the_latents_by_their_numbers():
    matrix, _ = linear()
    jacobians = np.stack([matrix] * 2)
    found = manifold.analyze(jacobians=jacobians, latents=SOME, partition={"a": [5], "b": [4, 1]})
    part = matrix[:, [1, 4]]
    assert found.manifold_entropy[1] == pytest.approx(2 * UNIT + 0.5 * np.linalg.slogdet(part.T @ part)[1])
    assert found.to_dict()["sets"] == {"a": [5], "b": [1, 4]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latents": [6]}, "latents must be from 0 to 5, got 6"),
        ({"latents": [1, 1]}, "latents must be different numbers"),
        ({"latents": []}, "latents must have latents in every set"),
        ({"latents": [1], "partition": [[0]]}, "partition must use the latents that are measured, got 0"),
        ({"latents": [1], "log_abs_det": len}, "log_abs_det is the volume of all latents"),
    ],
)
def test_bad_input(options, message):
    _, decoder = linear()
    with pytest.raises(ValueError, match=message):
        manifold.analyze(decoder, latent_dim=6, n_samples=4, **options)
