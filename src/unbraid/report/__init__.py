"""Self-contained pages: scores of one representation or several, audits, decoders, studies, figures of papers."""

from typing import TYPE_CHECKING, Any

from unbraid.report._audit import render_audit
from unbraid.report._comparison import render_comparison
from unbraid.report._figure_page import render_figure_page
from unbraid.report._manifold_page import render_manifold_comparison, render_manifold_page
from unbraid.report._page import render_page

if TYPE_CHECKING:
    from unbraid.report._study_page import study_page

__all__ = [
    "render_audit",
    "render_comparison",
    "render_figure_page",
    "render_manifold_comparison",
    "render_manifold_page",
    "render_page",
    "study_page",
]


def __getattr__(name: str) -> Any:
    """Import the page of a study when it is asked for: it brings a database along that no other page needs."""
    if name == "study_page":
        from unbraid.report._study_page import study_page

        return study_page
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
