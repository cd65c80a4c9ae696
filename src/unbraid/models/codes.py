"""Layout of the latents of a generator: categorical codes, continuous codes, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from unbraid._base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLayout:
    """Columns of the latents: the values of each categorical code one-hot, then continuous codes, then noise.

    Attributes:
        categories: Number of values of each categorical code, which is drawn evenly from them.
        n_continuous: Codes drawn evenly from -1 to 1.
        n_noise: Columns of standard normal noise, which no code describes.

    Example:
        >>> layout = CodeLayout(categories=(10,), n_continuous=2, n_noise=62)
        >>> layout.n_codes, layout.n_latents, layout.names[9:]
        (12, 74, ('c0=9', 'c1', 'c2'))
        >>> round(layout.categorical_entropy, 4)
        2.3026
    """

    categories: tuple[int, ...] = ()
    n_continuous: int = 0
    n_noise: int = 0

    @property
    def n_values(self) -> int:
        """Columns of the categorical codes."""
        return sum(self.categories)

    @property
    def n_codes(self) -> int:
        """Columns of all codes."""
        return self.n_values + self.n_continuous

    @property
    def n_latents(self) -> int:
        """Columns of codes and noise."""
        return self.n_codes + self.n_noise

    @property
    def n_drawn(self) -> int:
        """Random numbers that a row of latents is made of: one for each code and each column of noise."""
        return len(self.categories) + self.n_continuous + self.n_noise

    @property
    def categorical_entropy(self) -> float:
        """Entropy of the categorical codes, in nats."""
        return float(sum(math.log(size) for size in self.categories))

    @property
    def continuous_entropy(self) -> float:
        """Differential entropy of the continuous codes, in nats."""
        return self.n_continuous * math.log(2.0)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each column: code and value, or code."""
        values = [f"c{k}={value}" for k, size in enumerate(self.categories) for value in range(size)]
        first = len(self.categories)
        return (*values, *(f"c{first + k}" for k in range(self.n_continuous)))

    def blocks(self) -> dict[str, list[int]]:
        """Return the columns of each code, where some code has several; nothing where every code is a column."""
        found, start = {}, 0
        for k, size in enumerate((*self.categories, *[1] * self.n_continuous) if self.categories else ()):
            found[f"c{k}"] = list(range(start, start + size))
            start += size
        return found

    def drawn(self, mean: FloatArray, deviation: FloatArray, noise: FloatArray) -> FloatArray:
        """Return codes drawn from the posterior: one value of each categorical code, one-hot, and Gaussians.

        Args:
            mean: Means of the columns: chances of values, and means of continuous codes.
            deviation: Standard deviations of the columns.
            noise: Standard normal numbers, one for each column.
        """
        found: FloatArray = mean + noise * deviation
        start = 0
        for size in self.categories:
            columns = slice(start, start + size)
            # The largest of log-chances with Gumbel noise is a draw from them.
            gumbel = -np.log(-norm.logcdf(np.clip(noise[..., columns], -8.0, 8.0)))
            with np.errstate(divide="ignore"):
                best = (np.log(mean[..., columns]) + gumbel).argmax(axis=-1)
            found[..., columns] = np.eye(size)[best]
            start += size
        return found

    def rates(self, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the divergence of the posterior of each column from its prior, in nats, ``(..., n_codes)``.

        Args:
            mean: Means of the columns under q: chances of values, and means of continuous codes.
            deviation: Standard deviations of the columns.

        Returns:
            For the values of categorical codes the divergence of two Bernoulli variables; for continuous codes that of
            two Gaussians, with the mean 0 and the variance 1/3 of the prior. A column that q knows nothing of has 0.
        """
        chance = np.clip(mean[..., : self.n_values], 0.0, 1.0)
        even = np.repeat([1 / size for size in self.categories], self.categories) if self.categories else np.zeros(0)
        of_values = _times_log(chance, chance / even) + _times_log(1 - chance, (1 - chance) / (1 - even))
        scale = math.sqrt(1 / 3)
        centre, spread = mean[..., self.n_values :] / scale, deviation[..., self.n_values :] / scale
        of_continuous = (centre**2 + spread**2 - 1) / 2 - np.log(spread)
        return np.concatenate([of_values, of_continuous], axis=-1)


def _times_log(weight: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return ``weight * log(ratio)``, 0 where the weight is."""
    return np.where(weight > 0, weight * np.log(np.where(weight > 0, ratio, 1.0)), 0.0)
