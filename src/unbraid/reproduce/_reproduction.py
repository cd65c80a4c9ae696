"""What a reproduction of a published table says about itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbraid.reproduce._agreement import Part


def _no_parts(_: Mapping[str, Any]) -> Sequence[Part]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """One published table or figure that can be run again.

    Attributes:
        name: What the command line calls it.
        title: What it shows.
        paper: Where it was published.
        cost: What a full run takes, in words.
        run: Runs it; its own options, its own result with ``to_dict``.
        quick: Options of ``run`` for a quick run.
        full: Options of ``run`` for a full run, where they are not its defaults.
        parts: From the plain data of a result, its tables and figures with our number beside the paper's.
        needs: What a full run needs that is not there by itself, in words; empty for nothing.
        quick_needs: The same for a quick run.
    """

    name: str
    title: str
    paper: str
    cost: str
    run: Callable[..., Any]
    quick: Mapping[str, Any] = field(default_factory=lambda: {"quick": True})
    full: Mapping[str, Any] = field(default_factory=dict)
    parts: Callable[[Mapping[str, Any]], Sequence[Part]] = _no_parts
    needs: str = ""
    quick_needs: str = ""
