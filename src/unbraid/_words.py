"""Lists and names, as sentences write them."""

from collections.abc import Sequence


def listing(items: Sequence[str], most: int = 6) -> str:
    """Join words as a sentence does, cutting a long list short.

    Example:
        >>> listing(["a", "b", "c"]), listing(["a", "b", "c", "d"], most=2)
        ('a, b and c', 'a, b and 2 more')
    """
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def quoted(names: Sequence[str], most: int = 6) -> str:
    """Join names of factors or codes, each in quotes, so that they are not read as words of the sentence.

    Example:
        >>> quoted(["x", "y"])
        '“x” and “y”'
    """
    return listing([f"“{name}”" for name in names], most)
