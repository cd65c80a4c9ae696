"""The contract of the command line, and one input run against it."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis.strategies import SearchStrategy

import unbraid
from unbraid._base.text import printable
from unbraid.cli import main

GOOD, REFUSED = 0, 2
#: Limits on one input: seconds of the processor, seconds on the clock (machines may be busy), bytes of memory.
MOST_SECONDS, MOST_WAIT, MOST_BYTES = 10.0, 300.0, 512 * 2**20
#: Warnings that Python itself does not show by default.
UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
MARK = "unbraid: "
SOURCE = Path(unbraid.__file__).parent
#: Folder for temporary files of a command, within the folder of an input; empty afterwards.
TEMPORARY = "tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One command and the files it reads; printed as it is when it breaks the contract.

    Attributes:
        command: Arguments of ``unbraid``, or what a reader of its own takes.
        outputs: Paths that the command may write, and folders, with a slash at the end, whose files are its own.
        codes: Exit codes that the command may end with.
        prints: Whether a user's code may print lines of its own to standard error.
        files: Contents by path.
        arrays: The same data in Python, where they are known.
    """

    command: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    codes: tuple[int, ...] = (GOOD, REFUSED)
    prints: bool = False
    files: Mapping[str, bytes]
    arrays: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a command ended.

    Attributes:
        code: Exit code.
        out: Standard output.
        err: Standard error.
    """

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The sentence of a refusal, or nothing."""
        last = self.err.rstrip("\n").rpartition("\n")[2]
        return last if self.code == REFUSED else ""


