import io

import numpy as np
from matplotlib.image import imread

from unbraid._png import png


def test_another_reader_sees_the_same_pixels():
    pixels = np.random.default_rng(0).integers(256, size=(5, 9, 3), dtype=np.uint8)
    seen = imread(io.BytesIO(png(pixels)), format="png")
    np.testing.assert_array_equal(np.round(255 * seen[..., :3]).astype(np.uint8), pixels)
