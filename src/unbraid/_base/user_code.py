"""Objects of a user's own Python file, addressed as FILE.py:NAME."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from unbraid._base.checks import did_you_mean
from unbraid._base.optional import pip_install


def load_object(argument: str, address: str, *, default: str = "", make: bool = False) -> tuple[str, Any]:
    """Run a Python file and return a name in it with the object of that name.

    The file is run, so give only one you trust. Meanwhile its folder can be imported from.

    Args:
        argument: Name of the address in messages.
        address: ``FILE.py:NAME``, or ``FILE.py`` where there is a default name.
        default: The name that is taken where the address has none.
        make: Whether to call a function or class that needs no argument, and return what it makes.

    Raises:
        ValueError: No such file or name, or the file or function fails.
    """
    file, colon, name = address.rpartition(":")
    if not (colon and name.isidentifier()):
        file, name = address, default
    if not name:
        raise ValueError(f"{argument} must be FILE.py:NAME, got {address!r}.")
    trouble = f"{argument} {address!r} cannot be loaded"
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"{trouble}: there is no file {file!r}.")
    if path.suffix != ".py":
        raise ValueError(f"{trouble}: {file!r} is not a Python file, which ends in .py.")
    with _folder_on_path(path):
        found = vars(_attempt(lambda: _run(path), trouble))
        if name not in found:
            known = [one for one in found if not one.startswith("_")]
            raise ValueError(f"{trouble}: {file} has no {name!r}{did_you_mean(name, known)}.")
        made = make and _is_factory(found[name])
        return name, _attempt(found[name], trouble) if made else found[name]


@contextmanager
def kept_apart(argument: str) -> Iterator[None]:
    """Run a user's code: what it prints goes to standard error, and it cannot end the program.

    Raises:
        ValueError: The code asked to end the program.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        raise ValueError(
            f"{argument} must not end the program, but it called sys.exit({error.code!r}); take that call out."
        ) from error


def _run(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"_unbraid_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look there
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # nothing is written beside a file of the user
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


@contextmanager
def _folder_on_path(path: Path) -> Iterator[None]:
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _attempt(call: Callable[[], Any], trouble: str) -> Any:
    """Call a user's code; any error is raised again with its place in the user's file."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())[:300].rstrip(".")
        missing_torch = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "torch"
        cure = f" Run {pip_install('torch')}." if missing_torch else ""
        raise ValueError(f"{trouble}: {type(error).__name__}: {text}.{cure}") from error


def _is_factory(found: Any) -> bool:
    """Return whether this is a function, or a class, that needs no argument."""
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return False
    parameters = inspect.signature(found).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
