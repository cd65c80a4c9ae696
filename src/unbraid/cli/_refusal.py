"""What is said of a command line that makes no sense: one sentence, and which help to read."""

import inspect
import re

from cyclopts import CycloptsError, MissingArgumentError, UnusedCliTokensError


def refusal(error: CycloptsError) -> str:
    """Say what is wrong, and name the help of the command that was asked for."""
    command = " ".join(("unbraid", *(error.command_chain or ())))
    return f"{_complaint(error, command)} See `{command} --help`."


def _complaint(error: CycloptsError, command: str) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"`{command}` takes no {', '.join(map(repr, error.unused_tokens or ()))}."
    if isinstance(error, MissingArgumentError) and _is_left_out(error):
        return f"`{command}` needs {_what_is_missing(error)}"
    return str(error)


def _is_left_out(error: MissingArgumentError) -> bool:
    """Tell an argument that was not given from one that was given no value, or misspelled."""
    given = error.keyword is not None or (error.argument is not None and bool(error.argument.tokens))
    return not given and "Did you mean" not in str(error)


def _what_is_missing(error: MissingArgumentError) -> str:
    assert error.argument is not None
    name = error.argument.name
    shown = name.lstrip("-").upper() if error.argument.field_info.is_positional else name
    about = _described(error.argument.field_info.name, inspect.getdoc(error.target) or "")
    return f"{shown}: {about[:1].lower()}{about[1:]}" if about else f"{shown}."


def _described(parameter: str, docstring: str) -> str:
    """Return what a command's docstring says of a parameter: the indented lines under its name."""
    found = re.search(rf"^{re.escape(parameter)}\n((?:[ ]+\S.*\n?)+)", docstring, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""
