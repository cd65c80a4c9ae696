"""Decoder metrics that need no labels: which latents matter, and which move the data the same way."""

from unbraid.evidence.jacobians.priors import GaussianMixture
from unbraid.manifold.analysis import analyze
from unbraid.manifold.comparison import ManifoldComparison, compare
from unbraid.manifold.pictures import draw
from unbraid.manifold.result import ManifoldAnalysis, Pictures

__all__ = ["GaussianMixture", "ManifoldAnalysis", "ManifoldComparison", "Pictures", "analyze", "compare", "draw"]
