"""Notes: sentences with a kind, and the numbers in them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self


class NoteKind(StrEnum):
    """Subject of a note."""

    INPUT = "input"
    DEPENDENT_FACTORS = "dependent factors"
    LEFT_OUT = "left out"
    METRIC = "metric"
    UNCERTAIN_AXES = "uncertain axes"
    NO_INTERVAL = "no interval"
    AT_CHANCE = "at chance"
    WORSE_THAN_CHANCE = "worse than chance"
    HIGH_CHANCE = "high chance"


class Note(str):
    """A sentence for the reader, its kind, and the values in it.

    A note is a string, so that notes can be joined, printed and searched as plain sentences.

    Attributes:
        kind: Subject.
        template: The sentence, with ``{}`` for each of ``values``; the sentence itself where there are none.
        values: Numbers and names in the sentence, as they are written there.

    Example:
        >>> note = Note.of(NoteKind.HIGH_CHANCE, "Chance alone scores {}.", "0.28")
        >>> print(note, note.kind, note.values)
        Chance alone scores 0.28. high chance ('0.28',)
    """

    kind: NoteKind
    template: str
    values: tuple[str, ...]

    def __new__(
        cls, sentence: str, kind: NoteKind = NoteKind.METRIC, template: str = "", values: tuple[str, ...] = ()
    ) -> Self:
        """Make a sentence into a note."""
        note = super().__new__(cls, sentence)
        note.kind, note.template, note.values = kind, template or sentence, values
        return note

    @classmethod
    def of(cls, kind: NoteKind, template: str, *values: Any) -> Self:
        """Fill the values into the template; a template without values may contain braces."""
        written = tuple(map(str, values))
        return cls(template.format(*written) if written else template, kind, template, written)


def as_note(sentence: str, kind: NoteKind = NoteKind.METRIC) -> Note:
    """Return a note as it is, and a plain sentence as a note of the given kind."""
    return sentence if isinstance(sentence, Note) else Note.of(kind, sentence)
