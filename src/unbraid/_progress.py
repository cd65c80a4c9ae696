"""A progress bar on standard error, when somebody is there to see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Something to advance."""

    advance: Callable[[], object]


@contextmanager
def track(total: int, show: bool | None, label: str = "scoring") -> Iterator[Progress]:
    """Yield a bar of ``total`` steps with a label, or a silent one; ``None`` shows it when someone is at a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield Progress(lambda: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(label, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield Progress(lambda: bar.advance(task))
