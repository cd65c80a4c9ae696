"""Look at two faults that the embedded example lacks: a factor that is folded, and one that is copied.

python examples/explore_faults.py
unbraid explore faults.npz
"""

import numpy as np

import unbraid

N_ROWS, NOISE = 2000, 0.03


def faults(seed=0):
    """Make three factors in four codes: of the tilt only the magnitude is left, and the size is there twice."""
    rng = np.random.default_rng(seed)
    tilt, size, shade = rng.uniform(-1, 1, (3, N_ROWS))
    codes = {"tilt": np.abs(tilt), "size": size, "size_again": 0.3 - 2 * size, "shade": shade}
    noise = NOISE * rng.standard_normal((N_ROWS, len(codes)))
    factors = {"tilt": tilt, "size": size, "shade": shade}
    return unbraid.Representation(np.stack(list(codes.values()), 1) + noise, factors, code_names=list(codes))


if __name__ == "__main__":
    unbraid.save(faults(), "faults.npz")
    print("wrote faults.npz; next: unbraid explore faults.npz")
