"""Content hashes: what was made the same way has the same name."""

from __future__ import annotations

import hashlib
import json
from typing import Any

#: Characters of a key: 96 bits, beyond any chance of two being equal by accident.
LENGTH = 24


def content_key(*parts: Any) -> str:
    """Return a hash of plain data: texts, numbers, lists and dictionaries, whose order of keys does not matter.

    Example:
        >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1}) != content_key({"a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
