"""Decoder metrics without labels: importance of latents, and their overlap in data space."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import public_names
from unbraid.evidence.jacobians.priors import GaussianMixture
from unbraid.manifold.analysis import analyze
from unbraid.manifold.bottleneck import Bottleneck, bottleneck
from unbraid.manifold.classes import ClassAnalysis, analyze_classes
from unbraid.manifold.comparison import ManifoldComparison, compare
from unbraid.manifold.density import log_density
from unbraid.manifold.hierarchy import Hierarchy, hierarchy
from unbraid.manifold.pictures import draw, draw_classes
from unbraid.manifold.quantities import Knee, knee
from unbraid.manifold.result import DecoderPictures, ManifoldAnalysis

__all__ = [
    "Bottleneck",
    "ClassAnalysis",
    "DecoderPictures",
    "GaussianMixture",
    "Hierarchy",
    "Knee",
    "ManifoldAnalysis",
    "ManifoldComparison",
    "analyze",
    "analyze_classes",
    "bottleneck",
    "compare",
    "draw",
    "draw_classes",
    "hierarchy",
    "knee",
    "log_density",
]

if not TYPE_CHECKING:
    __getattr__, _, _ = public_names(__name__, renamed={"Pictures": "DecoderPictures"})
