"""The ``unbraid`` command: its subcommands, and errors in one sentence."""

import codecs
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError
from rich.console import Console

from unbraid._base.interruption import CODE, end_on_interrupt, flush_and_leave, was_pressed
from unbraid._base.text import printable
from unbraid._version import __version__


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


app = App(
    name="unbraid",
    version=__version__,
    help=(
        "Measure learned representations: how well the factors behind the data are separated in a model's codes.\n\n"
        "Start with `unbraid demo`, then `unbraid score FILE` on your own codes."
    ),
    help_format="markdown",
    console=Console(),
    error_console=Console(stderr=True),
    suppress_keyboard_interrupt=False,
)
#: Commands in the order of the help, and the module of each: imported when it is asked for, or for that help.
COMMANDS = {
    "demo": "_score",
    "score": "_score",
    "explore": "_explore",
    "compare": "_compare",
    "metrics": "_metrics",
    "audit": "_audit",
    "manifold": "_manifold",
    "reproduce": "_reproduce",
    "train": "_train",
    "flow": "_flow",
    "study": "_study",
    "data": "_data",
}
for _name, _module in COMMANDS.items():
    app.command(f"unbraid.cli.{_module}:{_name}", name=_name)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 when all went well, 2 on bad input, 130 after Ctrl-C."""
    if arguments is None:
        end_on_interrupt()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the command
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, as long as the command runs
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        codecs.register_error(ESCAPED, _escaped)
        sys.stdout.reconfigure(errors=ESCAPED)
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    if not tokens or tokens[0] not in (*COMMANDS, "--version"):
        for name in COMMANDS:
            app[name]
    try:
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _fail(refusal(error))
    except KeyboardInterrupt:
        if was_pressed():
            flush_and_leave()
        print("unbraid: interrupted", file=sys.stderr)
        sys.exit(CODE)
    except BrokenPipeError:  # whoever read has seen enough; what is left must not be written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError as error:
        _fail(f"there is not enough memory ({' '.join(str(error).split()) or 'no more is given'}); give fewer rows.")
    except OSError as error:
        _fail(_system_error(error))
    except (ValueError, TypeError) as error:
        _fail(str(error))
    sys.exit(0)


#: Name of the handler of characters that standard output has no bytes for.
ESCAPED = "unbraid-escaped"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write characters as JSON escapes them, so that JSON stays JSON in any locale."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _system_error(error: OSError) -> str:
    """Return what the system could not do, as a sentence; an error without a number has one already."""
    if error.errno is None or error.strerror is None:
        return str(error)
    return f"{f'{str(error.filename)!r} cannot be used: ' if error.filename else ''}{error.strerror.rstrip('.')}."


def _fail(sentence: str) -> NoReturn:
    print(f"unbraid: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    sys.exit(2)
