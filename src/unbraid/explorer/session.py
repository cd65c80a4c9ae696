"""Session of the explorer: subjects by key, loaded at the first request, and the study or the run they belong to."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unbraid._version import __version__
from unbraid.explorer.findings import FindingsJob
from unbraid.explorer.subject import Subject

#: Subjects that are kept in memory; a study may have thousands.
MOST_KEPT = 8
#: A page that follows work asks more often than this, in seconds.
LATELY = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectEntry:
    """One subject that can be opened.

    Attributes:
        label: Its name on the page.
        load: Makes the subject, given its key.
        version: Changes when the subject has to be made anew, such as after a checkpoint.
    """

    label: str
    load: Callable[[str], Subject]
    version: float = 0.0


class Live(Protocol):
    """A study, a training run or a scoring that may still be going on."""

    def about(self) -> dict[str, Any]:
        """Return what the page shows of it now."""


class Session:
    """What was opened.

    Args:
        title: Name on the page.
        entries: Subjects; the key of the first is ``m0``. A function where they may become more.
        study: The study they belong to.
        run: The training run they belong to.
        scoring: The scoring that goes on.
        watching: Whether work goes on that the page should follow.
    """

    def __init__(
        self,
        title: str,
        entries: Sequence[SubjectEntry] | Callable[[], Sequence[SubjectEntry]],
        *,
        study: Live | None = None,
        run: Live | None = None,
        scoring: Live | None = None,
        watching: bool = False,
    ) -> None:
        self.title, self.study, self.run, self.scoring, self.watching = title, study, run, scoring, watching
        self._asked, self._told_end = -math.inf, threading.Event()
        self._entries = entries
        self._kept: OrderedDict[str, tuple[float, Subject, FindingsJob]] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def entries(self) -> Sequence[SubjectEntry]:
        """Subjects that can be opened."""
        return self._entries() if callable(self._entries) else self._entries

    def about(self) -> dict[str, Any]:
        """Return names of all subjects, and which views there are."""
        return {
            "title": self.title,
            "version": __version__,
            "subjects": [{"id": f"m{n}", "label": entry.label} for n, entry in enumerate(self.entries)],
            "has_study": self.study is not None,
            "has_run": self.run is not None,
            "has_scoring": self.scoring is not None,
            "watching": self.watching,
        }

    def now(self, live: Live | None) -> dict[str, Any]:
        """Return what the page shows of a study, a run or a scoring now, and whether work goes on."""
        goes_on = self.watching
        self._asked = time.monotonic()
        answer = {"watching": goes_on, **({} if live is None else live.about())}
        if not goes_on:
            self._told_end.set()
        return answer

    def end(self) -> None:
        """Say that the work is done, and wait until a page that follows it has asked once more."""
        self.watching = False
        if time.monotonic() - self._asked < LATELY:
            self._told_end.wait(LATELY)

    def subject(self, key: str) -> Subject:
        """Return a subject by its key.

        Raises:
            KeyError: No such subject.
            ValueError: It cannot be read.
        """
        return self._opened(key)[1]

    def findings(self, key: str) -> FindingsJob:
        """Return the findings of a subject by its key."""
        return self._opened(key)[2]

    def _opened(self, key: str) -> tuple[float, Subject, FindingsJob]:
        with self._lock:
            entries = self.entries
            number = int(key[1:]) if key[:1] == "m" and key[1:].isascii() and key[1:].isdigit() else -1
            if not 0 <= number < len(entries):
                raise KeyError(key)
            version = entries[number].version
            if key not in self._kept or self._kept[key][0] != version:
                subject = entries[number].load(key)
                self._kept[key] = (version, subject, FindingsJob(subject))
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]
