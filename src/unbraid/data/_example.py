"""The example behind ``unbraid demo``: an encoder that gets some things right and some wrong."""

import numpy as np

from unbraid.representation import Representation

SHAPES = np.array(["square", "ellipse", "heart"])


def example(n_samples: int = 3000, *, seed: int = 0) -> Representation:
    """Make codes of a picture of one shape on a plane, with faults that are known.

    Five factors: shape, size, angle, and position x and y. Eight codes: the shape has a code to itself and so has
    the size, bent by a curve; the angle needs two, its cosine and sine; the position
    is there, but turned by 30 degrees, so two codes share two factors; one code is noise and one is dead.

    Args:
        n_samples: Rows.
        seed: Same seed, same rows.
    """
    rng = np.random.default_rng(seed)
    shape = rng.integers(3, size=n_samples)
    size = rng.integers(6, size=n_samples)
    angle = rng.integers(40, size=n_samples) * 9.0
    x, y = rng.integers(32, size=(2, n_samples)) / 31 - 0.5
    turn, radians = np.pi / 6, np.deg2rad(angle)
    noise = 0.03 * rng.standard_normal((n_samples, 7))
    codes = {
        "shape": shape - 1.0 + noise[:, 0],
        "size": (size / 5) ** 1.5 + noise[:, 1],
        "angle_cos": np.cos(radians) + noise[:, 2],
        "angle_sin": np.sin(radians) + noise[:, 3],
        "place_a": np.cos(turn) * x - np.sin(turn) * y + noise[:, 4],
        "place_b": np.sin(turn) * x + np.cos(turn) * y + noise[:, 5],
        "noise": 30 * noise[:, 6],
        "dead": np.zeros(n_samples),
    }
    rep = Representation(
        np.stack(list(codes.values()), axis=1),
        {"shape": SHAPES[shape], "size": size, "angle": angle, "x": x, "y": y},
        kinds={"size": "ordinal", "angle": "circular:360"},
        code_names=codes,
    )
    rep.source = f"ub.data.example(n_samples={n_samples}, seed={seed})"
    return rep
