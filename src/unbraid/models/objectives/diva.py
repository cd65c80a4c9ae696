"""The loss of the domain invariant VAE (DIVA)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal, kl_divergence

from unbraid.models.objectives.labels import UNKNOWN, class_weights, cross_entropy, uniform_divergence
from unbraid.models.objectives.vae import Hyperparameter, Loss


class DivaLoss(NamedTuple):
    """The loss to minimise and its terms, each averaged over the batch, in nats.

    Attributes:
        total: Distortion, β times the three rates, the class rate, and the cross-entropies with their weights.
        distortion: Minus the log-likelihood of the data given their codes.
        rate_d: Divergence of the domain block from the learned prior of the domain.
        rate_y: Divergence of the target block from the learned prior of the class; for a row without a label its
            expectation over predicted classes, from one sample.
        rate_x: Divergence of the remaining block from the standard normal.
        class_rate: For rows without a label, divergence of the predicted classes from even ones.
        domain: Cross-entropy of the domains, as predicted from the domain block.
        target: Cross-entropy of the classes of labelled rows, as predicted from the target block.
    """

    total: Tensor
    distortion: Tensor
    rate_d: Tensor
    rate_y: Tensor
    rate_x: Tensor
    class_rate: Tensor
    domain: Tensor
    target: Tensor

    def in_short(self) -> Loss:
        """Return total, distortion, and the three rates as one."""
        return Loss(self.total, self.distortion, self.rate_d + self.rate_y + self.rate_x)


def diva_loss(
    x: Tensor,
    likelihood: Distribution,
    *,
    posterior_d: Distribution,
    posterior_y: Distribution,
    posterior_x: Distribution,
    prior_d: Distribution,
    priors_y: Distribution,
    z_y: Tensor,
    d: Tensor,
    y: Tensor,
    logits_d: Tensor,
    logits_y: Tensor,
    beta: Hyperparameter,
    alpha_d: Hyperparameter,
    alpha_y: Hyperparameter,
) -> DivaLoss:
    r"""Minus the evidence bound with learned priors of domain and class, plus cross-entropies of both.

    .. math::

        -\log p(x \mid z_d, z_y, z_x) + \beta \bigl[ \mathrm{KL}(q(z_d \mid x) \,\|\, p(z_d \mid d))
        + \mathrm{KL}(q(z_y \mid x) \,\|\, p(z_y \mid y)) + \mathrm{KL}(q(z_x \mid x) \,\|\, p(z_x)) \bigr]
        - \alpha_d \log q(d \mid z_d) - \alpha_y \log q(y \mid z_y)

    A row without a label has the expectation of :math:`\log q(z_y \mid x) - \log p(z_y \mid y)` over :math:`q(y \mid
    z_y)` in place of the second divergence, no last term, and the divergence of :math:`q(y \mid z_y)` from even
    classes, which β does not multiply, as in the authors' code.

    Args:
        x: Data, ``(..., n, *shape)``.
        likelihood: :math:`p(x \mid z_d, z_y, z_x)` at drawn codes.
        posterior_d: :math:`q(z_d \mid x)`.
        posterior_y: :math:`q(z_y \mid x)`.
        posterior_x: :math:`q(z_x \mid x)`.
        prior_d: :math:`p(z_d \mid d)` of each row.
        priors_y: :math:`p(z_y \mid y)` of every class, ``(..., 1, n_classes)`` Gaussians.
        z_y: Drawn codes of the target block, ``(..., n, size)``.
        d: Domains, ``(..., n)``.
        y: Classes, or :data:`~unbraid.models.objectives.labels.UNKNOWN`, ``(..., n)``.
        logits_d: Of :math:`q(d \mid z_d)`.
        logits_y: Of :math:`q(y \mid z_y)`.
        beta: Weight of the rates.
        alpha_d: Weight of the cross-entropy of domains.
        alpha_y: Weight of the cross-entropy of classes.

    References:
        Ilse et al. (2020), DIVA: Domain Invariant Variational Autoencoders, sec. 2. https://arxiv.org/abs/1905.10427
    """
    distortion = -likelihood.log_prob(x).mean(dim=-1)
    rate_d = kl_divergence(posterior_d, prior_d).mean(dim=-1)
    rate_y = _target_rate(posterior_y, priors_y, z_y, y, logits_y).mean(dim=-1)
    rate_x = kl_divergence(posterior_x, standard_normal(posterior_x.mean)).mean(dim=-1)
    class_rate = uniform_divergence(y, logits_y)
    domain, target = cross_entropy(d, logits_d), cross_entropy(y, logits_y)
    total = distortion + beta * (rate_d + rate_y + rate_x) + class_rate + alpha_d * domain + alpha_y * target
    return DivaLoss(total, distortion, rate_d, rate_y, rate_x, class_rate, domain, target)


def _target_rate(posterior: Distribution, priors: Distribution, z: Tensor, y: Tensor, logits: Tensor) -> Tensor:
    """Return the divergence of each row: in closed form from the prior of its label, else expected over classes."""
    base = Normal(posterior.mean.unsqueeze(-2), posterior.stddev.unsqueeze(-2), validate_args=False)
    each: Distribution = Independent(base, 1, validate_args=False)
    exact = kl_divergence(each, priors)
    sampled = each.log_prob(z.unsqueeze(-2)) - priors.log_prob(z.unsqueeze(-2))
    by_class = torch.where((y == UNKNOWN).unsqueeze(-1), sampled, exact)
    return (class_weights(y, logits) * by_class).sum(dim=-1)


def standard_normal(like: Tensor) -> Distribution:
    """Return independent standard normals for each row of codes."""
    base = Normal(torch.zeros_like(like), torch.ones_like(like), validate_args=False)
    return Independent(base, 1, validate_args=False)
