"""What families of scores have in common: they are several numbers, not one."""


def not_one_number(name: str, fields: tuple[str, ...]) -> TypeError:
    """Return the error for ``float()`` of a family, which names its scores.

    Example:
        >>> print(not_one_number("Pair", ("low", "high")))
        Pair has 2 scores, so it is not one number; take one of them, as in .low: low, high.
    """
    return TypeError(
        f"{name} has {len(fields)} scores, so it is not one number; "
        f"take one of them, as in .{fields[0]}: {', '.join(fields)}."
    )
