"""What a reproduction of a published table says about itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """One published table or figure that can be run again.

    Attributes:
        name: What the command line calls it.
        title: What it shows.
        paper: Where it was published.
        cost: What a full run takes, in words.
        run: Runs it; its own options, its own result with ``to_dict``.
    """

    name: str
    title: str
    paper: str
    cost: str
    run: Callable[..., Any]
