"""Things that a user keeps in a Python file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from unbraid._install import pip_install
from unbraid._validation import did_you_mean


def load_object(address: str) -> Any:
    """Run a Python file and return what a name in it stands for.

    Args:
        address: ``MODULE.py:NAME``. A function that needs no argument is called, and what it returns is taken; the
            file's folder can be imported from.

    Raises:
        ValueError: No such file or name, or the file or function fails.
    """
    file, colon, name = address.rpartition(":")
    if not colon or not name.isidentifier():
        raise ValueError(f"decoder must be MODULE.py:NAME, got {address!r}.")
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"decoder {address!r} cannot be loaded: there is no file {file!r}.")
    module = _run(path, address)
    if not hasattr(module, name):
        known = [one for one in vars(module) if not one.startswith("_")]
        raise ValueError(f"decoder {address!r} cannot be loaded: {file} has no {name!r}{did_you_mean(name, known)}.")
    found = getattr(module, name)
    return _made(found, address) if _is_factory(found) else found


def _run(path: Path, address: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"_unbraid_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(
            f"decoder {address!r} cannot be loaded: {str(path)!r} is not a Python file, which ends in .py."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        missing_torch = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "torch"
        cure = f" Run {pip_install('torch')}." if missing_torch else ""
        raise ValueError(f"decoder {address!r} cannot be loaded: {_described(error)}{cure}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _is_factory(found: Any) -> bool:
    """Tell whether this is a function, or a class, that needs no argument."""
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return False
    parameters = inspect.signature(found).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _made(factory: Any, address: str) -> Any:
    try:
        return factory()
    except Exception as error:
        raise ValueError(f"decoder {address!r} cannot be made: {_described(error)}") from error


def _described(error: Exception) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}{'' if text.endswith('.') else '.'}"
