"""Self-contained pages: scores of one representation or several, audits, decoders, studies, figures of papers."""

from typing import TYPE_CHECKING

from unbraid._base.pages import render, render_inline
from unbraid.audit.result import Audit
from unbraid.comparison.result import Comparison
from unbraid.manifold.classes import ClassAnalysis
from unbraid.manifold.comparison import ManifoldComparison
from unbraid.manifold.result import ManifoldAnalysis
from unbraid.report.audit import render_audit as render_audit
from unbraid.report.comparison import render_comparison as render_comparison
from unbraid.report.figure import render_figure_page as render_figure_page
from unbraid.report.manifold import render_manifold_classes as render_manifold_classes
from unbraid.report.manifold import render_manifold_comparison as render_manifold_comparison
from unbraid.report.manifold import render_manifold_page as render_manifold_page
from unbraid.report.scores import render_notebook as render_notebook
from unbraid.report.scores import render_page as render_page
from unbraid.report.similarity import render_similarity as render_similarity
from unbraid.results.report import Report
from unbraid.similarity.table import SimilarityTable

if TYPE_CHECKING:
    from unbraid.report.study import study_page as study_page
else:
    from unbraid._base.lazy import public_names

    # study_page imports a database that no other page needs.
    __getattr__, __dir__, __all__ = public_names(__name__)

render.register(Report, render_page)
render.register(Comparison, render_comparison)
render.register(Audit, render_audit)
render.register(ManifoldAnalysis, render_manifold_page)
render.register(ClassAnalysis, render_manifold_classes)
render.register(ManifoldComparison, render_manifold_comparison)
render.register(SimilarityTable, render_similarity)
render_inline.register(Report, render_notebook)
