"""Normalising flows on zuko's transforms: make one, train it, and hand its decoder to the metrics."""

# ruff: noqa: E402 -- what is missing must be said before anything that needs it is imported
from unbraid._base.optional import require

require("unbraid.models.flows", "torch", "zuko", extra="train")

from unbraid.models.flows.build import affine_flow, gin_flow, glow_flow, spline_flow, wavelet_flow, wavelet_partition
from unbraid.models.flows.flow import ClassMixture, Flow, StandardNormal
from unbraid.models.flows.loop import Objective
from unbraid.models.flows.saved import load_flow, make_flow, save_flow
from unbraid.models.flows.training import (
    TrainedFlow,
    core_reconstruction,
    manifold_total_correlation,
    negative_log_likelihood,
    train_flow,
    with_reconstruction,
    with_total_correlation,
)

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
    "load_flow",
    "make_flow",
    "manifold_total_correlation",
    "negative_log_likelihood",
    "save_flow",
    "spline_flow",
    "train_flow",
    "wavelet_flow",
    "wavelet_partition",
    "with_reconstruction",
    "with_total_correlation",
]
