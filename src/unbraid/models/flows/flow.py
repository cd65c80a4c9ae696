"""Normalising flow, and its priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from unbraid.models.flows.mixing import Chain

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


Prior = StandardNormal | ClassMixture


class Flow(nn.Module):
    r"""A bijection :math:`z = f(x)` between data and latents of the same size, both flat vectors.

    Args:
        transform: Lazy transforms from data to latents.
        prior: What latents are drawn from.
        n_classes: Classes that the bijection sees as a context (cINN); 0 for none.

    Attributes:
        size: Entries of a sample, and number of latents.
    """

    def __init__(self, transform: Chain, prior: Prior, *, n_classes: int = 0) -> None:
        super().__init__()
        self.transform, self.prior, self.n_classes = transform, prior, n_classes
        self.size = prior.size

    def encode(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the latents of data, shape ``(n, size)``."""
        return cast(Tensor, self.transform(self._context(labels))(x))

    def decode(self, z: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the data of latents, shape ``(n, size)``."""
        return cast(Tensor, self.transform(self._context(labels)).inv(z))

    def encode_with_log_determinant(self, x: Tensor, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""Return latents and :math:`\log|\det \partial f/\partial x|` of the encoder, shape ``(n,)``."""
        return cast(tuple[Tensor, Tensor], self.transform(self._context(labels)).call_and_ladj(x))

    def log_determinant(self, z: Tensor, labels: Tensor | None = None) -> Tensor:
        r"""Return :math:`\log|\det \partial g/\partial z|` of the decoder at latents, shape ``(n,)``."""
        return -self.encode_with_log_determinant(self.decode(z, labels), labels)[1]

    def log_prob(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return the log-density of data in nats, shape ``(n,)``."""
        z, log_determinant = self.encode_with_log_determinant(x, labels)
        return self.prior.log_prob(z, labels) + log_determinant

    def sample(self, n_samples: int, *, seed: int = 0, labels: Tensor | None = None) -> Tensor:
        """Return new data, shape ``(n_samples, size)``."""
        noise = torch.randn(n_samples, self.size, generator=torch.Generator().manual_seed(seed))
        like = next(self.parameters())
        return self.decode(self.prior.sample(noise.to(like), labels), labels)

    def decoder(self, label: int | None = None) -> Callable[[Tensor], Tensor]:
        """Return the map from standard normal noise to data, of one class where there are classes.

        For a mixture the noise is first stretched by the deviations of the class, so that entropies and mutual
        information of the decoder mean the same for every prior (App. E.1.3 of the paper).
        """

        def decode(noise: Tensor) -> Tensor:
            labels = None if label is None else torch.full(noise.shape[:-1], label, device=noise.device)
            return self.decode(self.prior.sample(noise, labels), labels)

        return decode

    def set_from(self, x: Tensor, labels: Tensor | None = None) -> None:
        """Initialise from data: every normalisation, then the classes of a mixture."""
        self.transform.set_from(x, self._context(labels))
        if isinstance(self.prior, ClassMixture) and labels is not None:
            with torch.no_grad():
                self.prior.set_from(self.encode(x, labels), labels)

    def _context(self, labels: Tensor | None) -> Tensor | None:
        if not self.n_classes:
            return None
        if labels is None:
            raise ValueError(
                f"labels must be given to a flow with {self.n_classes} classes: one whole number for each sample."
            )
        return functional.one_hot(labels, self.n_classes).to(next(self.parameters()))
