"""One self-contained page that explains the scores."""

from unbraid.report._page import render_page

__all__ = ["render_page"]
