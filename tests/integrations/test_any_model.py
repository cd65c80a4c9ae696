"""Any object with encode or decode."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import unbraid as ub
from helpers.dots import Dots

PICTURES = Dots().observations(np.arange(len(Dots())))


class Plain:
    def encode(self, x):
        return x.reshape(len(x), -1)[:, :3].astype(float) + np.arange(len(x))[:, None]


class Autoencoder(nn.Module):
    def __init__(self, output="tensor"):
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(PICTURES[0].size, 3))
        self.back = nn.Linear(3, 5)
        self.output = output

    def encode(self, x):
        mean = self.encoder(x)
        if self.output == "distribution":
            return torch.distributions.Normal(mean, 1.0)
        return (mean, torch.zeros_like(mean)) if self.output == "pair" else mean

    def decode(self, z):
        return torch.distributions.Normal(self.back(z), 1.0) if self.output == "distribution" else self.back(z)


def test_objects_functions_and_estimators_encode():
    found = ub.encode(Plain(), Dots())
    assert found.factor_names == tuple(Dots().factor_names)
    np.testing.assert_array_equal(found.codes, Plain().encode(PICTURES))
    np.testing.assert_array_equal(ub.encode(Plain().encode, Dots()).codes, found.codes)
    some = ub.encode(lambda x: x.reshape(len(x), -1)[:, :9], Dots(), n=20, seed=1)
    assert some.n_samples == 20


@pytest.mark.parametrize("output", ["tensor", "pair", "distribution"])
def test_torch_modules_encode_in_evaluation_mode_and_are_left_as_they_were(output):
    model = Autoencoder(output).train()
    model.back.eval()
    codes = ub.encode(model, Dots()).codes
    np.testing.assert_array_equal(codes, ub.encode(model, Dots()).codes)
    assert model.training
    assert model.encoder[1].training
    assert not model.back.training
    with torch.no_grad():
        expected = model.eval().encoder(torch.as_tensor(PICTURES, dtype=torch.float32))
    np.testing.assert_allclose(codes, expected.numpy(), rtol=1e-5)


def test_what_cannot_encode_is_refused():
    with pytest.raises(TypeError, match="model must have encode, transform or predict, or be a function, got int"):
        ub.encode(3, Dots())
    with pytest.raises(ValueError, match=r"one row of codes for each of \d+ rows, got an array of \(2,\)"):
        ub.encode(lambda x: np.zeros(2), Dots())
    with pytest.raises(ValueError, match="sample needs a model trained by unbraid"):
        ub.encode(Plain(), Dots(), sample=True)


@pytest.mark.parametrize("output", ["tensor", "distribution"])
def test_decoders_are_found_by_name(output):
    model = Autoencoder(output).eval()
    weight = model.back.weight.detach().double().numpy()
    found = ub.manifold.analyze(model, latent_dim=3, n_samples=4)
    direct = ub.manifold.analyze(model.back, latent_dim=3, n_samples=4)
    assert found.total_entropy == pytest.approx(direct.total_entropy)
    np.testing.assert_allclose(
        np.exp(found.latent_entropy - 0.5 * (1 + np.log(2 * np.pi))), np.linalg.norm(weight, axis=0), rtol=1e-4
    )

    class Holder:
        decoder = model.back

    class Function:
        def decode(self, z):
            return model.back(z)

    for other in (Holder(), Function()):
        assert ub.manifold.analyze(other, latent_dim=3, n_samples=4).total_entropy == pytest.approx(
            direct.total_entropy
        )


@pytest.mark.slow
def test_integrations_are_imported_only_where_asked_for():
    heavy = ("sklearn.linear_model", "torch", "lightning", "mlflow", "wandb", "tensorboard")
    code = f"import sys, unbraid, unbraid.integrations, unbraid.integrations.scores, unbraid.integrations.loggers\n\
import unbraid.integrations.sklearn\nprint([name for name in {heavy[1:]} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
