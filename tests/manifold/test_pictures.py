"""Mean Jacobians, traversals and contours against decoders drawn by hand."""

import numpy as np
import pytest
import torch

from helpers.decoders import DOUBLE, linear
from unbraid import manifold

PATTERNS = torch.as_tensor(np.random.default_rng(0).standard_normal((3, 4, 5)), dtype=DOUBLE)
SIZES = torch.tensor([1.0, 3.0, 2.0], dtype=DOUBLE)


def images(z):
    """Each latent adds its own pattern to a grey image of 4 x 5; the first one does so ever faster."""
    bent = torch.cat([torch.exp(z[:, :1]), z[:, 1:]], dim=1)
    return torch.einsum("nk,khw->nhw", bent * SIZES, PATTERNS)


def drawn(decoder, latent_dim, **options):
    found = manifold.analyze(decoder, latent_dim=latent_dim, n_samples=30, dtype="float64")
    return found, manifold.draw(decoder, found, dtype="float64", **options)


def test_mean_jacobian_is_the_mean_of_jacobians():
    found, pictures = drawn(images, 3, n_samples=30)
    assert pictures.latents.tolist() == found.order.tolist()
    z = np.random.default_rng(0).standard_normal((30, 3))
    expected = {0: np.exp(z[:, 0]).mean() * PATTERNS[0], 1: 3 * PATTERNS[1], 2: 2 * PATTERNS[2]}
    for latent, image in zip(pictures.latents, pictures.mean_jacobian, strict=True):
        np.testing.assert_allclose(image[:, :, 0], expected[int(latent)], atol=1e-10)


def test_traversals_move_one_latent():
    _, pictures = drawn(images, 3, n_steps=3, reach=1.0, n_latents=2)
    assert len(pictures.latents) == 2
    assert pictures.steps.tolist() == [-1, 0, 1]
    for latent, path in zip(pictures.latents, pictures.traversals, strict=True):
        for step, image in zip(pictures.steps, path, strict=True):
            z = torch.zeros(1, 3, dtype=DOUBLE)
            z[0, latent] = step
            np.testing.assert_allclose(image[:, :, 0], images(z)[0], atol=1e-12)


def test_traversals_go_by_the_samples_given():
    z = 5 + 2 * np.random.default_rng(0).standard_normal((30, 3))
    found = manifold.analyze(images, prior=z, dtype="float64")
    pictures = manifold.draw(images, found, prior=z, dtype="float64", n_steps=3)
    centre = torch.as_tensor(z.mean(axis=0, keepdims=True))
    np.testing.assert_allclose(pictures.traversals[0, 1, :, :, 0], images(centre)[0], atol=1e-9)
    latent = pictures.latents[0]
    centre[0, latent] -= 2 * z[:, latent].std()
    np.testing.assert_allclose(pictures.traversals[0, 0, :, :, 0], images(centre)[0], atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "given", "expected"),
    [
        ((1, 4, 6), None, (4, 6, 1)),
        ((3, 4, 2), None, (4, 2, 3)),
        ((4, 2, 3), None, (4, 2, 3)),
        ((24,), (4, 6), (4, 6, 1)),
        ((24,), (3, 2, 4), (2, 4, 3)),
    ],
)
def test_images_of_every_layout(shape, given, expected):
    matrix = np.random.default_rng(0).standard_normal((24, 2))
    flat = linear(matrix)
    _, pictures = drawn(lambda z: flat(z).reshape(-1, *shape), 2, image_shape=given)
    assert pictures.mean_jacobian.shape[1:] == expected
    column = matrix[:, pictures.latents[0]].reshape(given or shape)
    first = column if expected[2] == 1 or column.shape[2] == 3 else np.moveaxis(column, 0, -1)
    np.testing.assert_allclose(pictures.mean_jacobian[0].reshape(expected), first.reshape(expected), atol=1e-12)


def test_no_images_of_flat_outputs():
    _, pictures = drawn(linear(np.random.default_rng(0).standard_normal((7, 3))), 3)
    assert pictures.mean_jacobian is None
    assert pictures.traversals is None
    assert pictures.contours is None


def test_contours_follow_one_latent():
    matrix = np.array([[2.0, 1.0], [0.0, 1.0]])
    _, pictures = drawn(linear(matrix), 2)
    along_first, along_second = pictures.contours
    np.testing.assert_allclose(np.diff(along_first, axis=1)[..., 1], 0, atol=1e-12)
    steps = np.diff(along_second, axis=1)
    np.testing.assert_allclose(steps[..., 0], steps[..., 1], atol=1e-12)
    assert along_first[:, :, 0].max() == pytest.approx(3 * 2 + 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (4, 4)}, r"image_shape must have 20 entries like an output, got \(4, 4\)"),
        ({"image_shape": (2, 2, 5)}, r"with 1 or 3 channels before or after, got \(2, 2, 5\)"),
        ({"n_steps": 1}, "n_steps must be"),
        ({"n_latents": 0}, "n_latents must be at least 1, got 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        drawn(images, 3, **options)


def test_chosen_latents_are_drawn_in_the_order_given():
    _, pictures = drawn(images, 3, latents=[2, 0])
    assert pictures.latents.tolist() == [2, 0]
    np.testing.assert_allclose(pictures.mean_jacobian[0, :, :, 0], 2 * PATTERNS[2], atol=1e-10)


def test_every_class_is_drawn_along_the_same_latents_from_the_mean_of_its_component():
    mixture = manifold.GaussianMixture([[0.0, 1.0, 0.0], [0.0, -2.0, 5.0]], [[1.0, 1.0, 1.0], [1.0, 0.1, 9.0]])
    options = {"dtype": "float64"}
    found = manifold.analyze_classes(images, prior=mixture, n_samples=30, progress=False, **options)
    assert found.analyses[0].order.tolist() != found.analyses[1].order.tolist()
    pictures = manifold.draw_classes(images, found, prior=mixture, n_latents=2, n_steps=3, reach=1.0, **options)
    assert list(pictures) == ["0", "1"]
    for name, one in pictures.items():
        assert one.latents.tolist() == found.order[:2].tolist()
        z = torch.as_tensor(mixture.means[int(name)])[None].clone()
        np.testing.assert_allclose(one.traversals[0, 1, :, :, 0], images(z)[0], atol=1e-12)
        z[0, one.latents[0]] += mixture.deviations[int(name), one.latents[0]]
        np.testing.assert_allclose(one.traversals[0, 2, :, :, 0], images(z)[0], atol=1e-12)
