"""The command line: parse, call, print. Results to standard output, talk to standard error, 2 on bad input."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from unbraid._version import __version__
from unbraid.cli._audit import audit
from unbraid.cli._data import data
from unbraid.cli._demo import demo
from unbraid.cli._manifold import manifold
from unbraid.cli._metrics import metrics
from unbraid.cli._reproduce import reproduce
from unbraid.cli._score import score
from unbraid.cli._study import study
from unbraid.cli._train import train

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
app.command(demo)
app.command(score)
app.command(metrics)
app.command(audit)
app.command(manifold)
app.command(reproduce)
app.command(train)
app.command(study)
app.command(data)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 when all went well, 2 on bad input."""
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        _fail(f"{error} See `unbraid --help`.")
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
