"""Random arrays on which values of public packages were recorded, made again from their seeds."""

import numpy as np


def two_representations() -> tuple[np.ndarray, np.ndarray]:
    """80 rows of six codes, and of four others that follow from them with noise."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
    return a, np.tanh(a[:, :4]) + 0.5 * rng.normal(size=(80, 4))


def unmixing_and_mixing() -> tuple[np.ndarray, np.ndarray]:
    """A mixing of five sources, and an unmixing that is off by noise."""
    rng = np.random.default_rng(81)
    mixing = rng.normal(size=(5, 5))
    return np.linalg.inv(mixing)[[2, 0, 1, 4, 3]] * [[1], [-2], [3], [0.5], [1]] + 0.1 * rng.normal(size=(5, 5)), mixing


def decisions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """500 rows of a truth, a prediction and a group, each of two values, that depend on each other."""
    rng = np.random.default_rng(82)
    group = rng.random(500) < 0.3
    truth = rng.random(500) < np.where(group, 0.6, 0.4)
    guess = np.where(rng.random(500) < 0.7, truth, group)
    return truth.astype(int), guess.astype(int), group.astype(int)
