import math

import pytest
import torch
from torch.distributions import Bernoulli, Independent, Normal

from unbraid.models.objectives import factor_prior, vae_loss


def gaussian(mean, scale):
    return Independent(Normal(torch.tensor(mean), torch.tensor(scale)), 1)


def test_loss_is_what_a_hand_computes():
    # One picture of two pixels, 1 and 0.25, both lit with chance 3/4; one code, N(1, 2²) against a prior N(3, 1).
    x = torch.tensor([[1.0, 0.25]])
    likelihood = Independent(Bernoulli(probs=torch.full((1, 2), 0.75), validate_args=False), 1)
    distortion = -math.log(0.75) - (0.25 * math.log(0.75) + 0.75 * math.log(0.25))
    rate = -math.log(2) + (4 + (1 - 3) ** 2) / 2 - 0.5
    loss = vae_loss(x, gaussian([[1.0]], [[2.0]]), likelihood, gaussian([[3.0]], [[1.0]]), beta=0.5)
    assert loss.distortion.item() == pytest.approx(distortion, rel=1e-6)
    assert loss.rate.item() == pytest.approx(rate, rel=1e-6)
    assert loss.total.item() == pytest.approx(distortion + 0.5 * rate, rel=1e-6)


def test_parts_are_sums_over_pixels_and_codes_and_means_over_pictures():
    x = torch.zeros(2, 3, 4, 4)
    likelihood = Independent(Bernoulli(probs=torch.full((2, 3, 4, 4), 0.5), validate_args=False), 3)
    posterior = gaussian([[1.0, 2.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    loss = vae_loss(x, posterior, likelihood, gaussian([[0.0, 0.0]] * 2, [[1.0, 1.0]] * 2))
    assert loss.distortion.item() == pytest.approx(48 * math.log(2), rel=1e-6)
    assert loss.rate.item() == pytest.approx((0.5 + 2.0) / 2, rel=1e-6)


def test_prior_has_each_factor_in_its_code_and_nothing_in_the_others():
    factors = torch.tensor([[0, 1], [2, 0]])
    prior = factor_prior(factors, [(-10.0, 0.0, 10.0), (-2.0, 2.0)], 4)
    assert prior.mean.tolist() == [[-10.0, 2.0, 0.0, 0.0], [10.0, -2.0, 0.0, 0.0]]
    assert torch.equal(prior.stddev, torch.ones(2, 4))
    assert prior.log_prob(prior.mean).tolist() == pytest.approx([-2 * math.log(2 * math.pi)] * 2, rel=1e-6)


def test_divergence_from_the_prior_is_half_the_squared_distance_at_unit_variance():
    places = [(-10.0, -10 / 3, 10 / 3, 10.0)]
    posterior = gaussian([[-10.0, 0.0]], [[1.0, 1.0]])
    x, likelihood = torch.zeros(1, 1), Independent(Bernoulli(probs=torch.full((1, 1), 0.5)), 1)
    rates = [
        vae_loss(x, posterior, likelihood, factor_prior(torch.tensor([[d]]), places, 2)).rate.item() for d in range(4)
    ]
    assert rates == pytest.approx([0, (20 / 3) ** 2 / 2, (40 / 3) ** 2 / 2, 200], rel=1e-6)
