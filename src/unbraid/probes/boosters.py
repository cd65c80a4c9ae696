"""Data sets of bins and models of trees, by the C interface of LightGBM.

The interface in Python converts and checks whatever it is given, which for small trees takes longer than to grow them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray, FloatArray, IntArray

#: Bytes of the text of a model that are set aside before its length is known.
USUAL_TEXT = 1 << 16
#: Types of numbers, kinds of predictions and of importances, as the C interface numbers them.
SINGLE, DOUBLE, VALUES, LEAVES, SPLITS = 0, 1, 0, 2, 0

Settings = Mapping[str, Any]


@cache
def _library() -> Any:
    from lightgbm import basic

    return vars(basic)["_LIB"]


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the library.

    Raises:
        lightgbm.basic.LightGBMError: What the library reports.
    """
    from lightgbm import basic

    basic._safe_call(getattr(_library(), name)(*arguments))


def _text_of(settings: Settings) -> bytes:
    return " ".join(f"{name}={value}" for name, value in settings.items()).encode()


def _cells(codes: AnyArray) -> tuple[AnyArray, ctypes.c_int]:
    """Rows one after the other in single or double precision, and the number of that type."""
    kind = np.float64 if codes.dtype == np.float64 else np.float32
    return np.ascontiguousarray(codes, dtype=kind), ctypes.c_int(DOUBLE if kind == np.float64 else SINGLE)


class _Owned:
    """Something of the library, freed with the object that has it."""

    __slots__ = ("_free", "handle")

    def __init__(self, free: str) -> None:
        self.handle = ctypes.c_void_p()
        # Kept here, as modules may be gone when the last objects are.
        self._free: Callable[[Any], Any] = getattr(_library(), free)

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)


