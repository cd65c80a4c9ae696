import base64
import re
import zlib
from xml.etree import ElementTree

import numpy as np

from unbraid.data import bundled_digits, coloured_digits
from unbraid.reproduce.coloured_vae import all_combinations, grid_svg, seen_factors, with_factors_set
from unbraid.reproduce.dependent_digits import line_error, threshold_accuracy

PLACES = ((-10.0, -10 / 3, 10 / 3, 10.0), (-2.0, 2.0), (-2.0, 2.0))


def test_every_combination_once():
    combinations = all_combinations((4, 2, 2))
    assert len(np.unique(combinations, axis=0)) == len(combinations) == 16
    assert combinations[:5].tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0]]


def test_only_the_codes_of_the_factors_move():
    styles = np.random.default_rng(0).normal(size=(3, 6))
    codes = with_factors_set(styles, np.array([[3, 0, 1], [1, 1, 0]]), PLACES)
    assert codes.shape == (3, 2, 6)
    assert codes[1, 0, :3].tolist() == [10, -2, 2]
    assert codes[2, 1, :3].tolist() == [-10 / 3, 2, -2]
    np.testing.assert_array_equal(codes[:, :, 3:], np.repeat(styles[:, None, 3:], 2, axis=1))


def test_the_judge_is_right_about_real_pictures():
    known = coloured_digits(bundled_digits(), rng=0)
    others = coloured_digits(bundled_digits(), rng=1)  # the same digits in other colours
    rows = np.arange(150)
    agreement = (seen_factors(others.observations(rows), known) == others.factors(rows)).mean(axis=0)
    assert agreement[0] > 0.97
    assert agreement[1:].tolist() == [1, 1]


def test_the_picture_has_every_digit_in_its_place():
    generated = np.zeros((2, 16, 3, 4, 4))
    generated[1, 6, 0] = 1  # second style, second colouring (green on black), third digit: painted red
    svg = ElementTree.fromstring(grid_svg(np.ones((2, 3, 4, 4)), generated, 4))
    names = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert names[1::5] == ["red on black", "green on black", "red on white", "green on white"]
    sheets = [decoded(image.get("href")) for image in svg.iter("{http://www.w3.org/2000/svg}image")]
    assert len(sheets) == 5
    red = (sheets[2] == [255, 0, 0]).all(axis=-1)
    assert np.argwhere(red).min(axis=0).tolist() == [6, 12]  # tiles of four pixels and a gap of two
    assert red.sum() == 16
    assert not any((sheet == [255, 0, 0]).all(axis=-1).any() for sheet in (sheets[0], sheets[1], *sheets[3:]))


def decoded(link):
    """Read back the pixels of an unfiltered PNG, its checksums too."""
    data = base64.b64decode(re.fullmatch(r"data:image/png;base64,(.+)", link)[1])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, place = {}, 8
    while place < len(data):
        length = int.from_bytes(data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert zlib.crc32(name + body) == int.from_bytes(data[place + 8 + length : place + 12 + length])
        chunks[name], place = body, place + 12 + length
    width, height = int.from_bytes(chunks[b"IHDR"][:4]), int.from_bytes(chunks[b"IHDR"][4:8])
    assert tuple(chunks[b"IHDR"][8:]) == (8, 2, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


def test_line_error_is_the_variance_about_the_line_as_a_share_of_the_squared_range():
    factor = np.array([0, 0, 1, 1, 2, 2])
    code = np.array([-0.5, 0.5, 3.5, 4.5, 7.5, 8.5])  # 4 per step, half off either way, range 9
    assert np.isclose(line_error(code, factor, code, factor), 0.25 / 81)
    assert np.isclose(line_error(code, factor, np.array([4.0]), np.array([0])), 16 / 81)


def test_threshold_accuracy_cuts_ordered_places_apart():
    factor = np.tile(np.arange(4), 50)
    code = np.array(PLACES[0])[factor]
    noise = np.random.default_rng(0).uniform(-1, 1, len(code))
    assert threshold_accuracy(code + noise, factor, code, factor) == 1
    assert (
        threshold_accuracy(code + noise, factor, code + 20 / 3, factor) == 0.25
    )  # each is taken for the next, 3 for 3
