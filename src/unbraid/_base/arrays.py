"""Array types used in signatures, and errors of array files."""

import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
ByteArray: TypeAlias = NDArray[np.uint8]
#: What NumPy raises for a damaged file beside usual errors; headers are Python, which NumPy parses.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError),
    *(SyntaxError, tokenize.TokenError, NotImplementedError, OverflowError),
)


@contextmanager
def parsing_headers() -> Iterator[None]:
    """Keep NumPy quiet about headers of damaged files: sizes that overflow, and numbers as Python 2 wrote them."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
