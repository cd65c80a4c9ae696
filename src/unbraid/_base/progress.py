"""Bar or log lines."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from unbraid._base.text import duration

#: A bar or nothing; ``None`` is a bar on a terminal; ``"lines"``: now and then a line.
Show = bool | Literal["lines"] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Something to advance, with a word on how it goes.

    Attributes:
        advance: One step further.
        tell: Show a few words at the end of the bar.
    """

    advance: Callable[[], object]
    tell: Callable[[str], object]


def bar_or_lines() -> Show:
    """Return what a long command shows: a bar on a terminal, lines where standard error is a file or a pipe."""
    return True if sys.stderr.isatty() else "lines"


@contextmanager
def track(total: int, show: Show, *, doing: str = "scoring") -> Iterator[Progress]:
    """Yield a bar of ``total`` steps, or a silent one; ``None`` shows it when standard error is a terminal."""
    if show == "lines":
        with Lines(total, doing) as lines:
            yield Progress(lines.advance, lines.tell)
        return
    if not (sys.stderr.isatty() if show is None else show):
        yield Progress(lambda: None, lambda words: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(doing, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield Progress(lambda: bar.advance(task), lambda words: bar.update(task, description=words))


#: A line at each of so many parts of the whole.
PARTS = 10
#: Seconds between two lines in between; more as time goes on, so that a file does not fill with them.
SECONDS, SHARE_OF_ELAPSED = 30.0, 0.1
#: Seconds between two lines at least: what is done at once needs no ten lines.
LEAST = 1.0


class Lines:
    """Writes how far something is: at once, at each tenth, and in between when nothing was written for long.

    Args:
        total: Steps.
        doing: What is done.
        write: Takes a line; standard error by default.
        clock: Returns seconds.
    """

    def __init__(
        self,
        total: int,
        doing: str,
        *,
        write: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._doing, self._write, self._clock = total, doing, write or _to_stderr, clock
        self._done, self._part, self._words = 0, 0, ""
        self._started = self._written = clock()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> Lines:
        """Write the first line, and watch the clock from now on: a step may be long."""
        self._line(self._started, 0)
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Write no more."""
        self._over.set()
        self._watch.join()

    def advance(self) -> None:
        """Count a step; a line if it is time for one."""
        with self._lock:
            self._done += 1
            self._line_if_due()

    def tell(self, words: str) -> None:
        """Keep a few words for the next line."""
        self._words = words

    def look(self) -> None:
        """Write a line if there was none for long."""
        with self._lock:
            self._line_if_due()

    def _line_if_due(self) -> None:
        now = self._clock()
        waited = now - self._written
        part = self._done * PARTS // max(self._total, 1)
        if waited >= max(SECONDS, SHARE_OF_ELAPSED * (now - self._started)) or (part > self._part and waited >= LEAST):
            self._line(now, part)

    def _line(self, now: float, part: int) -> None:
        self._written, self._part = now, part
        elapsed = now - self._started
        text = f"{self._doing}: {self._done} of {self._total} steps"
        if self._done or elapsed >= LEAST:
            text += f", {duration(elapsed)} so far"
        if 0 < self._done < self._total:
            text += f", about {duration(elapsed / self._done * (self._total - self._done))} left"
        self._write(text + (f"; last: {self._words}" if self._words else ""))

    def _wait(self) -> None:
        while not self._over.wait(1.0):
            self.look()


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
