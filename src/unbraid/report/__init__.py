"""One self-contained page that explains the scores."""

from unbraid.report._comparison import render_comparison
from unbraid.report._page import render_page

__all__ = ["render_comparison", "render_page"]
