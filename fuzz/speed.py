"""What takes long and is not the subject of an input: the parsing of a command line, and permutation tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from cyclopts import App

from unbraid.evidence import dependence

#: Command lines whose parsing is kept, and shuffles of the test for dependence between factors.
MOST_KEPT, N_SHUFFLES = 1_000, 3


@contextmanager
def quick() -> Iterator[None]:
    """Parse each command line once, and shuffle factors a few times; what is read and scored stays the same."""
    kept: dict[tuple[str, ...], Any] = {}
    parse = App.parse_args

    def parse_once(self: App, tokens: Any = None, **options: Any) -> Any:
        key = tuple(tokens)
        if key not in kept:
            found = parse(self, tokens, **options)
            if len(kept) >= MOST_KEPT:
                return found
            kept[key] = found
        return kept[key]

    with patch.object(App, "parse_args", parse_once), patch.object(dependence, "N_SHUFFLES", N_SHUFFLES):
        yield
