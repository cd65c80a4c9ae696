"""A decoder whose pictures are known: a white blob whose place and size are in the codes, position rotated."""

import numpy as np

import unbraid as ub

MODEL = '''
"""A blob: the first two codes are its place, turned by 30 degrees; the third is its size."""
import torch

SIDE = 16
TURN = torch.tensor([[0.8660254, 0.5], [-0.5, 0.8660254]])


def decoder(z):
    place = z[:, :2] @ TURN.T.to(z)
    grid = torch.linspace(-1.5, 1.5, SIDE).to(z)
    away = (grid[None, None, :] - place[:, 0, None, None]) ** 2 + (grid[None, :, None] - place[:, 1, None, None]) ** 2
    return torch.exp(-away / (0.05 + 0.1 * torch.sigmoid(z[:, 2]))[:, None, None])[:, None]
'''


def blob_representation(n_samples=600, seed=0):
    """Codes of blobs: place (rotated), size and noise; the factors are x, y and size."""
    rng = np.random.default_rng(seed)
    x, y, size = rng.uniform(-1, 1, (3, n_samples))
    turn = np.pi / 6
    codes = np.stack(
        [
            np.cos(turn) * x - np.sin(turn) * y,
            np.sin(turn) * x + np.cos(turn) * y,
            2 * size,
            rng.standard_normal(n_samples),
        ],
        axis=1,
    )
    return ub.Representation(codes, {"x": x, "y": y, "size": size})


def write_blobs(folder, **options):
    """Write ``model.py`` and ``codes.npz``; return their paths."""
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    ub.save(blob_representation(**options), folder / "codes.npz")
    return folder / "model.py", folder / "codes.npz"
