"""Products of a convolution must give what the layers give, and its derivatives, with masks in the right places."""

import importlib.util

import pytest
import torch
from torch.nn.functional import relu

from unbraid.models.ensemble import products
from unbraid.models.ensemble.layers import Convolution, Upconvolution, has_products
from unbraid.models.ensemble.networks import ConvolutionalDecoder, ConvolutionalEncoder
from unbraid.models.ensemble.products import lay, patches

N_MODELS, N = 2, 3


def filled(layer):
    generator = torch.Generator().manual_seed(1)
    for parameter in layer.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / 4
    return layer


def pictures(side, channels, seed=0):
    return torch.randn(
        N_MODELS, N, side, side, channels, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def assert_same(found, expected, layer, x):
    weights = torch.linspace(-1, 1, found.numel(), dtype=torch.float64).reshape(found.shape)
    places = (x, layer.weight, layer.bias)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    ours = torch.autograd.grad((found * weights).sum(), places)
    theirs = torch.autograd.grad((expected * weights).sum(), places)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("channels", [1, 3, 16])
def test_a_rectified_convolution_has_the_values_and_derivatives_of_the_layer(channels):
    layer, x = filled(Convolution(N_MODELS, channels, 16)), pictures(8, channels).requires_grad_()
    assert_same(products.RectifiedDown.apply(x, layer.weight, layer.bias, False, False, True), relu(layer(x)), layer, x)


def test_a_rectified_upconvolution_has_the_values_and_derivatives_of_the_layer():
    layer, x = filled(Upconvolution(N_MODELS, 16, 32)), pictures(4, 16).requires_grad_()
    assert_same(products.RectifiedUp.apply(x, layer.weight, layer.bias, False, False), relu(layer(x)), layer, x)


def test_a_last_upconvolution_has_the_values_and_derivatives_of_the_layer():
    layer, x = filled(Upconvolution(N_MODELS, 16, 1)), pictures(4, 16).requires_grad_()
    assert_same(products.LastUp.apply(x, layer.weight, layer.bias, False), layer(x), layer, x)


def test_the_derivative_by_weights_is_the_same_either_way_round():
    big, small = pictures(8, 3), pictures(4, 16, seed=2)
    plain, turned = (products.by_weights(big, small, turned=way) for way in (False, True))
    torch.testing.assert_close(plain.mT, turned)


def test_up_is_the_transpose_of_down():
    weight = torch.randn(N_MODELS, 16 * 3, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    big, small = pictures(8, 3), pictures(4, 5, seed=4)
    there = (products.down(big, weight, None, None, 5, False, False) * small).sum()
    back = (products.up(small, weight, None, None, 3, False, False) * big).sum()
    torch.testing.assert_close(there, back)


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_a_network_of_products_has_the_derivatives_of_its_layers(kind, width, monkeypatch):
    """Layers that leave the mask of a positive part to the next one: each mask must be there once, and none missing."""
    if kind == "encoder":
        network, x = filled(ConvolutionalEncoder(N_MODELS, (1, 32, 32), 2, width)), pictures(32, 1).movedim(-1, 2)
    else:
        network, x = filled(ConvolutionalDecoder(N_MODELS, (1, 32, 32), 4, width)), pictures(2, 1).flatten(2)
    expected = network(x)
    by = torch.autograd.grad(expected.square().sum(), list(network.parameters()))
    there = lambda layer, x: isinstance(layer, Convolution | Upconvolution) and has_products(layer)  # noqa: E731
    monkeypatch.setattr("unbraid.models.ensemble.layers.runs_by_kernel", there)
    found = network(x)
    torch.testing.assert_close(found, expected)
    for one, other in zip(torch.autograd.grad(found.square().sum(), list(network.parameters())), by, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("big", "small", "fit"), [(1, 32, True), (3, 64, True), (32, 48, False), (256, 64, False)])
def test_kernels_are_for_channels_that_fit_a_tile(big, small, fit):
    assert products.fits(big, small) == fit


@pytest.mark.skipif(
    not torch.cuda.is_available() or importlib.util.find_spec("triton") is None,
    reason="NOT TESTED HERE: kernels need a GPU and Triton; benchmarks/ensemble.py --device cuda compares them too",
)
@pytest.mark.parametrize(("side", "big", "small"), [(32, 1, 32), (16, 32, 32), (8, 32, 64), (4, 64, 64), (6, 3, 16)])
def test_kernels_give_what_patches_give(side, big, small):
    generator = torch.Generator("cuda").manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, device="cuda").bfloat16()

    large, little = draw(3, 5, 2 * side, 2 * side, big), draw(3, 5, side, side, small)
    weight = draw(3, 16 * big, small) / 8
    rows = patches(large.double()).reshape(3, -1, 16 * big)
    pairs = [
        (products.down(large, weight, None, None, small, False, False), torch.bmm(rows, weight.double())),
        (products.by_weights(large, little, turned=False), rows.mT @ little.double().reshape(3, -1, small)),
    ]
    if big >= products.FEWEST:
        cells = torch.bmm(little.double().reshape(3, -1, small), weight.double().mT)
        found = products.up(little, weight, None, None, big, False, False)
        pairs.append((found, lay(cells.reshape(3, 5, side, side, 4, 4, big))))
    for found, expected in pairs:
        apart = (found.double().reshape(expected.shape) - expected).norm() / expected.norm()
        assert apart < 4e-3
