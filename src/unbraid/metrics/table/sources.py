"""Kinds of evidence that metrics share."""

from dataclasses import replace

from unbraid.evidence.association import CorrelationOptions, NoOptions, code_covariance, correlations, predictability
from unbraid.evidence.block_reading import BlockOptions, block_reading
from unbraid.evidence.classes import ClassOptions, class_association
from unbraid.evidence.concepts import (
    ConceptOptions,
    SparseProbeOptions,
    single_codes,
    sparse_probes,
)
from unbraid.evidence.cross_prediction import CrossPredictionOptions, cross_prediction
from unbraid.evidence.exclusivity import ExclusivityOptions, exclusivity
from unbraid.evidence.fairness import FairnessOptions, group_fairness
from unbraid.evidence.information import (
    InformationOptions,
    code_information,
    information_table,
    resampled_code_information,
    resampled_tables,
)
from unbraid.evidence.interventions import (
    ConditionalOptions,
    GroupOptions,
    RowGroupOptions,
    conditional_spread,
    group_differences,
    group_variances,
)
from unbraid.evidence.joint_information import JointOptions, joint_information
from unbraid.evidence.linear.classifiers import (
    ClassifierOptions,
    PredictiveOptions,
    linear_separation,
    predictive_information,
)
from unbraid.evidence.linear.importance import LinearOptions, linear_importance
from unbraid.evidence.linear.regression import N_FOLDS, linear_fit
from unbraid.evidence.linear_map import linear_map
from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves, resampled_curves
from unbraid.evidence.one_factor.all_but_one import AllButOneOptions, varied_groups
from unbraid.evidence.one_factor.traversals import (
    PairOptions,
    TraversalOptions,
    circle_fit,
    pair_correlations,
    traversals,
)
from unbraid.evidence.spectrum import code_spectrum
from unbraid.evidence.subspaces.fast import way_of_finding
from unbraid.evidence.subspaces.options import SubspaceOptions
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics.table.memory import (
    block_bytes,
    boosting_bytes,
    classifier_bytes,
    copies_by_width,
    exclusivity_bytes,
    fairness_bytes,
    group_bytes,
    input_copies,
    joint_bytes,
    ladder_bytes,
    least_squares_bytes,
    linear_bytes,
    pair_bytes,
    probed_bytes,
    regression_bytes,
    subspace_bytes,
    table_bytes,
    traversal_bytes,
    tree_bytes,
)
from unbraid.metrics.table.metric import Source
from unbraid.probes.capacity import ForestLadder, FourierLadder, MLPLadder, as_ladder
from unbraid.probes.effects import lines_are_fitted
from unbraid.probes.trees import (
    BoostingOptions,
    ForestOptions,
    boosting_importance,
    forest_importance,
)

LIGHT_TREES = 10
LIGHT_JOINT_TREES = 5
LIGHT_RUNGS, LIGHT_STEPS, LIGHT_SAGE_ROWS = 4, 300, 512
MANY_ROWS, FEW_ROWS = 20_000, 1_000
#: Least powers of one over the rows with which bias falls. Few steps are a model of fixed size, of power 1; steps that
#: grow in number with the rows follow a smooth function to the power 2/3; and while the signal carries few steps only,
#: all that is sure of a sum of trees is the power 1/2 of convex combinations. The effect of a penalty falls to the
#: power 1 at last, and more slowly while steep slopes still grow: measured powers are 0.6 to 1.
SUM_OF_TREES, STEP_FUNCTIONS, PENALISED = 1 / 2, 2 / 3, 2 / 3
#: The largest of eigenvalues that are nearly alike exceeds their mean by about one over the root of the rows.
EXTREMES = 1 / 2
#: What chance adds to the best of several codes falls more slowly than one over the rows where codes have about as much
#: information, and faster where signal rises above noise: measured powers are 0.7 to 1.2.
BEST_OF_SEVERAL = 3 / 4, 5 / 4

#: Tests find more dependences with more rows; where halves find fewer, nothing tells how many are left.
FOUND_BY_TESTS = 1 / 4

