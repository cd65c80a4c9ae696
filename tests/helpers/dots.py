"""A tiny data set of pictures with known factors, for tests of models."""

import numpy as np


class Dots:
    """A lit square of 4 by 4 in a picture of 16 by 16, at one of 7 by 7 places."""

    factor_names = ("row", "column")
    factor_sizes = (7, 7)

    def __len__(self):
        return 49

    def factors(self, index):
        index = np.asarray(index)
        return np.stack([index // 7, index % 7], axis=-1)

    def observations(self, index):
        corner = 2 * self.factors(index)
        at = np.arange(16)
        rows, columns = ((at >= corner[:, k, None]) & (at < corner[:, k, None] + 4) for k in (0, 1))
        return (rows[:, None, :, None] & columns[:, None, None, :]).astype(np.float32)
