"""A metric from a file: ``metric.py`` or ``metric.py:name``."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unbraid._validation import did_you_mean

DEFAULT_NAME = "metric"


def load_plugin(place: str) -> tuple[str, Callable[..., Any]]:
    """Return name and function of ``FILE`` or ``FILE:NAME``; the file is run, so give only one you trust.

    Raises:
        ValueError: No such file, a file that does not run, or one without that function.
    """
    path, wanted = _split(place)
    if not path.is_file():
        raise ValueError(f"plugin {str(path)!r} is not a file; give a Python file, or FILE:NAME.")
    if path.suffix != ".py":
        raise ValueError(f"plugin must be a Python file that ends in .py, got {str(path)!r}.")
    module = _execute(path)
    functions = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    if wanted not in functions:
        raise ValueError(
            f"plugin {str(path)!r} has no function {wanted!r}{did_you_mean(wanted, functions)}; "
            "define it, or name another as FILE:NAME."
        )
    return wanted, functions[wanted]


def _split(place: str) -> tuple[Path, str]:
    head, colon, tail = place.rpartition(":")
    if colon and tail.isidentifier() and head.endswith(".py"):
        return Path(head), tail
    return Path(place), DEFAULT_NAME


def _execute(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file raises, the sentence says where
        raise ValueError(f"plugin {str(path)!r} could not be run: {type(error).__name__}: {error}") from error
    return module
