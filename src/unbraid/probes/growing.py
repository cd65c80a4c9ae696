"""Growth of trees by LightGBM: settings, and data sets of bins that trees of one representation share.

To look up the bin of every value takes longer than to grow small trees. Here bins are looked up once for all factors
and folds; of wide codes, the data set of a model is put together from those of its codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Protocol

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid.probes.boosters import TreeData, TreeModel

#: Bins of a code among whose ends trees of few codes split.
MOST_BINS = 255
#: Rows times trees above which a model is kept without the rows that it was trained on.
LARGE_MODEL = 1_000_000
#: Rows times codes up to which data sets of single codes are kept; each holds bins and labels, five bytes a row.
MOST_KEPT = 150_000_000
#: Standard deviations by which the rows that are drawn for a tree exceed the number that is asked for, at most.
MOST_DRAWN = 6.0
#: Settings of every data set of bins and of every model.
DATA = {"min_data_in_bin": 1, "feature_pre_filter": False, "enable_bundle": False, "max_bin": 255}
QUIET = {"verbose": -1, "num_threads": 1}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grower:
    """Trees of one output, on one thread, so that the same seed gives the same trees anywhere.

    Attributes:
        settings: As LightGBM takes them, from the number of training rows.
        n_rounds: Trees of a forest, or rounds of boosting.
    """

    settings: Callable[[int], dict[str, Any]]
    n_rounds: int

    def started(self, data: TreeData, seed: int) -> TreeModel:
        """Return a model without trees.

        Memory for as many leaves as there may be is set aside at the start; rows allow fewer than the limit.
        """
        settings = self.settings(data.n_rows)
        asked = data.n_rows * settings.get("bagging_fraction", 1.0)
        drawn = min(data.n_rows, int(asked + MOST_DRAWN * asked**0.5))
        settings["num_leaves"] = max(2, min(settings["num_leaves"], drawn // settings["min_data_in_leaf"]))
        fixed = {**QUIET, "deterministic": True, "force_col_wise": True, "seed": seed}
        return TreeModel.of(data, {**fixed, **settings, **DATA})

    def finished(self, model: TreeModel, n_rows: int) -> TreeModel:
        """Grow all trees of a model."""
        for _ in range(self.n_rounds):
            if model.grow():
                break
        return model.without_rows() if n_rows * self.n_rounds > LARGE_MODEL else model


class SharedBins(Protocol):
    """Bins of the codes of a representation, which its trees share."""

    def data(self, rows: IntArray, tried: IntArray, targets: FloatArray) -> TreeData:
        """Return the data set of some codes in those of the rows, in increasing order, that may train."""

    def cells(self, rows: IntArray, tried: IntArray) -> AnyArray:
        """Return what a model takes to predict some rows, ``(n_rows, n_tried)``."""


class SharedCodes:
    """Bins of few codes: a model tries all of them."""

    __slots__ = ("_codes", "_whole")

    def __init__(self, codes: FloatArray, n_bins: int = MOST_BINS) -> None:
        """Take codes, ``(n_rows, n_codes)``, and the number of bins of each at most."""
        self._codes = codes
        self._whole = TreeData.of(codes, {**QUIET, "max_bin": n_bins, "feature_pre_filter": False})

    def data(self, rows: IntArray, tried: IntArray, targets: FloatArray) -> TreeData:
        """Return the data set of all codes in some rows."""
        found = self._whole.of_rows(rows, QUIET)
        found.set_targets(targets)
        return found

    def cells(self, rows: IntArray, tried: IntArray) -> AnyArray:
        """Return all codes of some rows."""
        return self._codes[rows]


class SharedColumns:
    """Bins of wide codes, and LightGBM's data sets of some of their rows and codes.

    Attributes:
        bins: ``(n_rows, n_codes)``, ``uint8``.
        n_bins: Number of bins.
    """

    __slots__ = ("_columns", "_last", "_place", "_pool", "bins", "n_bins")

    def __init__(self, bins: AnyArray, n_bins: int, *, pool: IntArray | None = None) -> None:
        """Take bins.

        Args:
            bins: ``(n_rows, n_codes)``, ``uint8``.
            n_bins: Number of bins.
            pool: Rows, in increasing order, among which all training rows are; all by default.
        """
        self.bins, self.n_bins = bins, n_bins
        self._columns: dict[int, TreeData] = {}
        self._last: tuple[bytes, TreeData | None] = b"", None
        self._pool = pool
        self._place: IntArray | None = None
        if pool is not None:
            self._place = np.full(len(bins), -1)
            self._place[pool] = np.arange(len(pool))

    def data(self, rows: IntArray, tried: IntArray, targets: FloatArray) -> TreeData:
        """Return the data set of some codes in those of the rows that may train.

        Args:
            rows: In increasing order.
            tried: Codes.
            targets: One for each row, ``(n_rows,)``.
        """
        if self._place is not None:
            own = self._place[rows] >= 0
            rows, targets = rows[own], targets[own]
        if self.bins.size > MOST_KEPT and self._place is None:
            like = _reference(len(tried), self.n_bins)
            found = TreeData.of(self.cells(rows, tried), {**QUIET, **DATA}, like=like)
        else:
            found = self._joined(tried).of_rows(rows if self._place is None else self._place[rows], QUIET | DATA)
        found.set_targets(targets)
        return found

    def cells(self, rows: IntArray, tried: IntArray) -> AnyArray:
        """Return the bins of some codes in some rows."""
        return self.bins[np.ix_(rows, tried)]

    def _joined(self, codes: IntArray) -> TreeData:
        """Return a data set of all rows of some codes, the last one again where they are the same."""
        key, last = self._last
        if last is not None and key == codes.tobytes():
            return last
        first, *others = (self._column(int(code)) for code in codes)
        found = first.of_rows(np.arange(first.n_rows), QUIET | DATA)
        for other in others:
            found.add_codes(other)
        self._last = codes.tobytes(), found
        return found

    def _column(self, code: int) -> TreeData:
        if code not in self._columns:
            cells = self.bins[slice(None) if self._pool is None else self._pool, code][:, None]
            like = _reference(1, self.n_bins)
            self._columns[code] = TreeData.of(cells, {**QUIET, **DATA}, like=like, names=[f"code_{code}"])
        return self._columns[code]


_lock = Lock()


def _reference(n_codes: int, n_bins: int) -> TreeData:
    """Return a data set of so many columns that have every bin once."""
    with _lock:
        return _made(n_codes, n_bins)


@lru_cache(maxsize=8)
def _made(n_codes: int, n_bins: int) -> TreeData:
    every = np.tile(np.arange(n_bins, dtype=np.uint8)[:, None], (1, n_codes))
    return TreeData.of(every, {**QUIET, **DATA})
