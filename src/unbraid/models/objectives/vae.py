"""VAE losses and independence penalties, without labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal, kl_divergence
from torch.nn.functional import softplus


def total_correlation(z: Tensor, posterior: Distribution, *, n_rows: int) -> Tensor:
    r"""Estimate :math:`\mathrm{KL}(q(z) \,\|\, \prod_j q(z_j))` from one batch by minibatch weighted sampling.

    Both densities come from the posteriors of the batch, :math:`\log q(z_i) \approx \log \frac{1}{nm} \sum_{j=1}^{m}
    q(z_i \mid x_j)`. The weights make the estimate of each log-density a lower bound, and raise that of the total
    correlation by :math:`(L - 1) \log n`, which no gradient sees; ``n_rows=1`` takes the plain average over the batch,
    which is exact when the batch is the whole data set.

    Args:
        z: Codes drawn from the posterior, ``(..., m, n_codes)``.
        posterior: The Gaussians they were drawn from.
        n_rows: :math:`n`, size of the whole data set.

    Returns:
        In nats, without the last two axes of ``z``.

    References:
        Chen et al. (2018), Isolating Sources of Disentanglement in VAEs, sec. 3.1 and app. C.1.
        https://arxiv.org/abs/1802.04942
    """
    mean, deviation = posterior.mean.unsqueeze(-3), posterior.stddev.unsqueeze(-3)
    pairs = Normal(mean, deviation, validate_args=False).log_prob(z.unsqueeze(-2))  # type: ignore[no-untyped-call]
    log_weight = math.log(n_rows * z.shape[-2])
    joint = pairs.sum(dim=-1).logsumexp(dim=-1) - log_weight
    each = pairs.logsumexp(dim=-2) - log_weight
    found: Tensor = (joint - each.sum(dim=-1)).mean(dim=-1)
    return found


def shuffle_codes(z: Tensor, keys: Tensor) -> Tensor:
    """Reorder each code over the batch on its own, which makes the codes of a row independent.

    Args:
        z: Codes, ``(..., n, n_codes)``.
        keys: Random numbers of the same shape; the order of each column is that of its keys.
    """
    return z.gather(-2, keys.argsort(dim=-2))


def discriminator_loss(joint: Tensor, shuffled: Tensor) -> Tensor:
    r"""Cross-entropy of classifying codes against codes shuffled by :func:`shuffle_codes`, both classes weighted alike.

    At its minimum the discriminator gives :math:`\log q(z) - \log \prod_j q(z_j)`, whose mean over codes is their total
    correlation.

    Args:
        joint: Logits of the discriminator for codes, ``(..., n)``.
        shuffled: Its logits for shuffled codes.
    """
    return (softplus(-joint).mean(dim=-1) + softplus(shuffled).mean(dim=-1)) / 2


def covariance_penalty(posterior: Distribution, *, of_means: bool) -> tuple[Tensor, Tensor]:
    """Return how far a covariance is from the identity: summed squares off its diagonal, and of the diagonal minus 1.

    Args:
        posterior: Of a batch, ``(..., n)`` Gaussians.
        of_means: Take the covariance of the posterior means, and not that of the codes.
    """
    means = posterior.mean
    centred = means - means.mean(dim=-2, keepdim=True)
    covariance = centred.mT @ centred / means.shape[-2]
    variances = torch.diagonal(covariance, dim1=-2, dim2=-1)
    off = covariance.square().sum(dim=(-2, -1)) - variances.square().sum(dim=-1)
    if not of_means:
        variances = variances + posterior.variance.mean(dim=-2)
    return off, (variances - 1).square().sum(dim=-1)


#: A number, or one for each model of an ensemble.
Hyperparameter = float | Tensor


class Loss(NamedTuple):
    """The loss to minimise and the two terms that every VAE has, each averaged over the batch.

    Attributes:
        total: The objective: distortion, rate and penalties with their weights.
        distortion: Minus the log-likelihood of the pictures given their codes, in nats.
        rate: Kullback-Leibler divergence of the posterior from the prior, in nats.
    """

    total: Tensor
    distortion: Tensor
    rate: Tensor


def vae_loss(
    x: Tensor, posterior: Distribution, likelihood: Distribution, prior: Distribution, *, beta: Hyperparameter = 1.0
) -> Loss:
    r""":math:`-\log p(x \mid z) + \beta\,\mathrm{KL}(q(z \mid x) \,\|\, p(z))`, averaged over the batch.

    With :math:`\beta = 1` this is the VAE of Kingma & Welling (2014), otherwise the β-VAE of Higgins et al. (2017).
    With a prior that depends on the factors, :func:`factor_prior`, this is the loss of Almudévar et al. (2024),
    app. D: the divergence then also pulls the codes of each picture to the prior means of its factors.
    """
    distortion = -likelihood.log_prob(x).mean(dim=-1)
    rate = kl_divergence(posterior, prior).mean(dim=-1)
    return Loss(distortion + beta * rate, distortion, rate)


def annealed_vae_loss(
    x: Tensor,
    posterior: Distribution,
    likelihood: Distribution,
    prior: Distribution,
    *,
    gamma: Hyperparameter,
    capacity: Hyperparameter,
) -> Loss:
    r""":math:`-\log p(x \mid z) + \gamma\,|\mathrm{KL} - C|`: the rate is held at ``capacity`` nats, which grows.

    The distance is that of the batch's mean rate, as in the published library; as printed (Burgess et al. 2018, eq. 8)
    one could also read it picture by picture. See :func:`capacity_at` for :math:`C`.
    """
    _, distortion, rate = vae_loss(x, posterior, likelihood, prior)
    return Loss(distortion + gamma * (rate - capacity).abs(), distortion, rate)


def capacity_at(step: Hyperparameter, *, highest: Hyperparameter, n_steps: Hyperparameter) -> Tensor:
    """Return the capacity after ``step`` steps, in nats: up a straight line to ``highest`` in ``n_steps``, then level.

    Example:
        >>> [float(capacity_at(step, highest=20.0, n_steps=100)) for step in (0, 25, 100, 500)]
        [0.0, 5.0, 20.0, 20.0]
    """
    return highest * (torch.as_tensor(step) / n_steps).clamp(max=1.0)


def factor_vae_loss(
    x: Tensor,
    posterior: Distribution,
    likelihood: Distribution,
    prior: Distribution,
    *,
    log_ratio: Tensor,
    gamma: Hyperparameter,
) -> Loss:
    r""":math:`-\log p(x \mid z) + \mathrm{KL} + \gamma\,\mathrm{TC}(z)`, the last estimated by a discriminator.

    Args:
        x: Data.
        posterior: :math:`q(z \mid x)`.
        likelihood: :math:`p(x \mid z)` at drawn codes.
        prior: :math:`p(z)`.
        log_ratio: Output of the discriminator for those codes, :math:`\log q(z) - \log \prod_j q(z_j)`, ``(..., n)``;
            its mean is the total correlation.
        gamma: Weight of the total correlation.

    References:
        Kim & Mnih (2018), Disentangling by Factorising, eq. 2 and 3. https://arxiv.org/abs/1802.05983
    """
    plain, distortion, rate = vae_loss(x, posterior, likelihood, prior)
    return Loss(plain + gamma * log_ratio.mean(dim=-1), distortion, rate)


def beta_tcvae_loss(
    x: Tensor,
    posterior: Distribution,
    likelihood: Distribution,
    prior: Distribution,
    *,
    z: Tensor,
    n_rows: int,
    beta: Hyperparameter,
) -> Loss:
    r""":math:`-\log p(x \mid z) + \mathrm{KL} + (\beta - 1)\,\mathrm{TC}(z)`, the last by minibatch weighted sampling.

    Args:
        x: Data.
        posterior: :math:`q(z \mid x)`.
        likelihood: :math:`p(x \mid z)` at ``z``.
        prior: :math:`p(z)`.
        z: The codes drawn from the posterior, ``(..., n, n_codes)``.
        n_rows: Size of the whole data set.
        beta: Weight of the total correlation inside the divergence; 1 is the VAE.

    References:
        Chen et al. (2018), Isolating Sources of Disentanglement in VAEs, eq. 4 with α = γ = 1.
        https://arxiv.org/abs/1802.04942
    """
    plain, distortion, rate = vae_loss(x, posterior, likelihood, prior)
    return Loss(plain + (beta - 1) * total_correlation(z, posterior, n_rows=n_rows), distortion, rate)


def dip_vae_loss(
    x: Tensor,
    posterior: Distribution,
    likelihood: Distribution,
    prior: Distribution,
    *,
    off_diagonal: Hyperparameter,
    diagonal: Hyperparameter,
    of_means: bool,
) -> Loss:
    r""":math:`-\log p(x \mid z) + \mathrm{KL} + \lambda_{od} \sum_{i \ne j} C_{ij}^2 + \lambda_d \sum_i (C_{ii}-1)^2`.

    :math:`C` is the covariance of the posterior means where ``of_means`` holds (DIP-VAE-I), and otherwise that of the
    codes, which adds the mean posterior variance to its diagonal (DIP-VAE-II).

    References:
        Kumar et al. (2018), Variational Inference of Disentangled Latent Concepts from Unlabeled Observations, eq. 6
        and 7. https://arxiv.org/abs/1711.00848
    """
    plain, distortion, rate = vae_loss(x, posterior, likelihood, prior)
    off, on = covariance_penalty(posterior, of_means=of_means)
    return Loss(plain + off_diagonal * off + diagonal * on, distortion, rate)


def factor_prior(factors: Tensor, places: Sequence[Sequence[float]], n_codes: int) -> Distribution:
    r"""Build a prior whose first codes depend on the factors, one each: :math:`p(z \mid y) = \mathcal{N}(\mu(y), I)`.

    Args:
        factors: Values of the factors, counted from 0, ``(..., n, n_factors)``.
        places: For each factor, the mean of its code for each of its values.
        n_codes: Dimensions of :math:`z`; those beyond the factors have mean 0.

    Returns:
        Gaussians of unit variance, one for each row.
    """
    mean = torch.zeros(*factors.shape[:-1], n_codes, device=factors.device)
    for k, values in enumerate(places):
        mean[..., k] = torch.tensor(values, device=factors.device)[factors[..., k]]
    return Independent(Normal(mean, torch.ones_like(mean), validate_args=False), 1, validate_args=False)