#: Checks that go beyond the contract, such as that a number is right; raises :class:`ContractError`.
Check = Callable[[Input, Outcome, Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An input format.

    Attributes:
        name: Name on the command line of the harness.
        inputs: Where inputs come from.
        check: What must hold beside the contract.
        call: What is called with the input in place of the command line, for files that no command reads alone.
    """

    name: str
    inputs: SearchStrategy[Input]
    check: Check | None = None
    call: Callable[[Input, Path], object] | None = None


class ContractError(AssertionError):
    """An input that breaks the contract."""


class _TooLongError(BaseException):
    """The clock of an input ran out; nothing catches it by accident."""


def run(one: Input, kind: Format, place: Path, *, in_process: bool = True) -> Outcome:
    """Run an input in an empty folder and check the contract.

    Args:
        one: The input.
        kind: Its format.
        place: Folder to empty and to use.
        in_process: Run it here, which is quick, and not in a process of its own.

    Raises:
        ContractError: The contract is broken.
    """
    _fill(place, one.files)
    before = _content(place)
    started, largest = time.process_time(), _largest()
    with chdir(place), _temporary(place / TEMPORARY):
        if not in_process:
            outcome = _in_a_process(one, place)
        else:
            with _clock():
                outcome = _here(one, kind.call)
    seconds, grown = time.process_time() - started, _largest() - largest
    try:
        _check_words(one, outcome)
        _check_files(one, outcome, before, _content(place))
        if seconds > MOST_SECONDS:
            raise ContractError(f"took {seconds:.0f} seconds of the processor")
        if grown > MOST_BYTES:
            raise ContractError(f"took {grown / 2**20:.0f} MiB of memory")
        if kind.check is not None:
            kind.check(one, outcome, place)
    except ContractError as error:
        error.add_note(f"exit code {outcome.code}\n{outcome.out[-1000:]}{outcome.err[-1000:]}")
        raise
    return outcome


def _fill(place: Path, files: Mapping[str, bytes]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    (place / TEMPORARY).mkdir(parents=True)
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)


def _content(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _clock() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_WAIT)
    try:
        yield
    except _TooLongError as error:
        raise ContractError(f"took more than {MOST_WAIT:.0f} seconds") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _here(one: Input, call: Callable[[Input, Path], object] | None) -> Outcome:
    """Run in this process, with streams that encode as those of a terminal do."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            main(one.command) if call is None else _called(call, one)
        except SystemExit as stop:
            code = stop.code
        except _TooLongError:
            raise
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            why = f"raised {type(error).__name__}, {at.filename}:{at.lineno}: {error}"
            raise ContractError(why) from error
    shown = [here for here in told if not issubclass(here.category, UNSEEN)]
    if one.prints:  # what a user's code does, and what its libraries say of it, is its own
        shown = [here for here in shown if SOURCE in Path(here.filename).parents]
    if shown:
        raise ContractError(f"warned, {shown[0].filename}:{shown[0].lineno}: {shown[0].message}")
    if not isinstance(code, int):
        raise ContractError(f"ended with {code!r}")
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]
    return Outcome(code=code, out=texts[0], err=texts[1])


def _called(call: Callable[[Input, Path], object], one: Input) -> None:
    """Call a reader as the command line calls it: these errors are refusals."""
    try:
        call(one, Path())
    except MemoryError as error:
        print(f"{MARK}there is not enough memory ({error}).", file=sys.stderr)
        sys.exit(REFUSED)
    except (ValueError, TypeError, OSError) as error:
        print(f"{MARK}{printable(' '.join(str(error).split()))}", file=sys.stderr)
        sys.exit(REFUSED)
    sys.exit(GOOD)


def _in_a_process(one: Input, place: Path) -> Outcome:
    environment = os.environ | {"TMPDIR": str(place / TEMPORARY), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "unbraid", *one.command]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=MOST_WAIT, check=False)
    except subprocess.TimeoutExpired as error:
        raise ContractError(f"took more than {MOST_WAIT:.0f} seconds") from error
    return Outcome(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


def _check_words(one: Input, outcome: Outcome) -> None:
    if outcome.code not in one.codes:
        raise ContractError(f"ended with exit code {outcome.code}")
    for text in (outcome.out, outcome.err):
        if "Traceback (most recent call last)" in text:
            raise ContractError("printed a traceback")
        if not one.prints and not all(map(_is_shown, text)):
            raise ContractError("printed control characters")
    sentences = [line for line in outcome.err.splitlines() if line.startswith(MARK)]
    if len(sentences) != (outcome.code == REFUSED):
        raise ContractError(f"said {len(sentences)} sentences, with exit code {outcome.code}")
    if outcome.code == REFUSED and not (outcome.sentence.startswith(MARK) and outcome.sentence.endswith((".", "?"))):
        raise ContractError("did not end with a sentence")
    if outcome.code == REFUSED and outcome.out:
        raise ContractError("printed results and refused the input")


def _is_shown(letter: str) -> bool:
    """Tell letters, spaces and line breaks from characters that steer a terminal."""
    return letter.isprintable() or letter in "\n\t" or unicodedata.category(letter) == "Zs"


def _check_files(one: Input, outcome: Outcome, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    folders = tuple(name for name in one.outputs if name.endswith("/"))
    theirs = {name: content for name, content in before.items() if not name.startswith(folders)}
    if any(content != after.get(name) for name, content in theirs.items() if name in after and name not in one.outputs):
        raise ContractError("changed its input")
    if set(theirs) - set(after):
        raise ContractError("removed its input")
    new = set(after) - set(before)
    if outcome.code == REFUSED and any(not name.startswith(folders) for name in new):
        raise ContractError(f"refused the input and wrote {sorted(new)}")
    strange = [name for name in new if name not in one.outputs and "__pycache__" not in name]
    strange = [name for name in strange if not name.startswith(folders)]
    if strange:
        raise ContractError(f"left {strange}")
    for name in new & set(one.outputs):
        if name.endswith(".json"):
            _check_json(name, after[name])
        elif name.endswith(".html") and not after[name].rstrip().endswith(b"</html>"):
            raise ContractError(f"wrote half of {name}")


def _check_json(name: str, content: bytes) -> None:
    try:
        json.loads(content)
    except ValueError as error:
        raise ContractError(f"wrote half of {name}") from error


def _largest() -> int:
    """Return the most memory that this process has had so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
