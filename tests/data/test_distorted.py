"""Distorted copies of pictures: near the picture, different from each other, and none of it lost."""

import numpy as np

from unbraid.data.distorted import distorted


def blob(row, column, side=20):
    at = np.arange(side)
    return np.exp(-((at[:, None] - row) ** 2 + (at - column) ** 2) / 8)


def test_no_copies_are_the_pictures_themselves():
    images = blob(10, 10)[None]
    assert distorted(images, 0) is images


def test_copies_of_a_blob_in_the_middle_are_shifted_by_a_pixel_at_most():
    images = np.stack([blob(9.5, 9.5), 2 * blob(9.5, 9.5)])
    copies = distorted(images, 40, seed=1).reshape(2, 40, 20, 20)
    mass = copies.sum(axis=(2, 3))
    rows = (copies.sum(axis=3) * np.arange(20)).sum(axis=2) / mass
    assert np.abs(rows - 9.5).max() < 1.3  # a pixel, stretched
    assert rows.std() > 0.3
    np.testing.assert_allclose(mass / images.sum(axis=(1, 2))[:, None], 1, atol=0.25)
    np.testing.assert_allclose(mass[1].mean() / mass[0].mean(), 2, atol=0.1)


def test_copies_of_a_blob_at_the_edge_are_turned_about_the_middle():
    copies = distorted(blob(9.5, 15)[None], 60)
    mass = copies.sum(axis=(1, 2))
    rows, columns = ((copies.sum(axis=axis) * np.arange(20)).sum(axis=1) / mass - 9.5 for axis in (2, 1))
    angles = np.degrees(np.arctan2(rows, columns))
    assert 3 < angles.std() < 12
    assert np.abs(np.hypot(rows, columns) - 5.5).max() < 2


def test_same_seed_same_copies():
    images = blob(10, 12)[None]
    np.testing.assert_array_equal(distorted(images, 3, seed=5), distorted(images, 3, seed=5))
