"""The same statistics from NumPy arrays and torch tensors: what stays on a GPU goes through the latter."""

from dataclasses import dataclass, fields

import numpy as np
import pytest
import torch

from unbraid.evidence.jacobians.budget import Chunk
from unbraid.evidence.jacobians.gram import Moments, pair_information
from unbraid.evidence.jacobians.sources import precomputed
from unbraid.evidence.jacobians.statistics import collect, collect_across


@dataclass(frozen=True)
class Tensors:
    """A source that hands out torch tensors, as from a GPU."""

    inner: object

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def chunks(self, size=None):
        for chunk in self.inner.chunks(size):
            yield Chunk(chunk.start, torch.as_tensor(chunk.jacobian))


def jacobians(data_dim, *, dead=(), late=(), parallel=False, dtype=np.float64):
    found = np.random.default_rng(0).standard_normal((12, data_dim, 5))
    found[:, :, list(dead)] = 0
    found[9:, :, list(late)] = 0
    if parallel:
        found[:, :, 1] = 2 * found[:, :, 0]
    return found.astype(dtype)


CASES = {
    "square": jacobians(5),
    "rectangular": jacobians(8),
    "dead": jacobians(8, dead=[2]),
    "square and dead": jacobians(5, dead=[2]),
    "late": jacobians(8, late=[3]),
    "parallel": jacobians(8, parallel=True),
    "square and parallel": jacobians(5, parallel=True),
    "single precision": jacobians(8, dtype=np.float32),
}


def assert_same(one, other, tolerance):
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if left is not None:
            np.testing.assert_allclose(left, right, atol=tolerance, err_msg=field.name)


@pytest.mark.parametrize("memory", [3000, "1GiB"])
@pytest.mark.parametrize("name", CASES)
def test_one_decoder(name, memory):
    source = precomputed(CASES[name], memory=memory)
    sets = [np.array([0, 3]), np.array([1, 2, 4])]
    expected = collect(source, sets, between_sets=True)
    found = collect(Tensors(source), sets, between_sets=True)
    if "parallel" in name:  # what is left of a volume of 0 is rounding error
        assert expected.log_volumes.max() < -8
        assert found.log_volumes.max() < -8
        assert np.isfinite(found.log_volumes).all()
        return
    assert_same(expected, found, 1e-4 if name == "single precision" else 1e-10)


@pytest.mark.parametrize("name", CASES)
def test_two_decoders(name):
    source = precomputed(CASES[name], memory=6000)
    other = precomputed(np.random.default_rng(1).standard_normal((12, CASES[name].shape[1], 3)), memory=3000)
    expected = collect_across(source, other)
    assert_same(expected, collect_across(Tensors(source), Tensors(other)), 1e-5)
    assert expected.information.shape == (5, 3)


def test_information_of_an_angle_and_its_end():
    cosine = np.array([[[0.0, 0.6, 1.0, -1.0]]])
    assert pair_information(cosine)[0, 0].tolist() == pytest.approx([0, -np.log(0.8), 18.02, 18.02], abs=0.01)
    single = pair_information(torch.ones(1, 1, 1))
    assert float(single) == pytest.approx(7.97, abs=0.01)


@pytest.mark.parametrize("sizes", [[7], [1, 6], [3, 2, 2], [1] * 7])
@pytest.mark.parametrize("as_library", [np.asarray, torch.as_tensor])
def test_moments_do_not_depend_on_chunks(sizes, as_library):
    values = 1e6 + np.random.default_rng(0).standard_normal((7, 3))
    moments = Moments()
    for part in np.split(values, np.cumsum(sizes)[:-1]):
        moments.add(as_library(part))
    assert moments.mean() == pytest.approx(values.mean(axis=0), abs=1e-8)
    assert moments.standard_error() == pytest.approx(values.std(axis=0, ddof=1) / np.sqrt(7), rel=1e-6)
