"""One self-contained page that explains the scores."""

from unbraid.report._figure_page import render_figure_page
from unbraid.report._manifold_page import render_comparison_page, render_manifold_page
from unbraid.report._page import render_page

__all__ = ["render_comparison_page", "render_figure_page", "render_manifold_page", "render_page"]
