"""The command line: parse, call, print. Results to standard output, talk to standard error, 2 on bad input."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from unbraid._version import __version__
from unbraid.cli._refusal import refusal

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
)
#: Each is in a module of its own, which is imported when it is asked for, or for the help that lists them all.
COMMANDS = ("demo", "score", "compare", "metrics", "audit", "manifold", "reproduce", "train", "study", "data")
for _name in COMMANDS:
    app.command(f"unbraid.cli._{_name}:{_name}", name=_name)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 when all went well, 2 on bad input."""
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    if not tokens or tokens[0] not in (*COMMANDS, "--version"):
        for name in COMMANDS:
            app[name]
    try:
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        _fail(refusal(error))
    except KeyboardInterrupt:
        print("unbraid: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error))
    sys.exit(0)


def _fail(sentence: str) -> NoReturn:
    print(f"unbraid: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(2)
