"""Settings given as text, such as ``widths=2+8+32,n_steps=500``, read into a dataclass."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from unbraid._base.checks import did_you_mean

T = TypeVar("T")


def read_settings(text: str, kind: type[T], *, option: str) -> T:
    """Return a dataclass with the settings that a text names, and its defaults for the others.

    Args:
        text: ``name=value`` separated by commas; the numbers of a list are separated by ``+``.
        kind: A dataclass whose fields are numbers, words, truth values or tuples of numbers.
        option: Name of the option, for the error.

    Raises:
        ValueError: A setting that there is not, or a value that its field does not take.

    Example:
        >>> from unbraid.probes.sage import SageOptions
        >>> read_settings("max_rows=128,tolerance=0.1", SageOptions, option="sage").max_rows
        128
    """
    hints = get_type_hints(kind)
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in known:
            raise ValueError(
                f"{option} must have settings among {', '.join(known)}, such as {known[0]}=..., got {part!r}"
                f"{did_you_mean(name, known)}."
            )
        given[name] = _read(value, hints[name], f"{option}, {name},")
    return kind(**given)


def _read(text: str, hint: Any, what: str) -> Any:
    """Read one value as its field has it."""
    try:
        if get_origin(hint) is tuple:
            return tuple(get_args(hint)[0](part) for part in text.split("+"))
        if hint is bool:
            return {"true": True, "false": False}[text.lower()]
        return hint(text) if hint in (int, float) else text
    except (KeyError, ValueError):
        form = "numbers separated by +" if get_origin(hint) is tuple else getattr(hint, "__name__", str(hint))
        raise ValueError(f"{what} must be {form}, got {text!r}.") from None
