import math

import pytest
import torch
from torch.nn.functional import conv2d, conv_transpose2d

from unbraid.models.ensemble.layers import (
    Convolution,
    Dense,
    NarrowConvolution,
    OddConvolution,
    OddUpconvolution,
    Upconvolution,
)
from unbraid.models.ensemble.networks import EnsembleVAE, inner_sizes
from unbraid.models.ensemble.settings import Settings


def drawn(layer, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
    return layer


def pictures(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(9))


def test_dense_is_one_linear_map_for_each_model():
    layer, x = drawn(Dense(3, 5, 2)), pictures(3, 4, 5)
    for m in range(3):
        torch.testing.assert_close(layer(x)[m], x[m] @ layer.weight[m] + layer.bias[m])


def test_convolution_is_that_of_torch_for_each_model():
    layer, x = drawn(Convolution(2, 3, 5)), pictures(2, 4, 8, 12, 3)
    kernels = layer.weight.reshape(2, 4, 4, 3, 5).permute(0, 4, 3, 1, 2)
    for m in range(2):
        expected = conv2d(x[m].movedim(-1, 1), kernels[m], layer.bias[m, 0], stride=2, padding=1)
        torch.testing.assert_close(layer(x)[m], expected.movedim(1, -1), rtol=1e-5, atol=1e-5)


def test_upconvolution_is_that_of_torch_for_each_model():
    layer, x = drawn(Upconvolution(2, 3, 5)), pictures(2, 4, 4, 6, 3)
    kernels = layer.weight.reshape(2, 3, 4, 4, 5).permute(0, 1, 4, 2, 3)
    for m in range(2):
        expected = conv_transpose2d(x[m].movedim(-1, 1), kernels[m], layer.bias[m].flatten(), stride=2, padding=1)
        torch.testing.assert_close(layer(x)[m], expected.movedim(1, -1), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("layer", [Convolution(2, 2, 3), Upconvolution(2, 2, 3)])
def test_derivatives_of_convolutions_backwards_and_forwards(layer):
    layer, x = drawn(layer).double(), pictures(2, 2, 4, 4, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(layer, x, check_forward_ad=True)
    direction = torch.ones_like(x)
    _, moved = torch.func.jvp(layer, (x,), (direction,))
    torch.testing.assert_close(moved, layer(x + direction) - layer(x))  # they are affine
    many = torch.func.vmap(lambda d: torch.func.jvp(layer, (x,), (d,))[1])(torch.stack([direction, 2 * direction]))
    torch.testing.assert_close(many, torch.stack([moved, 2 * moved]))


def test_frozen_layers_pass_gradients_on_and_keep_none():
    layer, x = drawn(Dense(1, 2, 2)), pictures(1, 3, 2).requires_grad_()
    layer(x, frozen=True).sum().backward()
    assert x.grad.abs().sum() > 0
    assert layer.weight.grad is None


def settings(**changes):
    given = {"model": "vae", "data": "", "n_rows": 8, "shape": (1, 64, 64), "seeds": (0, 1)} | changes
    return Settings(**given)


def test_published_architecture():
    network = EnsembleVAE(settings(model="factor_vae", hyperparameters=(("gamma", (1.0, 1.0)),)))
    sizes = [tuple(p.shape[1:]) for name, p in network.named_parameters() if name.endswith("weight")]
    encoder = [(16, 32), (512, 32), (512, 64), (1024, 64), (1024, 256), (256, 20)]
    decoder = [(10, 256), (256, 1024), (64, 1024), (64, 512), (32, 512), (32, 16)]
    discriminator = [(10, 1000), *[(1000, 1000)] * 5, (1000, 2)]
    assert sorted(sizes) == sorted(encoder + decoder + discriminator)


@pytest.mark.parametrize(
    ("shape", "channels", "sides"),
    [
        ((1, 64, 64), [32, 32, 64, 64], (4, 4)),
        ((3, 28, 28), [32, 32], (7, 7)),
        ((1, 8, 16), [32], (4, 8)),
        ((3, 128, 128), [32, 32, 64, 64], (8, 8)),
    ],
)
def test_sides_are_halved_as_far_as_they_go(shape, channels, sides):
    assert inner_sizes(shape, 32) == (channels, sides)


def test_odd_sides_are_refused():
    with pytest.raises(
        ValueError, match=r"even sides above 4 for network 'conv', got shape \(1, 9, 8\); give network='mlp'"
    ):
        EnsembleVAE(settings(shape=(1, 9, 8)))


@pytest.mark.parametrize(("network", "shape"), [("conv", (3, 8, 16)), ("mlp", (7,)), ("mlp", (1, 5, 5))])
@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_distributions_have_the_shapes_of_data_and_codes(network, shape, likelihood):
    vae = EnsembleVAE(settings(network=network, shape=shape, n_codes=3, width=2, likelihood=likelihood))
    x = torch.rand(2, 5, *shape)
    posterior = vae.encode(x)
    assert posterior.batch_shape == (2, 5)
    assert posterior.event_shape == (3,)
    likelihood = vae.decode(posterior.mean)
    assert likelihood.batch_shape == (2, 5)
    assert likelihood.event_shape == shape


def test_weights_fill_their_range_and_depend_on_the_seed_alone():
    both, alone = EnsembleVAE(settings(seeds=(4, 5))), EnsembleVAE(settings(seeds=(5,)))
    for (name, many), one in zip(both.named_parameters(), alone.parameters(), strict=True):
        assert torch.equal(many[1], one[0]), name
    weight = both.encoder.hidden.weight[0]
    bound = math.sqrt(6 / (1024 + 256))
    assert weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.01)
    assert not torch.equal(both.encoder.hidden.weight[0], both.encoder.hidden.weight[1])


def test_odd_convolutions_are_those_of_torch_for_each_model():
    down, up = drawn(OddConvolution(2, 3, 5, 7)), drawn(OddUpconvolution(2, 5, 3, 7, (9, 12)))
    x, small = pictures(2, 4, 9, 12, 3), pictures(2, 4, 5, 6, 5)
    for m in range(2):
        expected = conv2d(x[m].movedim(-1, 1), down.weight[m], down.bias[m], stride=2, padding=3)
        torch.testing.assert_close(down(x)[m], expected.movedim(1, -1), rtol=1e-4, atol=1e-4)
        doubled = conv_transpose2d(
            small[m].movedim(-1, 1), up.weight[m], up.bias[m], stride=2, padding=3, output_padding=(0, 1)
        )
        torch.testing.assert_close(up(small)[m], doubled.movedim(1, -1), rtol=1e-4, atol=1e-4)


def test_narrow_convolutions_are_those_of_torch_for_each_model():
    layer = drawn(NarrowConvolution(2, 3, 5))
    x = pictures(2, 4, 6, 8, 3)
    kernels = layer.weight.reshape(2, 2, 2, 3, 5).permute(0, 4, 3, 1, 2)
    for m in range(2):
        expected = conv2d(x[m].movedim(-1, 1), kernels[m], layer.bias[m, 0], stride=2)
        torch.testing.assert_close(layer(x)[m], expected.movedim(1, -1), rtol=1e-5, atol=1e-5)


def test_encoders_have_as_many_parameters_as_the_paper_and_the_library():
    shape, sizes = (1, 64, 64), {"n_codes": 10, "width": 32}
    for name, n_parameters in (("paper", 382_932), ("library", 309_204)):
        vae = EnsembleVAE(settings(shape=shape, encoder=name, **sizes))
        assert sum(one[0].numel() for one in vae.encoder.parameters()) == n_parameters
        assert sum(one[0].numel() for one in vae.decoder.parameters()) == 381_313
        assert vae.encode(torch.rand(2, 3, *shape)).mean.shape == (2, 3, 10)
    with pytest.raises(ValueError, match="encoder 'library' is for network 'conv'"):
        settings(encoder="library", network="mlp")


@pytest.mark.parametrize("shape", [(3, 28, 28), (1, 9, 12)])
def test_given_convolutions_make_up_the_network(shape):
    convolutions = ((16, 7), (16, 5), (32, 3), (32, 3))
    vae = EnsembleVAE(settings(shape=shape, n_codes=3, width=2, convolutions=convolutions))
    kernels = [tuple(layer.weight.shape[1:]) for layer in vae.encoder.convolutions]
    assert kernels == [(16, shape[0], 7, 7), (16, 16, 5, 5), (32, 16, 3, 3), (32, 32, 3, 3)]
    posterior = vae.encode(torch.rand(2, 5, *shape))
    assert vae.decode(posterior.mean).event_shape == shape
    assert all(layer.weight.abs().max() > 0 for layer in (*vae.encoder.convolutions, *vae.decoder.upconvolutions))
    loose = torch.func.jvp(lambda z: vae.decode(z).mean, (posterior.mean,), (posterior.mean,))[1]
    assert loose.isfinite().all()


def test_kernels_of_even_sides_are_refused():
    with pytest.raises(ValueError, match="kernels of convolutions must have odd sides, got 4"):
        settings(convolutions=((16, 4),))
