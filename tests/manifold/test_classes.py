"""Decoders with classes, and mixtures: each class has the closed form of its own linear decoder."""

import json

import numpy as np
import pytest
import torch

from helpers.decoders import linear
from unbraid import manifold

UNIT = 0.5 * (1 + np.log(2 * np.pi))
MATRICES = np.random.default_rng(0).standard_normal((3, 6, 2))
OPTIONS = {"latent_dim": 2, "n_samples": 4, "dtype": "float64", "progress": False}


def by_class(z, labels):
    return torch.einsum("ndi,ni->nd", torch.as_tensor(MATRICES).to(z)[labels], z)


def entropies(scale=1.0):
    return UNIT + np.log(scale * np.linalg.norm(MATRICES, axis=1))


@pytest.mark.parametrize("form", ["function", "list", "mapping"])
def test_each_class_is_measured_and_the_mean_weighs_them(form):
    each = [linear(matrix) for matrix in MATRICES]
    given = {"function": by_class, "list": each, "mapping": dict(zip("abc", each, strict=True))}[form]
    shares = [1, 1, 2]
    found = manifold.analyze_classes(given, n_classes=3 if form == "function" else None, shares=shares, **OPTIONS)
    assert found.names == (("a", "b", "c") if form == "mapping" else ("0", "1", "2"))
    for k, one in enumerate(found.analyses):
        np.testing.assert_allclose(one.latent_entropy, entropies()[k])
    np.testing.assert_allclose(found.latent_entropy, np.average(entropies(), axis=0, weights=shares))
    volumes = [2 * UNIT + 0.5 * np.linalg.slogdet(matrix.T @ matrix)[1] for matrix in MATRICES]
    assert found.total_entropy == pytest.approx(np.average(volumes, weights=shares))
    assert found.total_correlation == pytest.approx(found.latent_entropy.sum() - found.total_entropy)
    assert found[found.names[1]] is found.analyses[1]
    assert list(json.loads(found.to_json())["classes"]) == list(found.names)
    assert found.table().loc[found.names[2], "share"] == 0.5


def test_components_of_a_mixture_are_classes():
    deviations = np.array([[1.0, 2.0], [3.0, 0.5]])
    mixture = manifold.GaussianMixture(np.zeros((2, 2)), deviations, weights=[3, 1])
    found = manifold.analyze_classes(linear(MATRICES[0]), prior=mixture, **OPTIONS)
    for k in range(2):
        np.testing.assert_allclose(found.analyses[k].latent_entropy, entropies()[0] + np.log(deviations[k]))
    np.testing.assert_allclose(found.shares, [0.75, 0.25])


def test_a_mixture_and_classes_go_together():
    deviations = np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 1.0]])
    mixture = manifold.GaussianMixture(np.zeros((3, 2)), deviations)
    found = manifold.analyze_classes(by_class, prior=mixture, **OPTIONS)
    for k in range(3):
        np.testing.assert_allclose(found.analyses[k].latent_entropy, entropies()[k] + np.log(deviations[k]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "n_classes must be given"),
        ({"n_classes": 0}, "n_classes must be at least 1, got 0"),
        ({"n_classes": 3, "names": ["a"]}, "names must be 3 different ones"),
        ({"n_classes": 3, "shares": [1, 2]}, "shares must be 3 numbers"),
        ({"n_classes": 3, "prior": manifold.GaussianMixture([[0, 0]], [[1, 1]])}, "a component for each of 3 classes"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        manifold.analyze_classes(by_class, **OPTIONS | options)
