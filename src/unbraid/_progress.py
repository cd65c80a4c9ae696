"""Progress on standard error: a bar, when somebody is there to see it, or lines for a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

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
        from unbraid._progress_lines import Lines

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
