"""Jacobians of decoders of every kind, and what is said of decoders that cannot be differentiated."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from helpers.decoders import DOUBLE, network
from unbraid.evidence.jacobians import autodiff as _autodiff
from unbraid.evidence.jacobians.priors import Latents, draw_latents
from unbraid.evidence.jacobians.sources import all_jacobians, decoder_jacobians, gram_matrices, precomputed

Z = np.random.default_rng(0).standard_normal((7, 3))
LATENTS = Latents(z=Z)
WEIGHT = torch.as_tensor(np.random.default_rng(1).standard_normal((5, 3)))


def smooth(z):
    return torch.sin(z @ WEIGHT.T)


def in_place(z):
    z *= 2
    out = torch.empty(len(z), 5, dtype=z.dtype)
    for k in range(5):
        out[:, k] = (z @ WEIGHT[k] / 2).sin_()
    return out


def branching(z):
    rows = [torch.sin(row @ WEIGHT.T) if row.sum().item() > 0 else torch.sin(WEIGHT @ row) for row in z]
    return torch.stack(rows)


class Custom(torch.autograd.Function):
    """An operation that can only be differentiated backwards."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()


class OneByOne(torch.autograd.Function):
    """An operation that has no rule for several directions at once."""

    @staticmethod
    def forward(ctx, x):
        ctx.slope = x.cos()
        return x.sin()

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.slope


def one_by_one(z):
    return OneByOne.apply(z @ WEIGHT.T)


def source(decoder, **options):
    return decoder_jacobians(decoder, LATENTS, **{"dtype": "float64"} | options)


def truth():
    z = torch.as_tensor(Z)
    return (torch.cos(z @ WEIGHT.T)[:, :, None] * WEIGHT).numpy()


@pytest.mark.parametrize("decoder", [smooth, in_place, branching, lambda z: smooth(z).reshape(-1, 5, 1)])
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("memory", [100, "1GiB"])
def test_columns_are_derivatives_by_a_latent(decoder, mode, memory):
    found = source(decoder, mode=mode, memory=memory)
    assert all_jacobians(found) == pytest.approx(truth(), abs=1e-12)
    grams = np.concatenate(list(gram_matrices(found)))
    assert grams == pytest.approx(truth().transpose(0, 2, 1) @ truth(), abs=1e-12)


def test_what_only_goes_backwards_is_differentiated_backwards():
    decoder = lambda z: Custom.apply(z @ WEIGHT.T)  # noqa: E731
    found = source(decoder)
    assert found.decoder.mode == "reverse"
    assert all_jacobians(found) == pytest.approx(truth(), abs=1e-12)
    assert source(smooth).decoder.mode == "forward"


def test_what_fails_backwards_says_so():
    def spoilt(z):
        out = z @ WEIGHT.T
        wave = torch.sin(out)
        out += 1.0
        return wave

    with pytest.raises(ValueError, match=r"in reverse mode, but it failed: RuntimeError: .* Try mode='forward'"):
        source(spoilt, mode="reverse")
    assert all_jacobians(source(spoilt)) == pytest.approx(truth(), abs=1e-12)
    with pytest.raises(ValueError, match=r"in forward mode, but it failed: NotImplementedError: .* Try mode='reverse'"):
        source(lambda z: Custom.apply(z @ WEIGHT.T), mode="forward")


def test_directions_share_values_where_torch_can():
    assert source(smooth).decoder.shares_values
    assert source(branching).decoder.shares_values
    assert source(in_place).decoder.shares_values
    assert not source(one_by_one).decoder.shares_values
    assert all_jacobians(source(one_by_one)) == pytest.approx(truth(), abs=1e-12)
    assert all_jacobians(source(one_by_one, memory=100)) == pytest.approx(truth(), abs=1e-12)
    assert not source(smooth, mode="reverse").decoder.shares_values


def test_batch_norm_in_evaluation_mode_is_fine():
    decoder = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Tanh()).eval()
    assert np.concatenate(list(gram_matrices(decoder_jacobians(decoder, LATENTS)))).shape == (7, 3, 3)


