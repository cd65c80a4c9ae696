import math

import pytest
import torch
from torch.distributions import Bernoulli, Independent, Normal

from unbraid.models.objectives import (
    annealed_vae_loss,
    beta_tcvae_loss,
    capacity_at,
    dip_vae_loss,
    factor_prior,
    factor_vae_loss,
    total_correlation,
    vae_loss,
)


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


def two_pixels():
    """Return two pictures of one pixel each, their likelihood, and posteriors of two codes with a standard prior."""
    x = torch.tensor([[1.0], [0.0]])
    likelihood = Independent(Bernoulli(probs=torch.full((2, 1), 0.5), validate_args=False), 1)
    posterior = gaussian([[1.0, 2.0], [3.0, -2.0]], [[1.0, 0.5], [1.0, 0.5]])
    return x, posterior, likelihood, gaussian([[0.0, 0.0]] * 2, [[1.0, 1.0]] * 2)


def test_strengths_are_those_of_each_model():
    batch = two_pixels()
    pair = [
        torch.stack([batch[0]] * 2),
        *(part.expand(torch.Size([2, 2])) for part in batch[1:]),
    ]
    both = vae_loss(*pair, beta=torch.tensor([1.0, 4.0])).total.tolist()
    assert both == pytest.approx([vae_loss(*batch, beta=beta).total.item() for beta in (1.0, 4.0)], rel=1e-6)


def test_annealed_loss_is_the_distance_from_the_capacity():
    batch = two_pixels()
    rate = vae_loss(*batch).rate.item()
    for capacity in (rate - 2, rate + 3):
        loss = annealed_vae_loss(*batch, gamma=10.0, capacity=capacity)
        assert loss.total.item() == pytest.approx(math.log(2) + 10 * abs(rate - capacity), rel=1e-6)


def test_beta_one_and_no_penalty_are_the_vae():
    batch = two_pixels()
    z = batch[1].mean
    expected = vae_loss(*batch).total.item()
    others = [
        beta_tcvae_loss(*batch, z=z, n_rows=9, beta=1.0),
        factor_vae_loss(*batch, log_ratio=torch.tensor([5.0, 1.0]), gamma=0.0),
        dip_vae_loss(*batch, off_diagonal=0.0, diagonal=0.0, of_means=True),
        annealed_vae_loss(*batch, gamma=1.0, capacity=0.0),
    ]
    assert [loss.total.item() for loss in others] == pytest.approx([expected] * 4, rel=1e-6)


def test_penalties_enter_with_their_weights():
    batch = two_pixels()
    plain = vae_loss(*batch).total.item()
    factor = factor_vae_loss(*batch, log_ratio=torch.tensor([5.0, 1.0]), gamma=7.0).total.item()
    assert factor == pytest.approx(plain + 7 * 3, rel=1e-6)
    # Means (1, 2) and (3, -2): variances 1 and 4, covariance -2, counted twice; posterior variances 1 and 1/4.
    first = dip_vae_loss(*batch, off_diagonal=10.0, diagonal=100.0, of_means=True).total.item()
    assert first == pytest.approx(plain + 10 * 8 + 100 * (0 + 9), rel=1e-6)
    second = dip_vae_loss(*batch, off_diagonal=10.0, diagonal=100.0, of_means=False).total.item()
    assert second == pytest.approx(plain + 10 * 8 + 100 * (1 + 3.25**2), rel=1e-6)
    z = batch[1].mean
    tc = total_correlation(z, batch[1], n_rows=50).item()
    assert beta_tcvae_loss(*batch, z=z, n_rows=50, beta=4.0).total.item() == pytest.approx(plain + 3 * tc, rel=1e-6)


def test_capacity_of_each_model_grows_along_a_line_and_stays():
    highest = torch.tensor([5.0, 50.0])
    assert capacity_at(torch.tensor(30), highest=highest, n_steps=100).tolist() == pytest.approx([1.5, 15.0])
    assert capacity_at(torch.tensor(1000), highest=highest, n_steps=100).tolist() == [5.0, 50.0]
