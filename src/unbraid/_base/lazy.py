"""Public names of a package, listed once and imported on first use.

A package lists its names where type checkers and documentation tools read them: in ``from module import name as name``
statements, those to be imported on first use under ``if TYPE_CHECKING``. The same statements are read here at run time.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import takewhile
from types import ModuleType
from typing import Any

#: ``__getattr__``, ``__dir__`` and ``__all__`` of a package.
Public = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def public_names(package: str, *, renamed: Mapping[str, str] | None = None) -> Public:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from the imports in its ``__init__.py``.

    Args:
        package: Name of the package.
        renamed: Earlier public names, each with its name now; a use of an earlier name warns.
    """
    listed = dict(_listed(ast.parse(_source(package)).body))
    earlier = renamed or {}

    def get(name: str) -> Any:
        if name in earlier:
            words = f"{package}.{name} is now called {earlier[name]}; the old name goes with the next release."
            warnings.warn(words, DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[package], earlier[name])
        if name not in listed:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = listed[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *listed}), sorted(listed)


def listed_modules(package: str, *, up_to: str) -> list[ModuleType]:
    """Return the modules that a package lists public names of, in the order of its ``__init__.py``.

    Args:
        package: Name of the package.
        up_to: The module that asks; modules listed after it are left out.
    """
    names = dict.fromkeys(module for _, module in _listed(ast.parse(_source(package)).body))
    return [import_module(name) for name in takewhile(lambda name: name != up_to, names)]


def _source(package: str) -> str:
    spec = sys.modules[package].__spec__
    source = getattr(spec and spec.loader, "get_source", lambda name: None)(package)
    if source is None:
        raise ImportError(f"the source of {package} must be readable, as it lists the public names of the package.")
    return str(source)


def _listed(statements: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield each name that is imported as itself, with its module, also under ``if``."""
    for node in statements:
        if isinstance(node, ast.If):
            yield from _listed(node.body)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((one.name, node.module) for one in node.names if one.asname == one.name)
