"""Link from a result to the page that draws it, and the colours of all pages.

The report package registers a renderer for each type of result with :data:`render`. Results call :func:`page_of`,
which imports the report package on first use: the one place where a lower layer names a higher one.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from importlib.resources import files
from typing import Any


@singledispatch
def render(result: object, **options: Any) -> str:
    """Return the self-contained HTML page of a result; the report package registers one renderer for each type."""
    raise TypeError(f"No page is known for {type(result).__name__}.")


@singledispatch
def render_inline(result: object) -> str:
    """Return the HTML that a notebook shows for a result."""
    raise TypeError(f"No notebook view is known for {type(result).__name__}.")


def page_of(result: object, **options: Any) -> str:
    """Return the HTML page of a result, with what the report package registered."""
    import_module("unbraid.report")
    return render(result, **options)


def palette() -> str:
    """Return the style sheet with the colours that reports and the explorer share."""
    return files("unbraid._base").joinpath("palette.css").read_text(encoding="utf-8")


def notebook_view_of(result: object) -> str:
    """Return the HTML that a notebook shows for a result."""
    import_module("unbraid.report")
    return render_inline(result)
