"""The ten-dimensional torus in twenty dimensions: how its data come about, and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unbraid._typing import FloatArray

N_ANGLES = 10
SIZE = 2 * N_ANGLES
_FALL = np.exp(-np.linspace(0, 1.5, N_ANGLES))
#: Deviations of the latents' effects, angles first, then radii (Eqs. 15 and 16).
DEVIATIONS: FloatArray = np.concatenate((0.07 * 2 * np.pi * _FALL, 0.05 * _FALL))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Torus:
    """The decoder that makes the data, turned by a fixed rotation.

    Attributes:
        turn: The rotation, ``(20, 20)``.
    """

    turn: FloatArray

    def __call__(self, z: Tensor) -> Tensor:
        """Return the data of standard normal latents, ``(n, 20)``: angles first, then radii (Eqs. 12 to 14)."""
        deviations = torch.as_tensor(DEVIATIONS).to(z)
        angle = deviations[:N_ANGLES] * z[..., :N_ANGLES]
        radius = 1 + deviations[N_ANGLES:] * z[..., N_ANGLES:]
        pairs = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=-1)
        return pairs.flatten(-2) @ torch.as_tensor(self.turn).to(z).T

    def sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw data, ``(n_samples, 20)``."""
        found: FloatArray = self(torch.as_tensor(rng.normal(size=(n_samples, SIZE)))).numpy()
        return found


def random_torus(rng: np.random.Generator) -> Torus:
    """Return a torus turned at random."""
    return Torus(turn=np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0])


def true_entropies() -> FloatArray:
    r"""Return the entropy of each latent: :math:`\tfrac12(1+\log 2\pi) + \log\sigma_i`, and E log r for angles.

    The paper prints an extra log 10 (Eq. D.26): in Eq. D.19 one term of the sum survives, not ten.
    """
    entropies: FloatArray = 0.5 * (1 + math.log(2 * math.pi)) + np.log(DEVIATIONS)
    entropies[:N_ANGLES] += mean_log_radius(DEVIATIONS[N_ANGLES:])
    return entropies


def mean_log_radius(deviations: FloatArray) -> FloatArray:
    """Return the mean of log(1 + s z) over standard normal z, by quadrature; about -s²/2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    found: FloatArray = np.log1p(np.outer(deviations, nodes)) @ weights / math.sqrt(2 * math.pi)
    return found
