"""Decoders whose entropies are known on paper."""

import numpy as np
import torch

UNIT_ENTROPY = 0.5 * (1 + np.log(2 * np.pi))
DOUBLE = torch.float64


def linear(matrix):
    """Data are ``matrix @ z``: the matrix is the Jacobian everywhere."""
    weights = torch.as_tensor(np.asarray(matrix), dtype=DOUBLE)
    return lambda z: z @ weights.T


def rotation(size, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def torus(n_circles=10):
    """The decoder of the paper's torus (Eq. 12 to 16), and the deviations of angles, then radii."""
    steps = np.exp(-np.linspace(0, 1.5, n_circles))
    deviations = np.concatenate([0.07 * 2 * np.pi * steps, 0.05 * steps])
    scale = torch.as_tensor(deviations, dtype=DOUBLE)

    def decode(z):
        moved = z * scale
        angles, radii = moved[:, :n_circles], 1 + moved[:, n_circles:]
        return torch.stack([radii * torch.cos(angles), radii * torch.sin(angles)], dim=2).flatten(1)

    return decode, deviations


def network(latent_dim=4, data_dim=9, seed=0):
    """A smooth decoder with nothing special about it, in double precision."""
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(latent_dim, 16), torch.nn.Tanh(), torch.nn.Linear(16, data_dim), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers).double()
