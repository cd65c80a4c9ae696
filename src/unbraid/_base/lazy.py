"""Names of a package that are imported when they are first used, so that a command pays for what it needs only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, names: Mapping[str, Sequence[str]], *, modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports nothing before it is asked to.

    Args:
        package: Its name.
        names: What each of its modules lends the package.
        modules: Modules that are attributes of the package themselves.
    """
    home = {name: module for module, lent in names.items() for name in lent}

    def get(name: str) -> Any:
        if name in home:
            value = getattr(import_module(home[name], package), name)
        elif name in modules:
            value = import_module(f".{name}", package)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names_there() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *modules})

    return get, names_there
