"""IWO and IWR as torch functions: the same values as the metrics, known truths, right gradients."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from unbraid.evidence.subspaces.options import Subspace, SubspaceOptions, importance_weights, weigh  # noqa: E402
from unbraid.metrics.geometry.differentiable import explained_weights, iwo_of_bases, iwr_of_weights  # noqa: E402
from unbraid.metrics.geometry.orthogonality import iwo_score, iwr_score  # noqa: E402


def random_subspaces(seed, ranks=(1, 2, 3), n_codes=5):
    rng = np.random.default_rng(seed)
    return [
        Subspace(
            basis=np.linalg.qr(rng.normal(size=(n_codes, rank)))[0],
            losses=np.sort(np.append(rng.uniform(0.1, 0.9, size=rank), 1.0))[::-1],
        )
        for rank in ranks
    ]


def as_tensors(arrays):
    return [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in arrays]


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_the_metrics(seed):
    found = weigh(random_subspaces(seed), SubspaceOptions(), 5)
    bases, weights = as_tensors(found.bases), as_tensors(found.weights)
    assert iwo_of_bases(bases, weights).item() == pytest.approx(iwo_score(found).value, abs=1e-12)
    assert iwr_of_weights(weights, 5).item() == pytest.approx(iwr_score(found).value, abs=1e-12)
    for subspace, known in zip(found.subspaces, found.weights, strict=True):
        ours = explained_weights(torch.tensor(subspace.losses.copy()))
        np.testing.assert_allclose(ours.numpy(), known)
        np.testing.assert_allclose(known, importance_weights(subspace.losses, 5))


@pytest.mark.slow
def test_gradients_are_those_of_finite_differences():
    found = weigh(random_subspaces(0), SubspaceOptions(), 5)
    bases, weights = as_tensors(found.bases), as_tensors(found.weights)
    assert torch.autograd.gradcheck(lambda *given: iwo_of_bases(given[:3], given[3:]), (*bases, *weights))
    assert torch.autograd.gradcheck(lambda *given: iwr_of_weights(given, 5), tuple(weights))
    losses = torch.tensor([1.0, 0.7, 0.3, 0.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(explained_weights, (losses,))


@pytest.mark.parametrize("degrees", [0, 30, 60, 90])
def test_two_lines_score_the_squared_sine_of_their_angle(degrees):
    angle = math.radians(degrees)
    lines = as_tensors([[[1.0], [0.0]], [[math.cos(angle)], [math.sin(angle)]]])
    assert iwo_of_bases(lines, [torch.ones(1, dtype=torch.float64)] * 2).item() == pytest.approx(math.sin(angle) ** 2)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_equal_weights_on_some_axes_score_one_less_the_logarithm_of_their_number(rank):
    weights = [torch.full((rank,), 1 / rank, dtype=torch.float64)]
    assert iwr_of_weights(weights, 4).item() == pytest.approx(1 - math.log(rank, 4))


def test_an_axis_without_weight_gets_no_gradient_and_spoils_none():
    weights = as_tensors([[1.0, 0.0], [0.5, 0.5]])
    axes = torch.eye(2, dtype=torch.float64)
    (iwo_of_bases([axes, axes], weights) + iwr_of_weights(weights, 2)).backward()
    assert torch.isfinite(weights[0].grad).all()
    assert weights[0].grad[1] == 0


@pytest.mark.slow
def test_descent_makes_subspaces_orthogonal():
    generator = torch.Generator().manual_seed(0)
    free = [torch.randn(4, 2, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2)]
    weights = [torch.full((2,), 0.5, dtype=torch.float64)] * 2
    optimiser = torch.optim.Adam(free, lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        loss = 1 - iwo_of_bases([torch.linalg.qr(one).Q for one in free], weights)
        loss.backward()
        optimiser.step()
    assert loss.item() < 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iwo_of_bases([torch.eye(2)], [torch.ones(2)]), "at least two subspaces, got 1"),
        (lambda: iwo_of_bases([torch.eye(2)] * 2, [torch.ones(2)]), "as many subspaces, got 2 and 1"),
        (lambda: iwo_of_bases([torch.eye(2)] * 2, [torch.ones(2), torch.ones(3)]), "for subspace 1"),
        (lambda: iwr_of_weights([], 3), "at least one subspace"),
        (lambda: iwr_of_weights([torch.ones(1)], 1), "n_codes must be at least 2, got 1"),
    ],
)
def test_shapes_that_do_not_fit_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
