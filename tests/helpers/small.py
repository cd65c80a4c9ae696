"""Small files and a way to run the command line, shared by the tests."""

import numpy as np
import pytest

from unbraid.cli import main

NAMES = ("shape", "size", "angle")


def small_world(n_samples=120, *, seed=0):
    """Return ``(codes, factors)``: three factors of three, four and eight values, each with a noisy code of its own."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(size, size=n_samples) for size in (3, 4, 8)], axis=1)
    return factors + 0.1 * rng.standard_normal(factors.shape), factors


def save_npz(folder, codes=None, factors=None, *, name="codes.npz", **more):
    """Write a ``.npz``; what is not given comes from the small world. Returns its path."""
    world = small_world()
    arrays = {"codes": world[0] if codes is None else codes, "factors": world[1] if factors is None else factors}
    if np.ndim(arrays["factors"]) == 2 and np.shape(arrays["factors"])[1] == len(NAMES):
        arrays["factor_names"] = np.array(NAMES)
    np.savez(folder / name, **arrays | more)
    return folder / name


def run_cli(capsys, *arguments):
    """Run the command line in this process; return exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return stop.value.code, out, err
