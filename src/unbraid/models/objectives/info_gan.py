"""Objective of InfoGAN: value of the GAN, information bound of the codes, and the losses of the networks.

Every term is averaged over the last axis of a batch and keeps the axes before it, as in
:mod:`unbraid.models.objectives`: one call serves a single model or an ensemble.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from unbraid.models.objectives.vae import Hyperparameter

#: Entropy of a code drawn evenly from -1 to 1, in nats (differential).
UNIFORM_ENTROPY = math.log(2.0)


class InfoGanLoss(NamedTuple):
    r"""Terms of InfoGAN, each averaged over the batch.

    Attributes:
        loss: :math:`V - \lambda L_I`, which generator and q minimise and the discriminator maximises (Eq. 3.18).
        value: :math:`V`, the value of the GAN (Eq. 3.16).
        categorical_information: :math:`L_I` of the categorical codes, in nats, at most their entropy (Eq. 3.17).
        continuous_information: :math:`L_I` of the continuous codes, in nats.
    """

    loss: Tensor
    value: Tensor
    categorical_information: Tensor
    continuous_information: Tensor


def gan_value(real: Tensor, generated: Tensor) -> Tensor:
    r"""Return :math:`V = E_x[\log d(x)] + E_z[\log(1 - d(g(z)))]`, at most 0.

    Args:
        real: Logits of the discriminator for data, ``(..., n)``.
        generated: Its logits for generated data.
    """
    return logsigmoid(real).mean(dim=-1) + logsigmoid(-generated).mean(dim=-1)


def generator_loss(generated: Tensor) -> Tensor:
    r"""Return :math:`-E_z[\log d(g(z))]`, the loss of the generator in training.

    It has the same fixed point as :math:`E_z[\log(1 - d(g(z)))]`, and a gradient where the discriminator is sure
    (Goodfellow et al. 2014, sec. 3).
    """
    return -logsigmoid(generated).mean(dim=-1)


def categorical_information(logits: Tensor, drawn: Tensor, categories: Sequence[int]) -> Tensor:
    r"""Return :math:`E[\log q(c \mid x)] + H(c)` of categorical codes, each drawn evenly from its values.

    Args:
        logits: Of q, the values of all codes side by side, ``(..., n, sum(categories))``.
        drawn: The codes that the data were generated from, one-hot, of the same shape.
        categories: Number of values of each code.

    Returns:
        In nats, at most ``sum(log(categories))``; 0 without codes.
    """
    found = logits.new_zeros(logits.shape[:-2])
    if not categories:
        return found
    sizes = list(categories)
    for some, chosen in zip(torch.split(logits, sizes, dim=-1), torch.split(drawn, sizes, dim=-1), strict=True):
        log_chance = (some.log_softmax(dim=-1) * chosen).sum(dim=-1)
        found = found + log_chance.mean(dim=-1) + math.log(some.shape[-1])
    return found


def continuous_information(mean: Tensor, log_scale: Tensor, drawn: Tensor) -> Tensor:
    r"""Return :math:`E[\log q(c \mid x)] + H(c)` of codes drawn evenly from -1 to 1; q is a Gaussian.

    The entropy is differential: the bound has no upper limit, and grows as q becomes narrow.

    Args:
        mean: Of q, ``(..., n, n_continuous)``.
        log_scale: Logarithm of its standard deviations.
        drawn: The codes that the data were generated from.
    """
    distance = (drawn - mean) * (-log_scale).exp()
    log_density = -0.5 * distance.square() - log_scale - 0.5 * math.log(2.0 * math.pi)
    return (log_density + UNIFORM_ENTROPY).sum(dim=-1).mean(dim=-1)


def info_gan_loss(
    value: Tensor,
    categorical: Tensor,
    continuous: Tensor,
    *,
    weight: Hyperparameter,
    continuous_share: Hyperparameter = 1.0,
) -> InfoGanLoss:
    r"""Return :math:`V - \lambda L_I` and its terms.

    Args:
        value: :math:`V`, from :func:`gan_value`.
        categorical: :math:`L_I` of the categorical codes.
        continuous: :math:`L_I` of the continuous codes.
        weight: :math:`\lambda`; 0 is the GAN of Goodfellow et al. (2014).
        continuous_share: Of the weight, for the continuous codes; at 1 this is Eq. 3.18 as printed.

    References:
        Chen et al. (2016), InfoGAN: Interpretable Representation Learning by Information Maximizing Generative
        Adversarial Nets, eq. 3 to 6. https://arxiv.org/abs/1606.03657
    """
    information = categorical + continuous_share * continuous
    return InfoGanLoss(value - weight * information, value, categorical, continuous)


def scaled_gradient(x: Tensor, scale: Hyperparameter) -> Tensor:
    """Return ``x`` as it is, and its gradient times ``scale``, a number for each model of the leading axis."""
    weight = torch.as_tensor(scale, dtype=x.dtype, device=x.device)
    weight = weight.reshape(*weight.shape, *[1] * (x.ndim - weight.ndim))
    fixed = x.detach()
    return fixed + weight * (x - fixed)
