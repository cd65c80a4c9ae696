"""What latents are drawn from: a standard normal, or one Gaussian for each class."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Deviations of a class start here or, set from data, no lower.
LEAST_DEVIATION = 1e-3


class StandardNormal(nn.Module):
    """Independent normal latents, whatever the class.

    Args:
        size: Number of latents.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def log_prob(self, z: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the log-density of latents, shape ``(n,)``; labels do not matter."""
        return -0.5 * (z.square().sum(dim=-1) + self.size * math.log(2 * math.pi))

    def sample(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        """Turn standard normal ``noise`` into latents: itself."""
        return noise


class ClassMixture(nn.Module):
    r"""One Gaussian with its own mean and deviations for each class, as the prior of GIN.

    With labels the density is that of the class; without, that of the mixture with equal weights.

    Args:
        size: Number of latents.
        n_classes: Number of classes.

    Attributes:
        means: Shape ``(n_classes, size)``.
        log_deviations: Likewise.
    """

    def __init__(self, size: int, n_classes: int) -> None:
        super().__init__()
        self.size, self.n_classes = size, n_classes
        self.means = nn.Parameter(torch.zeros(n_classes, size))
        self.log_deviations = nn.Parameter(torch.zeros(n_classes, size))

    @property
    def deviations(self) -> Tensor:
        """Deviations of each class, shape ``(n_classes, size)``."""
        return self.log_deviations.exp()

    def log_prob(self, z: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the log-density of latents, shape ``(n,)``."""
        if labels is not None:
            return _normal_log_prob(z, self.means[labels], self.log_deviations[labels])
        each = _normal_log_prob(z.unsqueeze(-2), self.means, self.log_deviations)
        return each.logsumexp(dim=-1) - math.log(self.n_classes)

    def sample(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        """Turn standard normal ``noise`` into latents of the classes given."""
        if labels is None:
            raise ValueError("labels must be given to draw from a mixture of classes: one for each row of noise.")
        return self.means[labels] + self.deviations[labels] * noise

    @torch.no_grad()
    def set_from(self, z: Tensor, labels: Tensor) -> None:
        """Set means and deviations from latents of known classes; a class that is absent takes those of all."""
        member = functional.one_hot(labels, self.n_classes).to(z)
        count = member.sum(dim=0).clamp(min=1.0)[:, None]
        means = (member.T @ z) / count
        variances = (member.T @ z.square()) / count - means.square()
        is_known = (member.sum(dim=0) > 1)[:, None]
        self.means.copy_(torch.where(is_known, means, z.mean(dim=0)))
        spread = torch.where(is_known, variances, z.var(dim=0)).clamp(min=LEAST_DEVIATION**2)
        self.log_deviations.copy_(0.5 * spread.log())


def _normal_log_prob(z: Tensor, means: Tensor, log_deviations: Tensor) -> Tensor:
    scaled = (z - means) * (-log_deviations).exp()
    return -(0.5 * scaled.square() + log_deviations + 0.5 * math.log(2 * math.pi)).sum(dim=-1)