def test_no_grad_inside_is_fine_forward():
    assert all_jacobians(source(torch.no_grad()(smooth))) == pytest.approx(truth(), abs=1e-12)


def test_chunks_keep_to_the_budget():
    passes = []

    def watched(z):
        passes.append(len(z))
        return one_by_one(z).sin()

    found = source(watched, memory=30_000)
    list(found.chunks())
    itemsize, data_dim, latent_dim = 8, 5, 3
    assert found.decoder.row_bytes == 8 * itemsize * data_dim  # nothing that is kept is larger than the output
    assert found.chunk_size * itemsize * data_dim * latent_dim <= 15_000
    assert 20 < max(passes) <= 15_000 / found.decoder.row_bytes
    assert source(smooth, memory=1).chunk_size == 1


def test_precomputed_ones_come_back_in_chunks():
    jacobians = np.random.default_rng(0).standard_normal((6, 4, 2))
    found = precomputed(jacobians, memory=1000)
    assert found.chunk_size < 6
    assert all_jacobians(found) == pytest.approx(jacobians)
    assert np.concatenate(list(gram_matrices(found))) == pytest.approx(jacobians.transpose(0, 2, 1) @ jacobians)


class Pair(nn.Module):
    def forward(self, z):
        return z, z


BAD = {
    "a tuple": (
        Pair(),
        TypeError,
        r"must return one tensor, got a tuple of 2; wrap it, .*decoder\(z\)\[0\]",
    ),
    "a distribution": (lambda z: torch.distributions.Normal(z, 1.0), TypeError, "got Normal; wrap it, .*mean"),
    "not callable": ("decoder", TypeError, "must be a torch module or function from latents to data, got 'decoder'"),
    "integers": (lambda z: z.long(), TypeError, "must return real floating-point numbers, got torch.int64"),
    "training mode": (
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double(),
        ValueError,
        r"has BatchNorm1d '1' in training mode, which mixes the samples of a batch; call decoder.eval\(\) first",
    ),
    "dropout": (
        nn.Sequential(nn.Linear(3, 50), nn.Dropout()).double(),
        ValueError,
        r"must give the same output for the same latents, but two calls differ; call decoder.eval\(\)",
    ),
    "mixed rows": (
        lambda z: smooth(z) - smooth(z).mean(dim=0),
        ValueError,
        r"must treat the samples of a batch apart, but changing one changes another; call decoder.eval\(\)",
    ),
    "detached": (lambda z: smooth(z).detach(), ValueError, r"must be differentiable, .* remove detach\(\), .data"),
    "numpy": (lambda z: torch.sin(torch.as_tensor(z.numpy())), ValueError, "must be differentiable"),
    "inference mode": (torch.inference_mode()(smooth), ValueError, r"remove .*torch.inference_mode\(\)"),
    "constant": (lambda z: torch.ones(len(z), 5, dtype=DOUBLE), ValueError, "must be differentiable"),
    "nan": (lambda z: smooth(z) * float("nan"), ValueError, "outputs must be finite, got NaN or inf for 3 of 3"),
    "nan slope": (
        lambda z: torch.cat([z, (z * 0).abs().sqrt()], dim=1),
        ValueError,
        "derivatives must be finite, got NaN or inf for 7 of 7 latents; look at its output",
    ),
    "one row": (lambda z: WEIGHT @ z, ValueError, r"must accept batches: .* gave an output of shape \(5, 3\)"),
    "no batch": (
        lambda z: (z.sum(dim=0) @ WEIGHT.T).sin(),
        ValueError,
        r"latents of shape \(3, 3\) gave an output of shape \(5,\), which does not start with 3; .* torch.vmap",
    ),
    "wrong shape": (
        nn.Conv2d(3, 4, 3).double(),
        ValueError,
        r"must accept a batch of latents of shape \(3, 3\), but it failed: RuntimeError: .* Wrap it, for example",
    ),
    "too few outputs": (
        lambda z: z[:, :2],
        ValueError,
        "latent_dim must be at most the size of an output, got 3 latents and 2 outputs: the Jacobian is rank-deficient",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_decoder_gets_a_sentence_with_the_cure(name):
    decoder, kind, message = BAD[name]
    with pytest.raises(kind, match=message) as raised:
        list(source(decoder).chunks())
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith(".")


def test_reverse_mode_says_the_same_of_detached_outputs():
    for decoder in (lambda z: smooth(z).detach(), torch.no_grad()(smooth)):
        with pytest.raises(ValueError, match=r"must be differentiable, .* or torch.no_grad\(\)"):
            source(decoder, mode="reverse")
    with pytest.raises(ValueError, match="must treat the samples of a batch apart"):
        source(lambda z: smooth(z) - smooth(z).mean(dim=0), mode="reverse")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "backward"}, "mode must be one of auto, forward, reverse, got 'backward'"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64, got 'float16'"),
        ({"device": "gpu"}, "device must be one that torch knows, such as cpu or cuda, got 'gpu'"),
        ({"memory": "lots"}, "memory must be a size such as '2GiB' or a number of bytes, got 'lots'"),
        ({"memory": 0}, "memory must be a size"),
        ({"memory": "1.2.3GiB"}, "memory must be a size"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        source(smooth, **options)


def test_no_gpu_gets_a_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device 'cuda' is not there: torch sees no CUDA card; give device='cpu'"):
        source(smooth, device="cuda")


def test_half_precision_module_asks_for_a_type():
    with pytest.raises(ValueError, match=r"but the decoder's is torch.bfloat16; give dtype='float32'"):
        decoder_jacobians(nn.Linear(3, 4).bfloat16(), LATENTS)


@pytest.mark.parametrize(
    ("jacobians", "message"),
    [
        (np.ones((4, 3)), r"must have shape \(n_samples, data, latent\) and two samples or more, got \(4, 3\)"),
        (np.ones((1, 3, 2)), r"got \(1, 3, 2\)"),
        (np.ones((4, 2, 3)), "got 3 latents and 2 outputs: the Jacobian is rank-deficient"),
        (np.full((4, 3, 2), np.nan), "jacobians must be finite"),
    ],
)
def test_bad_jacobians(jacobians, message):
    with pytest.raises(ValueError, match=message):
        precomputed(jacobians)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 10, None), "latent_dim must be given"),
        ((None, 1, 3), "n_samples must be at least 2, got 1"),
        ((None, 10, 0), "latent_dim must be at least 1, got 0"),
        (("uniform", 10, 3), "prior must be 'normal', samples or a GaussianMixture, got 'uniform'"),
        ((np.ones((5, 2)), 10, 3), "prior must have 3 columns, one for each latent, got 2"),
        ((np.ones((1, 3)), 10, 3), "the number of rows of prior must be at least 2, got 1"),
        ((np.ones(3), 10, 3), r"prior must be a matrix with one column for each latent, got shape \(3,\)"),
        (([[np.nan, 1.0], [1.0, 1.0]], 10, 2), "prior must be finite"),
    ],
)
def test_bad_priors(arguments, message):
    with pytest.raises(ValueError, match=message):
        draw_latents(*arguments, np.random.default_rng(0))


def test_device_and_type_of_a_module_are_kept():
    found = decoder_jacobians(network().float(), Latents(z=np.zeros((3, 4))))
    assert found.decoder.dtype == torch.float32
    assert next(iter(found.chunks())).jacobian.dtype == np.float32


@pytest.mark.parametrize("category", [DeprecationWarning, FutureWarning])
def test_a_warning_of_torch_about_itself_is_kept_quiet_and_no_other(monkeypatch, category):
    def loads_rules(text):
        def make_dual(tensor, tangent):
            warnings.warn(text, category, stacklevel=1)

        monkeypatch.setattr(_autodiff.forward_ad, "make_dual", make_dual)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loads_rules("`torch.jit.script` is deprecated. Please switch to `torch.compile` or `torch.export`.")
        _autodiff._start_forward_mode()
        loads_rules("something else is deprecated")
        with pytest.raises(category, match="something else"):
            _autodiff._start_forward_mode()
