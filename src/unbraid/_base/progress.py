"""Progress of a long computation, as a bar on a terminal or as lines in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from unbraid._base.text import duration, printable

#: ``True`` shows a bar, ``False`` nothing, ``None`` a bar on a terminal only, ``"lines"`` a line now and then.
Show = bool | Literal["lines"] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress to advance, with a few words about the current state.

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
    doing = printable(doing)
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
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield Progress(lambda: bar.advance(task), lambda words: bar.update(task, description=printable(words)))


#: Work that ends sooner, in seconds, is done without a line.
QUIET = 2.0
#: A line is due at each tenth of the steps, but no sooner than ``LEAST`` seconds after the last line.
PARTS, LEAST = 10, 1.0
#: A line is also due after so many seconds without one; in a long run, after this share of the time so far.
SECONDS, SHARE_OF_ELAPSED = 30.0, 0.1


class Lines:
    """Progress as lines: one after two seconds, one at each tenth of the steps, and one after long without any.

    Args:
        total: Number of steps.
        doing: Name of the work.
        write: Takes a line; writes it to standard error by default.
        clock: Returns seconds.
    """

    def __init__(
        self,
        total: int,
        doing: str,
        *,
        write: Callable[[str], object] = lambda line: print(line, file=sys.stderr, flush=True),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._doing, self._write, self._clock = total, doing, write, clock
        self._done, self._part, self._words = 0, 0, ""
        self._started = clock()
        self._written: float | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._watch = threading.Thread(target=self._wait, daemon=True)  # a single step may take hours

    def __enter__(self) -> Lines:
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()

    def advance(self, steps: int = 1) -> None:
        """Count steps, and write a line if one is due."""
        with self._lock:
            self._done += steps
            now, part = self._clock(), self._done * PARTS // max(self._total, 1)
            if self._is_due(now, part):
                self._written, self._part = now, part
                self._write(self._line(now))

    def _is_due(self, now: float, part: int) -> bool:
        elapsed = now - self._started
        if self._written is None:
            return elapsed >= QUIET
        waited = now - self._written
        return waited >= max(SECONDS, SHARE_OF_ELAPSED * elapsed) or (part > self._part and waited >= LEAST)

    def tell(self, words: str) -> None:
        """Keep a few words for the next line."""
        self._words = printable(words)

    def _line(self, now: float) -> str:
        elapsed, line = now - self._started, f"{self._doing}: {self._done} of {self._total} steps"
        if self._done or elapsed >= LEAST:
            line += f", {duration(elapsed)} so far"
        if 0 < self._done < self._total:
            line += f", about {duration(elapsed / self._done * (self._total - self._done))} left"
        return line + (f"; last: {self._words}" if self._words else "")

    def _wait(self) -> None:
        while not self._over.wait(1.0):
            self.advance(0)
