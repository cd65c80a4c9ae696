"""Sets of sets, against the volumes of a linear decoder."""

import json

import numpy as np
import pytest

from helpers.decoders import linear, network
from unbraid import manifold

MATRIX = np.random.default_rng(0).standard_normal((9, 5))
SETS = {"shape": {"a": [0, 3], "b": [1]}, "rest": {"c": [2], "d": [4]}}
OPTIONS = {"latent_dim": 5, "n_samples": 10, "dtype": "float64", "progress": False}


def volume(*latents):
    part = MATRIX[:, list(latents)]
    return 0.5 * np.linalg.slogdet(part.T @ part)[1]


def test_correlations_are_those_of_the_volumes():
    found = manifold.hierarchy(linear(MATRIX), SETS, **OPTIONS)
    whole = volume(0, 1, 2, 3, 4)
    assert found.between == pytest.approx(volume(0, 3, 1) + volume(2, 4) - whole, abs=1e-10)
    np.testing.assert_allclose(
        found.within, [volume(0, 3) + volume(1) - volume(0, 1, 3), volume(2) + volume(4) - volume(2, 4)], atol=1e-10
    )
    assert found.total == pytest.approx(volume(0, 3) + volume(1) + volume(2) + volume(4) - whole, abs=1e-10)
    assert list(json.loads(found.to_json())["within"]) == ["shape", "rest"]
    assert found.table().index.tolist() == ["between", "within shape", "within rest", "total"]


def test_parts_add_up_and_agree_with_partitions():
    decoder = network(5)
    found = manifold.hierarchy(decoder, SETS, **OPTIONS)
    assert found.total == pytest.approx(found.between + found.within.sum(), abs=1e-9)
    inner = manifold.analyze(decoder, partition=[[0, 3], [1], [2], [4]], **OPTIONS)
    outer = manifold.analyze(decoder, partition=[[0, 1, 3], [2, 4]], **OPTIONS)
    assert found.total == pytest.approx(inner.total_correlation, abs=1e-9)
    assert found.between == pytest.approx(outer.total_correlation, abs=1e-9)
    assert found.between_error == pytest.approx(outer.total_correlation_error, rel=1e-6)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"a": [0, 1]}, "sets must be a mapping from outer sets to mappings"),
        ({"a": {"x": [0, 1, 2, 3]}}, "every latent in a set"),
        ({"a": {"x": [0, 1, 2]}, "b": {"y": [2, 3, 4]}}, "in one set"),
    ],
)
def test_bad_sets(sets, message):
    with pytest.raises(ValueError, match=message):
        manifold.hierarchy(linear(MATRIX), sets, **OPTIONS)
