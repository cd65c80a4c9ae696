"""Tables of numbers with known factors, and a procedural table with a sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid.data.dataset import FactorDataset, check_rows


class FactorTable:
    """Rows of numbers, and the factors of each row.

    Attributes:
        factor_names: Names of the factors.
        factor_sizes: Values each can take, counted from 0.
        factor_kinds: Kind of each factor.
        observation_shape: Numbers of a row.
    """

    def __init__(
        self, numbers: FloatArray, factors: IntArray, *, names: Sequence[str], kinds: Sequence[str] | None = None
    ) -> None:
        self._numbers, self._factors = np.asarray(numbers, dtype=np.float32), np.asarray(factors)
        if self._factors.shape != (len(self._numbers), len(names)):
            wanted = (len(self._numbers), len(names))
            raise ValueError(f"factors must have shape {wanted}, rows and names, got {self._factors.shape}.")
        self.factor_names = tuple(names)
        self.factor_sizes = tuple(int(column.max()) + 1 for column in self._factors.T)
        self.factor_kinds = tuple(kinds or ["categorical"] * len(names))
        self.observation_shape = self._numbers.shape[1:]

    def __len__(self) -> int:
        return len(self._numbers)

    def factors(self, index: IntArray) -> IntArray:
        """Return factor values of some rows, ``(n, n_factors)``."""
        found: IntArray = self._factors[check_rows(index, len(self))]
        return found

    def observations(self, index: IntArray) -> NDArray[np.float32]:
        """Return some rows, ``(n, n_numbers)``."""
        return self._numbers[check_rows(index, len(self))]


class DatasetRows:
    """Some rows of a data set as a data set: the factors keep their names, sizes and values.

    Attributes:
        base: The whole data set.
        rows: Numbers of the rows.
    """

    def __init__(self, base: FactorDataset, rows: IntArray) -> None:
        self.base, self.rows = base, check_rows(rows, len(base))
        self.factor_names, self.factor_sizes = base.factor_names, base.factor_sizes
        self.factor_kinds, self.observation_shape = base.factor_kinds, base.observation_shape

    def __len__(self) -> int:
        return len(self.rows)

    def factors(self, index: IntArray) -> IntArray:
        """Return factor values of some of the rows."""
        return self.base.factors(self.rows[check_rows(index, len(self))])

    def observations(self, index: IntArray) -> NDArray[np.floating]:
        """Return some of the rows."""
        return self.base.observations(self.rows[check_rows(index, len(self))])


#: Numbers of a row of the table of applicants.
N_NUMBERS = 12
#: Share of the applicants in group 1.
GROUP_SHARE = 0.4
#: Chance to be hired is that of the skill plus or minus this, for group 1 and for group 0.
FAVOUR = 0.1


def applicants(n_rows: int = 4000, *, rng: np.random.Generator | int = 0) -> FactorTable:
    """Draw a table of applicants: numbers that tell of skill and of group, whether they were hired, and the group.

    An applicant has a skill, standard normal and independent of the group, and is hired where the skill and a little
    noise and favour for group 1 are above 0. Every number of a row is a sum of skill, group and noise with coefficients
    drawn once; so the group can be read from the row almost surely, and the skill can be told apart from it.

    Args:
        n_rows: Applicants.
        rng: Source of chance, or its seed.

    Returns:
        Twelve numbers a row, of mean 0 and variance 1; the factors are ``hired`` and ``group``.

    Example:
        >>> data = applicants(1000)
        >>> data.factor_names, data.observation_shape
        (('hired', 'group'), (12,))
    """
    check_at_least("n_rows", n_rows, 10)
    chance = np.random.default_rng(rng)
    group = (chance.random(n_rows) < GROUP_SHARE).astype(np.intp)
    skill = chance.standard_normal(n_rows)
    hired = (skill + 0.2 * chance.standard_normal(n_rows) + FAVOUR * (2 * group - 1) > 0).astype(np.intp)
    of_skill, of_group = chance.uniform(0.5, 1.0, (2, N_NUMBERS)) * chance.choice([-1, 1], (2, N_NUMBERS))
    numbers = np.outer(skill, of_skill) + np.outer(2 * group - 1, of_group)
    numbers += 0.5 * chance.standard_normal((n_rows, N_NUMBERS))
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return FactorTable(scaled, np.stack([hired, group], axis=1), names=("hired", "group"))
