"""What VAEs are trained for, as functions of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal, kl_divergence


class Loss(NamedTuple):
    """A loss to go down, and the two parts it is made of, each averaged over the batch.

    Attributes:
        total: What is minimised.
        distortion: Minus the log-likelihood of the pictures given their codes, in nats.
        rate: Kullback-Leibler divergence of the posterior from the prior, in nats.
    """

    total: Tensor
    distortion: Tensor
    rate: Tensor


def vae_loss(
    x: Tensor, posterior: Distribution, likelihood: Distribution, prior: Distribution, *, beta: float = 1.0
) -> Loss:
    r""":math:`-\log p(x \mid z) + \beta\,\mathrm{KL}(q(z \mid x) \,\|\, p(z))`, averaged over the batch.

    With a prior that depends on the factors, :func:`factor_prior`, this is the loss of Almudévar et al. (2024),
    app. D: the divergence then also pulls each picture's codes to where its factors say.
    """
    distortion = -likelihood.log_prob(x).mean()
    rate = kl_divergence(posterior, prior).mean()
    return Loss(distortion + beta * rate, distortion, rate)


def factor_prior(factors: Tensor, places: Sequence[Sequence[float]], n_codes: int) -> Distribution:
    r"""Build a prior whose first codes depend on the factors, one each: :math:`p(z \mid y) = \mathcal{N}(\mu(y), I)`.

    Args:
        factors: Values of the factors, counted from 0, ``(n, n_factors)``.
        places: For each factor, the mean of its code for each of its values.
        n_codes: Dimensions of :math:`z`; those beyond the factors have mean 0.

    Returns:
        Gaussians of unit variance, one for each row.
    """
    mean = torch.zeros(len(factors), n_codes, device=factors.device)
    for k, values in enumerate(places):
        mean[:, k] = torch.tensor(values, device=factors.device)[factors[:, k]]
    return Independent(Normal(mean, torch.ones_like(mean)), 1)
