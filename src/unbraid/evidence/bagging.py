"""A forest of scikit-learn's trees that is safe to grow in several threads at once.

scikit-learn's own forests set warning filters while they grow, which all threads of a process share: grown side by
side they warn at random. Here nothing is shared, and no time goes into dividing the trees over workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._typing import AnyArray, FloatArray


@dataclass(slots=True, kw_only=True, eq=False)
class Forest:
    """Regression trees whose predictions are averaged; several targets share each tree.

    Attributes:
        n_trees: Number of trees.
        min_leaf: Fewest rows in a leaf; a node of an extra tree is divided if it has twice as many.
        is_extra: Extremely randomised trees: random thresholds on all rows, in place of the best ones on a bootstrap.
        max_rows: Most rows drawn for one tree.
        seed: Of all chance.
    """

    n_trees: int
    min_leaf: int
    is_extra: bool
    max_rows: int
    seed: int
    trees: tuple[Any, ...] = ()

    def fit(self, inputs: FloatArray, targets: FloatArray) -> Forest:
        """Grow the trees."""
        from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

        rng = np.random.default_rng(self.seed)
        grow = ExtraTreeRegressor if self.is_extra else DecisionTreeRegressor
        rows, wanted = as_tree_input(inputs), targets.reshape(len(targets), -1)
        trees = []
        for _ in range(self.n_trees):
            tree = grow(**self._sizes, max_features=None, random_state=int(rng.integers(2**31)))
            weights = self._weights(len(rows), rng)
            drawn = np.flatnonzero(weights)
            trees.append(tree.fit(rows[drawn], wanted[drawn], sample_weight=weights[drawn], check_input=False))
        self.trees = tuple(trees)
        return self

    def predict(self, inputs: FloatArray) -> FloatArray:
        """Average what the trees say, ``(n_rows, n_targets)``."""
        rows = as_tree_input(inputs)
        total: FloatArray = sum(tree.predict(rows, check_input=False).reshape(len(rows), -1) for tree in self.trees)
        return total / len(self.trees)

    @property
    def _sizes(self) -> dict[str, int]:
        # A random threshold that leaves too few rows on one side would end the growth of an extra tree for good.
        return (
            {"min_samples_split": max(2, 2 * self.min_leaf)} if self.is_extra else {"min_samples_leaf": self.min_leaf}
        )

    def _weights(self, n_rows: int, rng: np.random.Generator) -> FloatArray:
        """How often each row counts for one tree."""
        n_drawn = min(n_rows, self.max_rows)
        if not self.is_extra:
            return np.bincount(rng.integers(n_rows, size=n_drawn), minlength=n_rows).astype(float)
        weights = np.zeros(n_rows)
        weights[rng.permutation(n_rows)[:n_drawn]] = 1.0
        return weights


def as_tree_input(columns: FloatArray) -> AnyArray:
    """Return columns as the trees store them, so that they need not look again."""
    return np.ascontiguousarray(columns, dtype=np.float32)
