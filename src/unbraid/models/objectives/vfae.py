"""The loss of the variational fair autoencoder (VFAE), and the maximum mean discrepancy of its codes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution, kl_divergence

from unbraid.models.objectives.labels import class_weights, cross_entropy, one_hot, uniform_divergence
from unbraid.models.objectives.vae import Hyperparameter, Loss


class VfaeLoss(NamedTuple):
    """The loss to minimise and its terms, each averaged over the batch, in nats but for the last.

    Attributes:
        total: All terms, the last two with their weights.
        distortion: Minus the log-likelihood of the data given the first layer of codes and the sensitive value.
        rate_1: Mean of log q(z1 | x, s) - log p(z1 | z2, y), from one sample.
        rate_2: Divergence of q(z2 | z1, y) from the standard normal.
        class_rate: For rows without a label, divergence of the predicted classes from even ones.
        target: Cross-entropy of the classes of labelled rows, as predicted from the first layer.
        discrepancy: Maximum mean discrepancy of the first layer between sensitive values, see :func:`discrepancy`.
    """

    total: Tensor
    distortion: Tensor
    rate_1: Tensor
    rate_2: Tensor
    class_rate: Tensor
    target: Tensor
    discrepancy: Tensor

    def in_short(self) -> Loss:
        """Return total, distortion, and the rates of both layers and of the classes as one."""
        return Loss(self.total, self.distortion, self.rate_1 + self.rate_2 + self.class_rate)


def vfae_loss(
    x: Tensor,
    likelihood: Distribution,
    *,
    posterior_1: Distribution,
    posteriors_2: Distribution,
    priors_1: Distribution,
    prior_2: Distribution,
    z_1: Tensor,
    s: Tensor,
    y: Tensor,
    logits_y: Tensor,
    n_sensitive: int,
    alpha: Hyperparameter,
    mmd: Hyperparameter,
) -> VfaeLoss:
    r"""Minus the bounds of labelled and unlabelled rows, plus the cross-entropy of labels and the discrepancy.

    .. math::

        -\log p(x \mid z_1, s) + \mathrm{KL}(q(y \mid z_1) \,\|\, p(y)) + \mathrm{E}_{q(y \mid z_1)} \bigl[
        \mathrm{KL}(q(z_2 \mid z_1, y) \,\|\, p(z_2)) + \log q(z_1 \mid x, s) - \log p(z_1 \mid z_2, y) \bigr]
        - \alpha \log q(y \mid z_1) + \lambda\,\mathrm{MMD}

    A labelled row has its own class in place of the expectation, and no divergence of :math:`q(y \mid z_1)`; a row
    without a label has no cross-entropy. The bound is maximised, so the discrepancy is subtracted from it.

    Args:
        x: Data, ``(..., n, *shape)``.
        likelihood: :math:`p(x \mid z_1, s)` at drawn codes.
        posterior_1: :math:`q(z_1 \mid x, s)`.
        posteriors_2: :math:`q(z_2 \mid z_1, y)` for every class, ``(..., n, n_classes)`` Gaussians.
        priors_1: :math:`p(z_1 \mid z_2, y)` for every class, at codes drawn from these posteriors.
        prior_2: :math:`p(z_2)`.
        z_1: Drawn codes of the first layer, ``(..., n, size)``.
        s: Sensitive values, ``(..., n)``.
        y: Classes, or :data:`~unbraid.models.objectives.labels.UNKNOWN`, ``(..., n)``.
        logits_y: Of :math:`q(y \mid z_1)`.
        n_sensitive: Number of sensitive values.
        alpha: Weight of the cross-entropy.
        mmd: Weight of the discrepancy.

    References:
        Louizos et al. (2016), The Variational Fair Autoencoder, sec. 2. https://arxiv.org/abs/1511.00830
    """
    weights = class_weights(y, logits_y)
    distortion = -likelihood.log_prob(x).mean(dim=-1)
    towards = (weights * priors_1.log_prob(z_1.unsqueeze(-2))).sum(dim=-1)
    rate_1 = (posterior_1.log_prob(z_1) - towards).mean(dim=-1)
    rate_2 = (weights * kl_divergence(posteriors_2, prior_2)).sum(dim=-1).mean(dim=-1)
    class_rate, target = uniform_divergence(y, logits_y), cross_entropy(y, logits_y)
    apart = discrepancy(z_1, s, n_sensitive)
    total = distortion + rate_1 + rate_2 + class_rate + alpha * target + mmd * apart
    return VfaeLoss(total, distortion, rate_1, rate_2, class_rate, target, apart)


def discrepancy(z: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    r"""Squared maximum mean discrepancy of codes between groups, averaged over pairs of groups that are there.

    .. math::

        \mathrm{MMD}^2 = \frac{1}{n^2} \sum k(z, z') + \frac{1}{m^2} \sum k(w, w') - \frac{2}{nm} \sum k(z, w),
        \qquad k(z, w) = \exp(-\lVert z - w \rVert^2 / L)

    with all pairs of rows, a row with itself too, for :math:`L` codes.

    Args:
        z: Codes, ``(..., n, L)``.
        groups: Of the rows, counted from 0, ``(..., n)``.
        n_groups: Number of groups.

    Returns:
        From 0 to 2, without the last two axes of ``z``; 0 where a batch has one group only.

    Example:
        >>> float(discrepancy(torch.tensor([[0.0], [0.0]]), torch.tensor([0, 1]), 2))
        0.0
    """
    squares = z.square().sum(dim=-1)
    distances = squares.unsqueeze(-1) + squares.unsqueeze(-2) - 2 * z @ z.mT
    kernel = (-distances.clamp(min=0) / z.shape[-1]).exp()
    members = one_hot(groups, n_groups, z.dtype)
    counts = members.sum(dim=-2)
    shares = members / counts.clamp(min=1).unsqueeze(-2)
    between = shares.mT @ kernel @ shares
    within = torch.diagonal(between, dim1=-2, dim2=-1)
    apart = within.unsqueeze(-1) + within.unsqueeze(-2) - 2 * between
    there = (counts > 0).to(z.dtype)
    pairs = (there.unsqueeze(-1) * there.unsqueeze(-2)).triu(diagonal=1)
    found: Tensor = (pairs * apart).sum(dim=(-2, -1)) / pairs.sum(dim=(-2, -1)).clamp(min=1)
    return found
