"""What to distrust: notes and failures, each said once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unbraid.metrics import METRICS
from unbraid.result import Report

NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One note, and the scores it is about.

    Attributes:
        text: The note; where only numbers differ from score to score, they are dots.
        about: Titles of the scores, each with its own numbers where they differ. Empty: about everything.
    """

    text: str
    about: tuple[str, ...] = ()


def general_doubts(report: Report) -> list[Doubt]:
    """Return the notes about the representation as a whole."""
    return [Doubt(text=note) for note in dict.fromkeys(report.notes)]


def failure_doubts(report: Report) -> list[Doubt]:
    """Return why metrics failed, one entry for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in report.failures.items():
        reasons.setdefault(reason.replace(f" for {name}", ""), []).append(METRICS[name].title)
    return [Doubt(text=reason, about=tuple(titles)) for reason, titles in reasons.items()]


def score_doubts(report: Report) -> list[Doubt]:
    """Return the notes of single scores; notes that differ in their numbers only become one."""
    alike: dict[tuple[str, ...], list[tuple[str, list[str]]]] = {}
    for name, score in report.scores.items():
        for note in dict.fromkeys(score.notes):
            pieces = NUMBER.split(note)
            alike.setdefault(tuple(pieces[::2]), []).append((METRICS[name].title, pieces[1::2]))
    return [_merge(words, found) for words, found in alike.items()]


def _merge(words: tuple[str, ...], found: list[tuple[str, list[str]]]) -> Doubt:
    columns = list(zip(*(numbers for _, numbers in found), strict=True))
    differs = [len(set(column)) > 1 for column in columns]
    shown = ["…" if different else column[0] for different, column in zip(differs, columns, strict=True)]
    text = words[0] + "".join(number + word for number, word in zip(shown, words[1:], strict=True))
    about: list[str] = []
    for title, numbers in found:
        own = [number for number, different in zip(numbers, differs, strict=True) if different]
        about.append(f"{title} ({', '.join(own)})" if own else title)
    return Doubt(text=text.replace("….", "…"), about=tuple(about))