INFORMATION = Source(
    name="information",
    gather=lambda rep, options, rng: information_table(rep, options),
    options=InformationOptions,
    n_replicates=24,
    n_nulls=10,
    resample=resampled_tables,
    extrapolates=True,
    as_published=lambda options, of_score: options.estimator == "none" or bool(of_score),
    seconds=(0.1, 0.44),
    once=(0.01, 0.75),
    memory=table_bytes,
)
DIFFERENCES = Source(
    name="differences",
    gather=group_differences,
    options=GroupOptions,
    n_replicates=10,
    n_nulls=19,  # of continuous factors they score from 0.3 to 0.95, so that a few nulls do not show their range
    seconds=(0.13, 0.48),
    once=(0.07, 0.3),
    memory=pair_bytes,
)
VARIANCES = Source(
    name="variances",
    gather=group_variances,
    options=RowGroupOptions,
    n_replicates=10,
    n_nulls=3,
    extrapolates=True,
    seconds=(0.11, 0.42),
    once=(0.04, 0.4),
    memory=group_bytes,
)
CONDITIONAL = Source(
    name="conditional",
    gather=conditional_spread,
    options=ConditionalOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    as_published=lambda options, of_score: bool(of_score),
    seconds=(0.093, 0.4),
    once=(0.02, 0.7),
    memory=copies_by_width(7, 2.8),
)
PREDICTABILITY = Source(
    name="predictability",
    gather=predictability,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.098, 0.44),
    once=(0.013, 0.7),
    memory=copies_by_width(0.5, 0.9),
)
CORRELATION = Source(
    name="correlation",
    gather=correlations,
    options=CorrelationOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.091, 0.44),
    once=(0.012, 0.3),
    memory=copies_by_width(4, 0.3),
)
REGRESSION = Source(
    name="regression",
    gather=linear_fit,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    fitted_share=1 - 1 / N_FOLDS,
    seconds=(0.094, 0.42),
    once=(0.04, 0.3),
    memory=least_squares_bytes,
)
LINEAR_MAP = Source(
    name="linear_map",
    gather=linear_map,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.23, 0.53),
    once=(0.01, 0.9),
    memory=input_copies(5),
)
SEPARATION = Source(
    name="separation",
    gather=linear_separation,
    options=ClassifierOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,
    extrapolates=True,
    slowest_bias_order=PENALISED,
    seconds=(0.12, 0.81),
    once=(0.35, 0.2),
    is_compiled=True,
    memory=classifier_bytes(5),
)
PREDICTIVE = Source(
    name="predictive",
    gather=predictive_information,
    options=PredictiveOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,
    extrapolates=True,
    slowest_bias_order=PENALISED,
    seconds=(0.15, 1.0),
    once=(0.5, 0.25),
    is_compiled=True,
    memory=classifier_bytes(6),
)
LINEAR = Source(
    name="linear",
    gather=linear_importance,
    options=LinearOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    extrapolates=True,
    slowest_bias_order=PENALISED,
    seconds=(0.15, 0.49),
    once=(0.04, 0.4),
    memory=linear_bytes,
)
FOREST = Source(
    name="forest",
    gather=forest_importance,
    options=ForestOptions,
    # The chance in the score of all rows counts most, so that it has more trees.
    lighten=lambda options: replace(options, n_trees=max(10, options.n_trees // 4)),
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,  # effects on held-out rows are 0 by chance, whatever the number of rows
    extrapolates=True,
    way=lines_are_fitted,
    seconds=(0.58, 2.1),
    once=(0.9, 0.35),
    is_compiled=True,
    memory=lambda size, options: tree_bytes(size, options.n_trees, options.min_leaf),
)
BOOSTING = Source(
    name="boosting",
    gather=boosting_importance,
    options=BoostingOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,  # effects on held-out rows are 0 by chance, whatever the number of rows
    extrapolates=True,
    way=lines_are_fitted,
    slowest_bias_order=SUM_OF_TREES,
    seconds=(0.36, 1.1),
    once=(1.3, 0.2),
    is_compiled=True,
    memory=boosting_bytes,
)
SUBSPACES = Source(
    name="subspaces",
    gather=factor_subspaces,
    options=SubspaceOptions,
    n_replicates=10,
    n_nulls=3,
    lighten=lambda options: replace(options, solver="fast", heads=None, learning_rate=None, n_steps=None),
    max_replicate_rows=5_000,
    seconds=(0.18, 0.84),
    once=(0.6, 0.2),
    memory=subspace_bytes,
    uses_workers=True,
    follows=True,
    extrapolates=True,
    way=way_of_finding,
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
    sage = replace(options.sage_options, max_rows=min(options.sage_options.max_rows, LIGHT_SAGE_ROWS))
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
    once=(12.0, 0.6),
    memory=ladder_bytes,
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
    seconds=(2.2, 28.0),
    once=(11.6, 0.9),
    memory=regression_bytes,
    uses_workers=True,
)


BLOCKS = Source(
    name="blocks",
    gather=block_reading,
    options=BlockOptions,
    n_replicates=10,
    n_nulls=3,
    covers_limit=True,
    max_replicate_rows=5_000,
    max_null_rows=2_000,  # shares of a blind guess are 0 by chance, whatever the number of rows
    seconds=(0.35, 1.3),
    once=(1.6, 1.0),
    memory=block_bytes,
)


FAIRNESS = Source(
    name="fairness",
    gather=group_fairness,
    options=FairnessOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,
    extrapolates=True,
    slowest_bias_order=STEP_FUNCTIONS,
    seconds=(2.8, 13.4),
    once=(5.0, 0.8),
    memory=fairness_bytes,
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
    once=(0.002, 1.3),
    memory=copies_by_width(4, 0.2, products=5),
)
CODE_INFORMATION = Source(
    name="code_information",
    gather=code_information,
    options=InformationOptions,
    n_replicates=24,
    n_nulls=3,
    resample=resampled_code_information,
    label_free=True,
    seconds=(0.086, 0.39),
    once=(0.01, 0.8),
    memory=copies_by_width(3, 1.6),
)
SPECTRUM = Source(
    name="code_spectrum",
    gather=code_spectrum,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    label_free=True,
    extrapolates=True,
    slowest_bias_order=EXTREMES,
    seconds=(0.15, 0.45),
    once=(0.004, 1.4),
    memory=input_copies(4),
)


SINGLE_CODES = Source(
    name="single_codes",
    gather=single_codes,
    options=ConceptOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.33, 3.5),
    once=(1.7, 0.5),
    memory=input_copies(5),
)
SPARSE_PROBES = Source(
    name="sparse_probes",
    gather=sparse_probes,
    options=SparseProbeOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    covers_limit=True,
    seconds=(2.5, 30.0),
    once=(11.0, 0.3),
    memory=lambda size, options: 6 * size.n_bytes + probed_bytes(size, options),
)
CLASSES = Source(
    name="classes",
    gather=class_association,
    options=ClassOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    slowest_bias_order=BEST_OF_SEVERAL[0],
    fastest_bias_order=BEST_OF_SEVERAL[1],
    seconds=(0.16, 0.45),
    once=(0.015, 0.85),
    memory=table_bytes,
)
ALL_BUT_ONE = Source(
    name="all_but_one",
    gather=varied_groups,
    options=AllButOneOptions,
    n_replicates=10,
    n_nulls=3,
    seconds=(0.21, 0.74),
    once=(0.35, 0.35),
    memory=input_copies(4),
)
PAIRS = Source(
    name="one_factor_pairs",
    gather=pair_correlations,
    options=PairOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.52),
    once=(0.05, 0.85),
    memory=input_copies(5),
)
TRAVERSALS = Source(
    name="factor_traversals",
    gather=traversals,
    options=TraversalOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.47),
    once=(0.05, 0.5),
    memory=traversal_bytes,
)
CIRCLES = Source(
    name="circle_fit",
    gather=circle_fit,
    options=PairOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.44),
    once=(0.04, 1.5),
    memory=input_copies(5),
)
EXCLUSIVITY = Source(
    name="exclusivity",
    gather=exclusivity,
    options=ExclusivityOptions,
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=5_000,
    covers_limit=True,
    bias_order=FOUND_BY_TESTS,
    seconds=(0.23, 0.79),
    once=(1.8, 1.0),
    memory=exclusivity_bytes,
)
JOINT_INFORMATION = Source(
    name="joint_information",
    gather=joint_information,
    options=JointOptions,
    n_replicates=5,
    n_nulls=3,
    lighten=lambda options: replace(
        options, n_trees=min(options.n_trees, LIGHT_JOINT_TREES), max_rows=min(options.max_rows, FEW_ROWS)
    ),
    max_replicate_rows=2_000,
    max_null_rows=FEW_ROWS,
    seconds=(4.7, 7.5),
    once=(6.2, 0.95),
    memory=joint_bytes,
    uses_workers=True,
)
