"""Results that several pieces of work derive from the same data, each made once, within a limit of memory."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from unbraid._base.workers import Once

Result = TypeVar("Result")


class Memo:
    """Results by key; where they take more than a limit, the ones that were not asked for longest are forgotten.

    A thread that asks for a result that another thread makes waits for it. A pickled memo is an empty one.

    Args:
        most_bytes: Memory of all results together. The last one is kept whatever its size.

    Example:
        >>> import numpy as np
        >>> memo = Memo(most_bytes=100)
        >>> memo.once("zeros", lambda: np.zeros(10)) is memo.once("zeros", lambda: np.ones(10))
        True
        >>> memo.once("others", lambda: np.ones(10)).sum(), "zeros" in memo
        (np.float64(10.0), False)
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Once[Any]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._sizes

    def __reduce__(self) -> tuple[Any, ...]:
        return Memo, (self.most_bytes,)

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return the result of this key; ``make`` is called only where it is not there."""
        with self._lock:
            once = self._found.setdefault(key, Once(make))
            self._found.move_to_end(key)
        found: Result = once()
        with self._lock:
            if self._found.get(key) is once and key not in self._sizes:
                self._sizes[key] = n_bytes(found)
                self._forget(key)
        return found

    def _forget(self, last: Hashable) -> None:
        """Drop results that are made, oldest first, until the others fit."""
        for key in [key for key in self._found if key in self._sizes and key != last]:
            if sum(self._sizes.values()) <= self.most_bytes:
                return
            del self._found[key], self._sizes[key]


def n_bytes(value: Any) -> int:
    """Return the memory of arrays, alone, in tuples or in dataclasses; 0 for anything else.

    Example:
        >>> import numpy as np
        >>> n_bytes((np.zeros(3), np.zeros(2, dtype=np.uint8), "text"))
        26
    """
    if isinstance(value, tuple):
        return sum(map(n_bytes, value))
    if is_dataclass(value):
        return sum(n_bytes(getattr(value, field.name)) for field in fields(value))
    return int(getattr(value, "nbytes", 0))
