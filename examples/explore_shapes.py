"""Look at a representation whose faults are known, and move its factors: the embedded example with a decoder.

python examples/explore_shapes.py
unbraid explore codes.npz --decoder examples/explore_shapes.py:decoder
"""

import math

import torch

SIDE, TURN = 64, math.pi / 6


def decoder(codes):
    """Draw the shape that the codes of ``unbraid.data.example`` describe: pictures ``(n, 1, 64, 64)`` from 0 to 1."""
    shape, size, cos, sin, a, b = (codes[:, j, None, None] for j in range(6))
    x, y = math.cos(TURN) * a + math.sin(TURN) * b, math.cos(TURN) * b - math.sin(TURN) * a  # position, turned back
    length = torch.hypot(cos, sin)
    upright = length < 0.05  # in the middle of the circle there is no angle
    cos, sin = torch.where(upright, 1.0, cos / length), torch.where(upright, 0.0, sin / length)
    grid = torch.linspace(-0.85, 0.85, SIDE, dtype=codes.dtype)
    across, up = grid[None, None, :] - x, -grid[None, :, None] - y
    radius = 0.16 + 0.18 * size.clamp(0, 1.3)
    p, q = (cos * across + sin * up) / radius, (cos * up - sin * across) / radius
    square = torch.maximum(p.abs(), q.abs()) - 0.85
    ellipse = torch.hypot(p, q / 0.6) - 1
    heart = torch.hypot(p, q - 0.65 * (p.abs() + 1e-3).sqrt() + 0.2) - 0.95
    outside = (-shape).clamp(0, 1) * square + shape.clamp(0, 1) * heart + (1 - shape.abs()).clamp(0, 1) * ellipse
    return torch.sigmoid(-9 * outside)[:, None]


if __name__ == "__main__":
    import numpy as np

    import unbraid

    rep = unbraid.data.example()
    unbraid.save(rep, "codes.npz")
    pictures = decoder(torch.as_tensor(rep.codes))
    with np.load("codes.npz") as saved:
        np.savez_compressed("codes.npz", **saved, pictures=(255 * pictures[:, 0].numpy()).astype(np.uint8))
    print("wrote codes.npz; next: unbraid explore codes.npz --decoder examples/explore_shapes.py:decoder")
