"""Commands in the documentation must be commands: names and options that the programs know."""

import re
import shlex
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import pytest
from cyclopts import CycloptsError, MissingArgumentError

from unbraid.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"])
IN_BLOCK = re.compile(r"^(?: {4})*(?:\$ )?(?P<command>(?:unbraid|make|python) .+)$", re.MULTILINE)
IN_TEXT = re.compile(r"`(?P<command>(?:unbraid|make|python) [^`\n]+)`")
PLACEHOLDER = re.compile(r"\b(?:FILE|NAME|[A-Z]{3,})\b|\.\.\.|…")
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def commands(text: str) -> list[str]:
    """Return the commands of a page, without comments; those that name a FILE stand for many and are left out."""
    without_python = re.sub(r"^ *```python.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    without_python = re.sub(r"\\\n *", "", without_python)  # a line that goes on
    found = [match["command"] for kind in (IN_BLOCK, IN_TEXT) for match in kind.finditer(without_python)]
    return [command for command in found if not PLACEHOLDER.search(command)]


def check(command: str) -> None:
    """Fail on a name or option that there is not. An argument may be missing: text names commands without."""
    program, *words = takewhile(
        lambda word: word not in ("|", "&&", ";", ">", "&"), shlex.split(command, comments=True)
    )
    if program == "unbraid":
        with suppress(MissingArgumentError):
            app.parse_args(words, exit_on_error=False, print_error=False)
    elif program == "make":
        assert set(words) <= TARGETS, f"the Makefile has no {words}"
    elif not words[0].startswith("-"):
        assert (ROOT / words[0]).is_file(), f"there is no {words[0]}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_are_known(path: Path) -> None:
    for command in commands(path.read_text(encoding="utf-8")):
        try:
            check(command)
        except (CycloptsError, ValueError) as error:
            pytest.fail(f"{command}: {error}")


def test_commands_are_found_and_wrong_ones_noticed() -> None:
    block = "    unbraid audit --metric mig  # a note\n\n```text\nunbraid demo\n```\n"
    text = f"{block}`unbraid metrics`; `unbraid data fetch NAME`"
    assert commands(text) == ["unbraid audit --metric mig  # a note", "unbraid demo", "unbraid metrics"]
    assert commands("unbraid score \\\n    a.npz --json - | cat") == ["unbraid score a.npz --json - | cat"]
    assert sum(len(commands(path.read_text(encoding="utf-8"))) for path in PAGES) > 60
    check("unbraid score a.npz --json - | cat")
    for wrong in ("unbraid scor a.npz", "unbraid audit --metrik mig"):
        with pytest.raises(CycloptsError):
            check(wrong)
    for wrong in ("make coffee", "python benchmarks/nothing.py"):
        with pytest.raises(AssertionError):
            check(wrong)
