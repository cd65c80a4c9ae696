"""The files of Unbraid that one command passes through, in order: how far a reader has to follow it.

    python benchmarks/walk.py
    python benchmarks/walk.py --command "score {npz} --metrics mig,r2 --report {html}"
    python benchmarks/walk.py --page docs/architecture.md    # writes the numbers between the marks of the page

The command runs on a tiny representation, and every call of a function of Unbraid is recorded, also in worker threads.
A file counts once, where one of its functions is first called; calls during an import do not count. Rooms are the
folders of ``src/unbraid``. Files of metrics, evidence and probes are counted apart, since they depend on the metrics
asked for, and so are files of ``_base``, which every room calls. Two counts show whether a walk is one-way: rooms that
are called back from a room they wait for (the walk goes round in a circle), and rooms that the walk returns to later
with a file not passed before (the walk is one of several calls in a row).
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import tempfile
import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import unbraid
from unbraid.cli import main as run_command

SOURCE = Path(unbraid.__file__).parent
COMMAND = "score {npz} --jobs 1 --report {html}"
#: Rooms that every other room uses, and rooms of the numbers themselves; neither is a step of the walk.
TOOLS, NUMBERS = ("_base",), ("metrics", "evidence", "probes")
BEGIN, END = "<!-- walk: made by benchmarks/walk.py -->", "<!-- end of walk -->"


class Recorder:
    """A profile function that notes the files of Unbraid in the order of their first call.

    Attributes:
        files: Each once, in that order.
        turns: Pairs of rooms, the second of which was called from the first while it waited for the first itself.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.turns: set[tuple[str, str]] = set()
        self._names: dict[str, str] = {}
        self._seen: set[tuple[CodeType, CodeType]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note the file of a call."""
        file = self._name(frame) if event == "call" else ""
        if file and file not in self.files and not self._during_import(frame):
            self.files.append(file)
        if file and frame.f_back is not None and (frame.f_back.f_code, frame.f_code) not in self._seen:
            self._seen.add((frame.f_back.f_code, frame.f_code))
            self._look_back(frame)

    def _look_back(self, frame: FrameType) -> None:
        """Note a call into a room that waits for the room it is called from."""
        rooms: list[str] = []
        back: FrameType | None = frame
        while back is not None:
            if back.f_code.co_name == "<module>":
                return
            room = room_of(self._name(back))
            if room and room not in TOOLS and (not rooms or rooms[-1] != room):
                rooms.append(room)
            back = back.f_back
        if len(rooms) > 2 and rooms[0] in rooms[2:]:
            self.turns.add((rooms[1], rooms[0]))

    def _name(self, frame: FrameType) -> str:
        path = frame.f_code.co_filename
        if path not in self._names:
            inside = Path(path).is_relative_to(SOURCE)
            self._names[path] = Path(path).relative_to(SOURCE).as_posix() if inside else ""
        return self._names[path]

    def _during_import(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and self._name(frame):
                return True
            frame = frame.f_back
        return False


def walk(command: str = COMMAND, *, n_rows: int = 300) -> Recorder:
    """Run a command on a tiny representation and return what it passes through."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (n_rows, 3))
    with tempfile.TemporaryDirectory() as folder:
        places = {"npz": f"{folder}/codes.npz", "html": f"{folder}/report.html"}
        np.savez(places["npz"], codes=factors + 0.1 * rng.normal(size=(n_rows, 3)), factors=factors)
        recorder = Recorder()
        words = [word.format(**places) for word in shlex.split(command)]
        threading.setprofile(recorder)
        sys.setprofile(recorder)
        try:
            run_command(words)
        except SystemExit as left:
            if left.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return recorder


def room_of(file: str) -> str:
    """Return the folder of a file; empty at the top."""
    return file.partition("/")[0] if "/" in file else ""


def on_the_way(files: list[str]) -> list[str]:
    """Return the files of the walk itself, without tools and numbers."""
    return [file for file in files if room_of(file) not in (*TOOLS, *NUMBERS, "")]


def reentered(files: list[str]) -> list[str]:
    """Return the rooms that the walk comes back to with a file not passed before, after it had left the room.

    Example:
        >>> reentered(["cli/a.py", "panel/b.py", "cli/c.py", "report/d.py"])
        ['cli']
    """
    rooms = [room for room, _ in groupby(files, key=room_of)]
    return sorted({room for room in rooms if rooms.count(room) > 1})


def called_back(turns: set[tuple[str, str]]) -> list[str]:
    """Return the rooms of the walk itself that were called from a room they waited for."""
    return sorted({second for first, second in turns if not {first, second} <= set(NUMBERS)})


def summary(found: Recorder) -> str:
    """Return the counts, and the files by room in the order of the walk, as Markdown."""
    path = on_the_way(found.files)
    counts = {rooms: sum(room_of(file) in rooms for file in found.files) for rooms in (NUMBERS, TOOLS)}
    back = ", ".join(f"`{room}/`" for room in called_back(found.turns)) or "none"
    again = ", ".join(f"`{room}/`" for room in reentered(path)) or "none"
    lines = [
        f"{len(path)} files in {len(set(map(room_of, path)))} rooms, beside {counts[NUMBERS]} files of metrics, "
        f"evidence and probes and {counts[TOOLS]} of `_base/`. Rooms called back from a room that they wait for: "
        f"{back}. Rooms that the walk returns to later, with a file not passed before: {again}.",
        "",
    ]
    for number, (room, inside) in enumerate(groupby(path, key=room_of), 1):
        names = ", ".join(f"`{file.partition('/')[2]}`" for file in inside)
        lines.append(f"{number}. `{room}/`: {names}")
    return "\n".join(lines)


def written(page: str, text: str) -> str:
    """Return a page with the text between its marks."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the walk of one command, or write it into a page."""
    parser = argparse.ArgumentParser(description="The files that one command passes through.")
    parser.add_argument("--command", default=COMMAND)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--page", type=Path, help="a page whose marked block is written anew")
    parser.add_argument("--tiny", action="store_true", help="one metric of a few rows, to see that it runs")
    given = parser.parse_args(arguments)
    command = "score {npz} --jobs 1 --metrics mig --report {html}" if given.tiny else given.command
    text = summary(walk(command, n_rows=120 if given.tiny else given.rows))
    print(text)
    if given.page is not None:
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(written(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()
