import math

import pytest
import torch
from torch import nn
from torch.distributions import Independent, Normal

from unbraid.models.objectives import covariance_penalty, discriminator_loss, shuffle_codes, total_correlation

CORRELATION = 0.8
#: Of two Gaussians with that correlation, in nats.
TRUE_TC = -math.log(1 - CORRELATION**2) / 2


def correlated(n, *, seed=0):
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, n, generator=generator, dtype=torch.float64)
    return torch.stack([first, CORRELATION * first + math.sqrt(1 - CORRELATION**2) * second], dim=-1)


def posterior_of(z, deviation):
    """Return posteriors whose mixture has the correlated Gaussians' covariance, and codes drawn from them."""
    means = z * math.sqrt(1 - deviation**2)
    return Independent(Normal(means, torch.full_like(means, deviation)), 1)


def test_two_rows_by_hand():
    # Codes at their means, 2 apart, deviation 1; the other code does not tell the rows apart.
    posterior = Independent(Normal(torch.tensor([[0.0, 0.0], [2.0, 0.0]]), 1.0), 1)
    assert total_correlation(posterior.mean, posterior, n_rows=1).item() == pytest.approx(0, abs=1e-6)
    # With both codes telling: log(1 + e⁻⁴) - log 2 for both, minus twice log(1 + e⁻²) - log 2.
    posterior = Independent(Normal(torch.tensor([[0.0, 0.0], [2.0, 2.0]]), 1.0), 1)
    expected = math.log1p(math.exp(-4)) - 2 * math.log1p(math.exp(-2)) + math.log(2)
    assert total_correlation(posterior.mean, posterior, n_rows=1).item() == pytest.approx(expected, rel=1e-5)


def test_whole_data_give_the_total_correlation_of_gaussians():
    posterior = posterior_of(correlated(2000), 0.3)
    noise = torch.randn(2000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z = posterior.mean + posterior.stddev * noise
    # The noise is independent, so that it takes from the correlation.
    true = -math.log(1 - (CORRELATION * (1 - 0.3**2)) ** 2) / 2
    assert total_correlation(z, posterior, n_rows=1).item() == pytest.approx(true, abs=0.04)


def test_weights_add_a_constant():
    posterior = Independent(Normal(torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(0)), 0.5), 1)
    plain, weighted = (total_correlation(posterior.mean, posterior, n_rows=n) for n in (1, 1000))
    assert plain.shape == (3,)
    torch.testing.assert_close(weighted - plain, torch.full((3,), 4 * math.log(1000)), rtol=1e-5, atol=1e-4)


def test_shuffled_codes_keep_their_values_and_lose_their_rows():
    z = torch.arange(24.0).reshape(2, 6, 2)
    shuffled = shuffle_codes(z, torch.rand(2, 6, 2, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(shuffled.sort(dim=-2).values, z)
    assert not torch.equal(shuffled[..., 1] - shuffled[..., 0], torch.ones(2, 6))
    assert torch.equal(shuffle_codes(z, z), z)


def test_discriminator_loss_by_hand():
    loss = discriminator_loss(torch.tensor([0.0, math.log(3)]), torch.tensor([-math.log(3), 0.0]))
    assert loss.item() == pytest.approx((math.log(2) + math.log(4 / 3)) / 2, rel=1e-6)


@pytest.mark.slow
def test_trained_discriminator_recovers_a_known_total_correlation():
    z = correlated(4000).float()
    generator = torch.Generator().manual_seed(2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        discriminator = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-2)
    for _ in range(300):
        rows = torch.randint(len(z), (512,), generator=generator)
        shuffled = shuffle_codes(z[rows], torch.rand(512, 2, generator=generator))
        loss = discriminator_loss(discriminator(z[rows])[:, 0], discriminator(shuffled)[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert discriminator(correlated(4000, seed=1).float()).mean().item() == pytest.approx(TRUE_TC, abs=0.08)


def test_no_penalty_for_the_identity():
    corners = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    off, on = covariance_penalty(Independent(Normal(corners, 0.5), 1), of_means=True)
    assert (off.item(), on.item()) == (0, 0)
    off, on = covariance_penalty(Independent(Normal(math.sqrt(0.75) * corners, 0.5), 1), of_means=False)
    assert (off.item(), on.item()) == pytest.approx((0, 0), abs=1e-10)
