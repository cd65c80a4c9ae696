"""Self-contained pages: one that explains the scores, one that shows an audit."""

from unbraid.report._audit import render_audit
from unbraid.report._comparison import render_comparison
from unbraid.report._manifold_page import render_manifold_comparison, render_manifold_page
from unbraid.report._page import render_page

__all__ = ["render_audit", "render_comparison", "render_manifold_comparison", "render_manifold_page", "render_page"]
