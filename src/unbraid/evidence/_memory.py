"""Memory budgets, as people write them."""

import re

UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_memory(memory: str | int | float) -> int:
    """Return a budget in bytes.

    Args:
        memory: Bytes, or a text such as ``"2GiB"``, ``"500 MB"`` or ``"1.5g"``; units are powers of 1024.

    Raises:
        ValueError: Not such a text, or not positive.

    Example:
        >>> parse_memory("2GiB"), parse_memory("512 k"), parse_memory(1000)
        (2147483648, 524288, 1000)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)(?:i?b)?\s*", str(memory).lower())
    try:
        size = int(float(match[1]) * UNITS[match[2]]) if match else 0
    except ValueError:
        size = 0
    if size < 1:
        raise ValueError(f"memory must be a size such as '2GiB' or a number of bytes, got {memory!r}.")
    return size
