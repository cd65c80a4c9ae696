"""A torus in twice as many dimensions as it has angles: its decoder, samples and true entropies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unbraid._base.arrays import FloatArray

#: Largest deviation of an angle, as a share of a full turn, and of a radius; both fall by this exponent (Eqs. 15, 16).
LARGEST_TURN, LARGEST_REACH, LAST_EXPONENT = 0.07, 0.05, 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Torus:
    """The decoder that makes the data, turned by a fixed rotation.

    Attributes:
        turn: The rotation, ``(2 n_angles, 2 n_angles)``.
        deviations: Standard deviations of the latents, angles first, then radii (Eqs. 15 and 16).
    """

    turn: FloatArray
    deviations: FloatArray

    @property
    def size(self) -> int:
        """Entries of a sample, and number of latents."""
        return len(self.deviations)

    def __call__(self, z: Tensor) -> Tensor:
        """Return the data of standard normal latents, ``(n, size)``: angles first, then radii (Eqs. 12 to 14)."""
        angle, reach = (torch.as_tensor(self.deviations).to(z) * z).chunk(2, dim=-1)
        radius = 1 + reach
        pairs = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=-1)
        return pairs.flatten(-2) @ torch.as_tensor(self.turn).to(z).T

    def sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw data, ``(n_samples, size)``."""
        found: FloatArray = self(torch.as_tensor(rng.normal(size=(n_samples, self.size)))).numpy()
        return found


def random_torus(n_angles: int, rng: np.random.Generator) -> Torus:
    """Return a torus turned at random."""
    fall = np.exp(-np.linspace(0, LAST_EXPONENT, n_angles))
    return Torus(
        turn=np.linalg.qr(rng.normal(size=(2 * n_angles, 2 * n_angles)))[0],
        deviations=np.concatenate((LARGEST_TURN * 2 * np.pi * fall, LARGEST_REACH * fall)),
    )


def true_entropies(deviations: FloatArray) -> FloatArray:
    r"""Return the entropy of each latent: :math:`\tfrac12(1+\log 2\pi) + \log\sigma_i`, and E log r for angles.

    The paper prints an extra log 10 (Eq. D.26): in Eq. D.19 one term of the sum survives, not ten.
    """
    entropies: FloatArray = 0.5 * (1 + math.log(2 * math.pi)) + np.log(deviations)
    n_angles = len(deviations) // 2
    entropies[:n_angles] += mean_log_radius(deviations[n_angles:])
    return entropies


def mean_log_radius(deviations: FloatArray) -> FloatArray:
    """Return the mean of log(1 + s z) over standard normal z, by quadrature; about -s²/2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    found: FloatArray = np.log1p(np.outer(deviations, nodes)) @ weights / math.sqrt(2 * math.pi)
    return found
