"""Decoder metrics that need no labels: which latents matter, and which move the data the same way."""

from unbraid.evidence.priors import GaussianMixture
from unbraid.manifold._analysis import ManifoldAnalysis
from unbraid.manifold._analyze import analyze
from unbraid.manifold._compare import compare
from unbraid.manifold._comparison import ManifoldComparison
from unbraid.manifold._pictures import Pictures, draw

__all__ = ["GaussianMixture", "ManifoldAnalysis", "ManifoldComparison", "Pictures", "analyze", "compare", "draw"]
