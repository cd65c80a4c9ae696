"""Provenance of a result, and results as JSON."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._base.files import write_text
from unbraid._version import __version__


def versions() -> dict[str, str]:
    """Return the versions that a result was computed with.

    Example:
        >>> list(versions())
        ['unbraid', 'numpy', 'python']
    """
    return {"unbraid": __version__, "numpy": np.__version__, "python": platform.python_version()}


def provenance(*, seed: int, started: float) -> dict[str, Any]:
    """Return seed, versions and seconds of a computation.

    Args:
        seed: The seed of its random numbers.
        started: ``time.perf_counter()`` when it began.
    """
    return {"seed": seed, **versions(), "seconds": round(time.perf_counter() - started, 3)}


class JsonResult:
    """A result that can be written as JSON; a subclass defines its content with ``to_dict``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        raise NotImplementedError

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the result as JSON, and write it to ``path`` if given. A number that is not finite becomes null."""
        return write_json(self.to_dict(), path)


def write_json(
    data: Mapping[str, Any], path: str | Path | None = None, *, infinite: Callable[[float], str] | None = None
) -> str:
    """Return plain data as JSON, and write it to ``path`` if given; ``infinite`` as in :func:`finite`."""
    text = as_json(data, infinite=infinite)
    if path is not None:
        write_text(path, text + "\n")
    return text


def as_json(data: Any, *, infinite: Callable[[float], str] | None = None) -> str:
    """Write plain data as indented JSON, a list of numbers on one line; ``infinite`` as in :func:`finite`.

    Example:
        >>> print(as_json({"matrix": [[1, 2.5], [float("nan"), 3]]}))
        {
          "matrix": [
            [1, 2.5],
            [null, 3]
          ]
        }
    """
    return _indented(finite(data, infinite=infinite), "\n")


def finite(value: Any, *, infinite: Callable[[float], str] | None = None) -> Any:
    """Return plain data with every number that is not finite as ``None``, or as the text that ``infinite`` makes."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else infinite and infinite(number)
    if isinstance(value, dict):
        return {str(key): finite(item, infinite=infinite) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item, infinite=infinite) for item in value]
    return value


def _indented(value: Any, line: str) -> str:
    """Write a value whose closing bracket stands after ``line``, a line break and an indent.

    ``json.dumps`` with an indent is many times slower, and gives every number of a matrix a line.
    """
    inner = line + "  "
    if isinstance(value, dict) and value:
        items = (f"{_plain(key)}: {_indented(item, inner)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}"
    if isinstance(value, list) and not all(item is None or type(item) in (int, float) for item in value):
        items = (_indented(item, inner) for item in value)
        return f"[{inner}{f',{inner}'.join(items)}{line}]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