class TreeData(_Owned):
    """Rows of codes as bins, with a target for each row.

    Attributes:
        n_rows: Number of rows.
    """

    __slots__ = ("n_rows",)

    def __init__(self, n_rows: int) -> None:
        super().__init__("LGBM_DatasetFree")
        self.n_rows = n_rows

    @classmethod
    def of(
        cls, codes: AnyArray, settings: Settings, *, like: TreeData | None = None, names: Sequence[str] = ()
    ) -> TreeData:
        """Look up the bins of codes.

        Args:
            codes: ``(n_rows, n_codes)``.
            settings: As LightGBM takes them.
            like: Data set whose bins are used; without one, bins are made from the codes.
            names: A name for each code, which data sets that are joined must not share.
        """
        found = cls(len(codes))
        cells, kind = _cells(codes)
        _call(
            "LGBM_DatasetCreateFromMat",
            ctypes.c_void_p(cells.ctypes.data),
            kind,
            ctypes.c_int32(codes.shape[0]),
            ctypes.c_int32(codes.shape[1]),
            ctypes.c_int(1),
            ctypes.c_char_p(_text_of(settings)),
            None if like is None else like.handle,
            ctypes.byref(found.handle),
        )
        if names:
            given = (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
            _call("LGBM_DatasetSetFeatureNames", found.handle, given, ctypes.c_int(len(names)))
        return found

    def of_rows(self, rows: IntArray, settings: Settings) -> TreeData:
        """Return a copy of some rows, which are in increasing order, without targets."""
        found, places = TreeData(len(rows)), np.ascontiguousarray(rows, dtype=np.int32)
        _call(
            "LGBM_DatasetGetSubset",
            self.handle,
            ctypes.c_void_p(places.ctypes.data),
            ctypes.c_int32(len(places)),
            ctypes.c_char_p(_text_of(settings)),
            ctypes.byref(found.handle),
        )
        return found

    def add_codes(self, other: TreeData) -> None:
        """Add the codes of another data set of the same rows."""
        _call("LGBM_DatasetAddFeaturesFrom", self.handle, other.handle)

    def set_targets(self, targets: FloatArray) -> None:
        """Set the target of each row."""
        given = np.ascontiguousarray(targets, dtype=np.float32)
        _call(
            "LGBM_DatasetSetField",
            self.handle,
            ctypes.c_char_p(b"label"),
            ctypes.c_void_p(given.ctypes.data),
            ctypes.c_int(len(given)),
            ctypes.c_int(SINGLE),
        )


class TreeModel(_Owned):
    """Trees of one output; none at first."""

    __slots__ = ("_data", "settings")

    def __init__(self, settings: Settings) -> None:
        super().__init__("LGBM_BoosterFree")
        self.settings = settings
        self._data: tuple[TreeData, ...] = ()

    @classmethod
    def of(cls, data: TreeData, settings: Settings) -> TreeModel:
        """Return a model without trees, which are to grow on some rows."""
        found = cls(settings)
        _call("LGBM_BoosterCreate", data.handle, ctypes.c_char_p(_text_of(settings)), ctypes.byref(found.handle))
        found._data = (data,)
        return found

    def without_rows(self) -> TreeModel:
        """Return a model of the same trees, without the rows that they were grown on."""
        found, n_rounds = TreeModel(self.settings), ctypes.c_int(0)
        text = ctypes.c_char_p(self.text().encode())
        _call("LGBM_BoosterLoadModelFromString", text, ctypes.byref(n_rounds), ctypes.byref(found.handle))
        return found

    def watch(self, data: TreeData) -> None:
        """Predict other rows too while trees grow."""
        _call("LGBM_BoosterAddValidData", self.handle, data.handle)
        self._data = (*self._data, data)

    def grow(self) -> bool:
        """Grow one more tree; return whether it found nothing to split, which ends the growth."""
        ended = ctypes.c_int(0)
        _call("LGBM_BoosterUpdateOneIter", self.handle, ctypes.byref(ended))
        return ended.value == 1

    def watched_error(self) -> float:
        """Mean squared error in the rows that are watched."""
        n_found, error = ctypes.c_int(0), ctypes.c_double(0.0)
        _call("LGBM_BoosterGetEval", self.handle, ctypes.c_int(1), ctypes.byref(n_found), ctypes.byref(error))
        return error.value

    def text(self, n_rounds: int = -1) -> str:
        """Return the first trees, or all, as LightGBM writes them into files."""
        length, needed = USUAL_TEXT, ctypes.c_int64(0)
        while True:
            written = ctypes.create_string_buffer(length)
            _call(
                "LGBM_BoosterSaveModelToString",
                self.handle,
                ctypes.c_int(0),
                ctypes.c_int(n_rounds),
                ctypes.c_int(SPLITS),
                ctypes.c_int64(length),
                ctypes.byref(needed),
                written,
            )
            if needed.value <= length:
                return written.value.decode()
            length = needed.value

    def leaves(self, codes: AnyArray, n_rounds: int = -1) -> AnyArray:
        """Leaf of each row in each of the first trees, or of all, counted from 0, ``(n_rows, n_trees)``."""
        found = self._told(codes, LEAVES, n_rounds)
        return found.astype(np.uint16).reshape(len(codes), -1) if len(codes) else np.zeros((0, 0), dtype=np.uint16)

    def predict(self, codes: AnyArray) -> FloatArray:
        """Sum of the trees, or of a forest their mean, ``(n_rows,)``."""
        return self._told(codes, VALUES, -1)

    def _told(self, codes: AnyArray, kind_of: int, n_rounds: int) -> FloatArray:
        n_found, rounds, kind = ctypes.c_int64(0), ctypes.c_int(n_rounds), ctypes.c_int(kind_of)
        n_rows, start = ctypes.c_int32(len(codes)), ctypes.c_int(0)
        _call("LGBM_BoosterCalcNumPredict", self.handle, n_rows, kind, start, rounds, ctypes.byref(n_found))
        found, (cells, number) = np.empty(n_found.value), _cells(codes)
        if found.size:
            _call(
                "LGBM_BoosterPredictForMat",
                self.handle,
                ctypes.c_void_p(cells.ctypes.data),
                number,
                n_rows,
                ctypes.c_int32(codes.shape[1]),
                ctypes.c_int(1),
                kind,
                start,
                rounds,
                ctypes.c_char_p(b"num_threads=1 verbose=-1"),
                ctypes.byref(n_found),
                ctypes.c_void_p(found.ctypes.data),
            )
        return found
