"""Normalising flows on zuko's transforms: make one, train it, and hand its decoder to the metrics."""

# ruff: noqa: E402 -- what is missing must be said before anything that needs it is imported
from unbraid._torch import require_flows

require_flows("unbraid.models.flows")

from unbraid.models.flows._build import affine_flow, gin_flow, glow_flow, spline_flow, wavelet_flow
from unbraid.models.flows._flow import Flow
from unbraid.models.flows._losses import (
    Objective,
    core_reconstruction,
    manifold_total_correlation,
    negative_log_likelihood,
    with_reconstruction,
    with_total_correlation,
)
from unbraid.models.flows._priors import ClassMixture, StandardNormal
from unbraid.models.flows._training import TrainedFlow, train_flow

__all__ = [
    "ClassMixture",
    "Flow",
    "Objective",
    "StandardNormal",
    "TrainedFlow",
    "affine_flow",
    "core_reconstruction",
    "gin_flow",
    "glow_flow",
    "manifold_total_correlation",
    "negative_log_likelihood",
    "spline_flow",
    "train_flow",
    "wavelet_flow",
    "with_reconstruction",
    "with_total_correlation",
]
