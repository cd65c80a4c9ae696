"""How far codes are from independent: the terms that objectives punish, batched over leading axes."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.distributions import Distribution, Normal
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
    """Reorder each code over the batch on its own, so that the codes of a row no longer belong together.

    Args:
        z: Codes, ``(..., n, n_codes)``.
        keys: Random numbers of the same shape; the order of each column is that of its keys.
    """
    return z.gather(-2, keys.argsort(dim=-2))


def discriminator_loss(together: Tensor, shuffled: Tensor) -> Tensor:
    r"""Cross-entropy of telling codes from codes shuffled by :func:`shuffle_codes`, both counted alike.

    At its minimum the discriminator gives :math:`\log q(z) - \log \prod_j q(z_j)`, whose mean over codes is their total
    correlation.

    Args:
        together: What the discriminator says of codes, a log-ratio of chances, ``(..., n)``.
        shuffled: What it says of shuffled codes.
    """
    return (softplus(-together).mean(dim=-1) + softplus(shuffled).mean(dim=-1)) / 2


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
