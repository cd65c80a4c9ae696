"""Kinds of evidence that metrics share."""

from dataclasses import replace

from unbraid.evidence.association import CorrelationOptions, NoOptions, code_covariance, correlations, predictability
from unbraid.evidence.cross_prediction import CrossPredictionOptions, cross_prediction
from unbraid.evidence.information import InformationOptions, code_information, information_table, resampled_tables
from unbraid.evidence.interventions import (
    ConditionalOptions,
    GroupOptions,
    RowGroupOptions,
    conditional_spread,
    group_differences,
    group_variances,
)
from unbraid.evidence.linear import (
    ClassifierOptions,
    LinearOptions,
    PredictiveOptions,
    linear_fit,
    linear_importance,
    linear_separation,
    predictive_information,
)
from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves, resampled_curves
from unbraid.evidence.subspaces.options import SubspaceOptions
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics._metric import Source
from unbraid.probes.capacity import ForestLadder, FourierLadder, MLPLadder, as_ladder
from unbraid.probes.trees import BoostingOptions, ForestOptions, boosting_importance, forest_importance

LIGHT_TREES = 10
LIGHT_RUNGS, LIGHT_STEPS, LIGHT_SAGE_ROWS = 4, 300, 512
MANY_ROWS = 20_000

INFORMATION = Source(
    name="information",
    gather=lambda rep, options, rng: information_table(rep, options),
    options=InformationOptions,
    n_replicates=100,
    n_nulls=10,
    resample=resampled_tables,
    seconds=(0.1, 0.44),
)
DIFFERENCES = Source(
    name="differences",
    gather=group_differences,
    options=GroupOptions,
    n_replicates=10,
    n_nulls=19,  # of continuous factors they score from 0.3 to 0.95, so that a few nulls do not show their range
    seconds=(0.13, 0.48),
)
VARIANCES = Source(
    name="variances",
    gather=group_variances,
    options=RowGroupOptions,
    n_replicates=10,
    n_nulls=3,
    extrapolates=True,
    seconds=(0.11, 0.42),
)
CONDITIONAL = Source(
    name="conditional",
    gather=conditional_spread,
    options=ConditionalOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.093, 0.4),
)
PREDICTABILITY = Source(
    name="predictability",
    gather=predictability,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.098, 0.44),
)
CORRELATION = Source(
    name="correlation",
    gather=correlations,
    options=CorrelationOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.091, 0.44),
)
REGRESSION = Source(
    name="regression",
    gather=linear_fit,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.094, 0.42),
)
SEPARATION = Source(
    name="separation",
    gather=linear_separation,
    options=ClassifierOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    extrapolates=True,
    seconds=(0.12, 0.81),
)
PREDICTIVE = Source(
    name="predictive",
    gather=predictive_information,
    options=PredictiveOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    extrapolates=True,
    seconds=(0.15, 1.0),
)
LINEAR = Source(
    name="linear",
    gather=linear_importance,
    options=LinearOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    seconds=(0.15, 0.49),
)
FOREST = Source(
    name="forest",
    gather=forest_importance,
    options=ForestOptions,
    n_replicates=5,
    n_nulls=3,
    lighten=lambda options: replace(options, n_trees=min(options.n_trees, LIGHT_TREES)),
    max_replicate_rows=MANY_ROWS,
    seconds=(1.1, 8.9),
)
BOOSTING = Source(
    name="boosting",
    gather=boosting_importance,
    options=BoostingOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    seconds=(0.36, 1.1),
)
SUBSPACES = Source(
    name="subspaces",
    gather=factor_subspaces,
    options=SubspaceOptions,
    n_replicates=10,
    n_nulls=3,
    lighten=lambda options: replace(options, solver="fast"),
    max_replicate_rows=5_000,
    seconds=(0.18, 0.84),
    uses_workers=True,
)


def _light_ladder(options: LossCapacityOptions) -> LossCapacityOptions:
    """Fewer trees, features or steps, and coarser SAGE: enough to estimate the chance level."""
    ladder = as_ladder(options.ladder)
    if isinstance(ladder, ForestLadder):
        ladder = replace(ladder, n_trees=min(ladder.n_trees, LIGHT_TREES))
    elif isinstance(ladder, FourierLadder):
        ladder = replace(ladder, n_features=ladder.n_features[:LIGHT_RUNGS])
    elif isinstance(ladder, MLPLadder):
        ladder = replace(ladder, widths=ladder.widths[:LIGHT_RUNGS], n_steps=min(ladder.n_steps, LIGHT_STEPS))
    sage = replace(options.sage, max_rows=min(options.sage.max_rows, LIGHT_SAGE_ROWS))
    return replace(options, ladder=ladder, sage=sage)


LOSS_CAPACITY = Source(
    name="loss_capacity",
    gather=loss_capacity_curves,
    options=LossCapacityOptions,
    n_replicates=100,
    n_nulls=3,
    redraw=resampled_curves,
    lighten=_light_ladder,
    max_replicate_rows=5_000,
    seconds=(10.0, 15.0),
    uses_workers=True,
)
CROSS_PREDICTION = Source(
    name="cross_prediction",
    gather=cross_prediction,
    options=CrossPredictionOptions,
    n_replicates=5,
    n_nulls=3,
    lighten=lambda options: replace(options, n_trees=min(options.n_trees, LIGHT_TREES)),
    max_replicate_rows=5_000,
    seconds=(7.8, 72.0),
    uses_workers=True,
)
COVARIANCE = Source(
    name="covariance",
    gather=code_covariance,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    label_free=True,
    extrapolates=True,
    seconds=(0.084, 0.39),
)
CODE_INFORMATION = Source(
    name="code_information",
    gather=code_information,
    options=InformationOptions,
    n_replicates=10,
    n_nulls=3,
    label_free=True,
    seconds=(0.086, 0.39),
)
