"""Public names of a package without ``__all__`` in its source: names imported as themselves, as type checkers read it.

``unbraid._base.lazy`` makes ``__all__`` from the same imports when a package is imported.
"""

import ast
from typing import Any

from griffe import Extension, Module


class ReExports(Extension):
    """Reads ``from module import name as name`` as a public name of the package."""

    def on_module_members(self, *, node: Any, mod: Module, **_: Any) -> None:
        """Set the exports of a module whose source has no ``__all__``."""
        if mod.exports is not None or not isinstance(node, ast.Module):
            return
        imports = [one for one in ast.walk(node) if isinstance(one, ast.ImportFrom)]
        names = [name.name for one in imports for name in one.names if name.asname == name.name]
        mod.exports = sorted(names) or None
