"""Growth of trees by LightGBM: settings, and data sets of bins that trees of wide codes share.

LightGBM looks up the bin of every value when it makes a data set, which for small trees takes longer than to grow them.
Here bins of a wide code are looked up once, and the data set of a model is put together from those of its codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray

#: Bins of a code among whose ends trees of few codes split.
MOST_BINS = 255
#: Rows times trees above which a model is kept without the rows that it was trained on.
LARGE_MODEL = 1_000_000
#: Rows times codes up to which data sets of single codes are kept; each holds bins and labels, five bytes a row.
MOST_KEPT = 150_000_000
#: Rows drawn for a tree exceed the number that is asked for by chance, at most so many times.
MOST_DRAWN = 1.5
#: Settings of every data set of bins and of every model.
DATA = {"min_data_in_bin": 1, "feature_pre_filter": False, "enable_bundle": False, "max_bin": 255}
QUIET = {"verbose": -1, "num_threads": 1}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grower:
    """Trees of one output, on one thread, so that the same seed gives the same trees anywhere.

    Attributes:
        settings: As LightGBM takes them, from the number of training rows.
        n_rounds: Trees of a forest, or rounds of boosting.
        n_bins: Bins of a code, where codes are not given as bins.
    """

    settings: Callable[[int], dict[str, Any]]
    n_rounds: int
    n_bins: int = MOST_BINS

    def __call__(self, codes: AnyArray, targets: FloatArray, seed: int) -> Any:
        """Return a LightGBM model of all rounds."""
        import lightgbm

        data = lightgbm.Dataset(codes, targets, params={**QUIET, "max_bin": self.n_bins})
        return self.finished(self.started(data, len(codes), seed), len(codes))

    def started(self, data: Any, n_rows: int, seed: int) -> Any:
        """Return a model without trees.

        Memory for as many leaves as there may be is set aside at the start; rows allow fewer than the limit.
        """
        import lightgbm

        settings = self.settings(n_rows)
        drawn = n_rows * min(1.0, MOST_DRAWN * settings.get("bagging_fraction", 1.0))
        settings["num_leaves"] = max(2, min(settings["num_leaves"], int(drawn) // settings["min_data_in_leaf"]))
        fixed = {**QUIET, "deterministic": True, "force_row_wise": True, "seed": seed}
        return lightgbm.Booster({**fixed, **settings}, data)

    def finished(self, model: Any, n_rows: int) -> Any:
        """Grow all trees of a model."""
        for _ in range(self.n_rounds):
            if model.update():
                break
        return first_rounds(model, self.n_rounds) if n_rows * self.n_rounds > LARGE_MODEL else model


def first_rounds(model: Any, n_rounds: int) -> Any:
    """Return a model of the first trees of another, without the rows that they were grown on."""
    import lightgbm

    return lightgbm.Booster(model_str=model.model_to_string(num_iteration=n_rounds))


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
        self._columns: dict[int, Any] = {}
        self._last: tuple[bytes, Any] = b"", None
        self._pool = pool
        self._place: IntArray | None = None
        if pool is not None:
            self._place = np.full(len(bins), -1)
            self._place[pool] = np.arange(len(pool))

    def data(self, rows: IntArray, tried: IntArray, targets: FloatArray) -> tuple[Any, int]:
        """Return the data set of some codes in those of the rows that may train, and the number of these rows.

        Args:
            rows: In increasing order.
            tried: Codes.
            targets: One for each row, ``(n_rows,)``.
        """
        import lightgbm

        if self._place is not None:
            own = self._place[rows] >= 0
            rows, targets = rows[own], targets[own]
        if self.bins.size > MOST_KEPT and self._place is None:
            reference = _reference(len(tried), self.n_bins)
            cells = self.bins[np.ix_(rows, tried)]
            return lightgbm.Dataset(cells, targets, reference=reference, params={**QUIET, **DATA}), len(rows)
        found = self._joined(tried).subset(rows if self._place is None else self._place[rows]).construct()
        found.set_label(targets)
        return found, len(rows)

    def _joined(self, codes: IntArray) -> Any:
        """Return a data set of all rows of some codes, the last one again where they are the same."""
        from lightgbm import basic

        if self._last[0] == codes.tobytes():
            return self._last[1]
        library: Any = vars(basic)["_LIB"]
        first, *others = (self._column(int(code)) for code in codes)
        found = first.subset(np.arange(first.num_data())).construct()
        for other in others:
            # As Dataset.add_features_from does, which besides warns of raw data that is not there.
            basic._safe_call(library.LGBM_DatasetAddFeaturesFrom(found._handle, other._handle))
        self._last = codes.tobytes(), found
        return found

    def _column(self, code: int) -> Any:
        import lightgbm

        if code not in self._columns:
            cells = self.bins[slice(None) if self._pool is None else self._pool, code][:, None]
            self._columns[code] = lightgbm.Dataset(
                cells,
                np.zeros(len(cells)),
                reference=_reference(1, self.n_bins),
                feature_name=[f"code_{code}"],
                params={**QUIET, **DATA},
            ).construct()
        return self._columns[code]


_lock = Lock()


def _reference(n_codes: int, n_bins: int) -> Any:
    """Return a data set of so many columns that have every bin once."""
    with _lock:
        return _made(n_codes, n_bins)


@lru_cache(maxsize=8)
def _made(n_codes: int, n_bins: int) -> Any:
    import lightgbm

    every = np.tile(np.arange(n_bins, dtype=np.uint8)[:, None], (1, n_codes))
    return lightgbm.Dataset(every, np.zeros(n_bins), params={**QUIET, **DATA}).construct()
