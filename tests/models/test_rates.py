import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from helpers.dots import Dots
from unbraid.models import code_rates, encode_all, train
from unbraid.models.encoding import gaussian_rate


@pytest.fixture(scope="module")
def models():
    return train("vae", Dots(), seeds=[0, 1], n_steps=30, n_codes=3, width=4, batch_size=16, learning_rate=3e-3)


def with_fixed_posterior(models, mean, log_deviation):
    """Make both encoders say the same of every picture."""
    last = models.network.encoder.last
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([*mean, *log_deviation]).expand_as(last.bias))
    return models


def test_rates_of_known_posteriors():
    models = train("vae", Dots(), seeds=[0, 1], n_steps=1, n_codes=3, width=4)
    with_fixed_posterior(models, (0.0, 2.0, 0.0), (0.0, 0.0, np.log(0.5)))
    expected = [0.0, 2.0, (0.25 - 1) / 2 + np.log(2)]
    np.testing.assert_allclose(code_rates(models, Dots()), [expected] * 2, atol=1e-6)


def test_rates_are_torchs_divergences_of_the_rows_that_encode_draws(models, monkeypatch):
    monkeypatch.setattr("unbraid.models.encoding.CHUNK", 7)  # more than one part
    rep = encode_all(models, Dots(), n=20, seed=3)[0]
    rows = [7 * int(row) + int(column) for row, column in zip(*(f.numbers for f in rep.factors), strict=True)]
    x = torch.as_tensor(Dots().observations(np.array(rows)))
    with torch.no_grad():
        posterior = models.network.encode(x.expand(2, *x.shape))
    expected = kl_divergence(Normal(posterior.mean, posterior.stddev), Normal(0.0, 1.0)).mean(dim=1)
    found = code_rates(models, Dots(), n=20, seed=3)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert not np.allclose(found, code_rates(models, Dots(), n=20, seed=4), rtol=1e-5)


def test_rate_of_the_prior_is_zero_and_its_least():
    mean, deviation = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(0.5, 1.5, 5))
    rates = gaussian_rate(mean, deviation)
    assert rates[2, 2] == 0
    assert (np.delete(rates.ravel(), 12) > 0).all()


def test_too_many_rows(models):
    with pytest.raises(ValueError, match="n must be at most 49"):
        code_rates(models, Dots(), n=50)
