"""Load FILE.py:NAME."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unbraid._base.checks import did_you_mean
from unbraid._base.optional import pip_install


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
