"""Self-contained pages: scores of one representation or several, audits, decoders, studies, figures of papers."""

from typing import TYPE_CHECKING

from unbraid._lazy import on_first_use
from unbraid.report._audit import render_audit
from unbraid.report._comparison import render_comparison
from unbraid.report._figure_page import render_figure_page
from unbraid.report._manifold_page import render_manifold_comparison, render_manifold_page
from unbraid.report._notebook import render_notebook
from unbraid.report._page import render_page

if TYPE_CHECKING:
    from unbraid.report._study_page import study_page
else:
    # It brings a database along that no other page needs.
    __getattr__, __dir__ = on_first_use(__name__, {"._study_page": ["study_page"]})

__all__ = [
    "render_audit",
    "render_comparison",
    "render_figure_page",
    "render_manifold_comparison",
    "render_manifold_page",
    "render_notebook",
    "render_page",
    "study_page",
]
