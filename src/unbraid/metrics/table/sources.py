"""Kinds of evidence that metrics share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unbraid.evidence.association import CorrelationOptions, NoOptions, code_covariance, correlations, predictability
from unbraid.evidence.block_reading import MOST_LANDMARKS, BlockOptions, block_reading
from unbraid.evidence.classes import ClassOptions, class_association
from unbraid.evidence.concepts import (
    CELLS_AT_ONCE,
    KS,
    ConceptOptions,
    SparseProbeOptions,
    single_codes,
    sparse_probes,
)
from unbraid.evidence.cross_prediction import CrossPredictionOptions, cross_prediction
from unbraid.evidence.exclusivity import ExclusivityOptions, exclusivity
from unbraid.evidence.fairness import MOST_GROWN, FairnessOptions, group_fairness
from unbraid.evidence.information import (
    FEW_LEVELS,
    MOST_AT_ONCE,
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
from unbraid.evidence.linear import (
    ClassifierOptions,
    LinearOptions,
    PredictiveOptions,
    linear_fit,
    linear_importance,
    linear_separation,
    predictive_information,
)
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
from unbraid.evidence.subspaces.fast import MAX_WIDTH
from unbraid.evidence.subspaces.options import SubspaceOptions
from unbraid.evidence.subspaces.screening import MOST_CHOOSING, MOST_SCORING
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics.table.metric import InputSize, Source
from unbraid.probes.bins import CELLS, ENOUGH_ROWS, MOST_EXACT, MOST_TRIED, N_BINS
from unbraid.probes.capacity import ForestLadder, FourierLadder, MLPLadder, as_ladder
from unbraid.probes.linear import MAX_NEWTON_CODES
from unbraid.probes.ridge import MOST_FITTED
from unbraid.probes.trees import (
    MAX_ROWS_A_TREE,
    MIN_LEAF,
    PUBLISHED_MIN_LEAF,
    BoostingOptions,
    ForestOptions,
    boosting_importance,
    forest_importance,
)
from unbraid.probes.wide import MOST_COLUMNS

#: Bytes of a node of a tree, without and for each class; of a bin of a histogram that a leaf keeps while trees grow.
NODE_BYTES, CLASS_BYTES, BIN_BYTES = 64, 16, 20
#: Most leaves of a tree of LightGBM, and its bins of a code.
MOST_LEAVES, TREE_BINS = 2048, 256
#: Blocks of rows, resamples and bytes of a cell of the tables that resampled information is counted in.
CELL_BYTES = 1600
#: Rows that subspaces are fitted on at most.
SUBSPACE_ROWS = 20_000


def _copies(times: float) -> Callable[[InputSize, Any], float]:
    """Memory of so many copies of codes and factors."""
    return lambda size, options: times * size.n_bytes


def _classifier_bytes(times: float) -> Callable[[InputSize, Any], float]:
    """Memory of copies, and of the products of every two codes in every row; of wide codes, that of steps of fits."""

    def needed(size: InputSize, options: Any) -> float:
        if size.n_codes <= MAX_NEWTON_CODES:
            return times * size.n_bytes + 4 * size.n_rows * size.n_codes**2
        steps = 4 * (size.n_codes + size.n_rows / 2) * MOST_COLUMNS * 20
        return size.n_bytes + 12 * size.n_codes**2 + steps

    return needed


def _group_bytes(size: InputSize, options: GroupOptions) -> float:
    """Rows of all groups, to fit and to test, drawn at once."""
    return 4 * size.n_bytes + 24 * options.n_votes * options.group_size * size.n_codes


def _table_bytes(size: InputSize, options: InformationOptions) -> float:
    """Counts of one code with one factor in blocks of rows, and their resamples; of wide codes, of a few factors."""
    few_levels = size.n_codes > MOST_EXACT and size.n_levels <= FEW_LEVELS
    at_once = 8 * options.n_bins * min(size.n_factors, MOST_AT_ONCE) * size.n_levels * size.n_codes if few_levels else 0
    return 2 * size.n_bytes + CELL_BYTES * options.n_bins * max(size.n_levels, options.n_bins) + at_once


def _tree_bytes(size: InputSize, n_trees: int, min_leaf: int) -> float:
    """Trees that are kept until they have predicted, and the histograms of one that grows."""
    n_leaves = min(size.n_rows, MAX_ROWS_A_TREE) / (min_leaf or PUBLISHED_MIN_LEAF)
    kept = 2 * n_leaves * (NODE_BYTES + CLASS_BYTES * max(size.n_levels, 1))
    return _tree_input_bytes(size, 6) + n_trees * kept + min(n_leaves, MOST_LEAVES) * _histogram_bytes(size)


def _tree_input_bytes(size: InputSize, copies: float) -> float:
    """Copies of codes; of wide codes their bins, data sets of them, and rows and codes that codes are compared on."""
    if size.n_codes <= MOST_EXACT:
        return copies * size.n_bytes
    return 0.9 * size.n_bytes + 24 * min(size.n_rows, ENOUGH_ROWS) * MOST_TRIED + 12 * CELLS


def _histogram_bytes(size: InputSize) -> float:
    """Memory of the histograms of one leaf."""
    if size.n_codes <= MOST_EXACT:
        return TREE_BINS * size.n_codes * BIN_BYTES
    return N_BINS * min(size.n_codes, MOST_TRIED) * BIN_BYTES


def _linear_bytes(size: InputSize, options: LinearOptions) -> float:
    """Copies; of wide codes, products of the codes or of the rows, whichever are fewer, and their decompositions."""
    products = 40.0 * min(size.n_rows, size.n_codes) ** 2 if size.n_codes > MOST_FITTED else 0.0
    return 5 * size.n_bytes + products


def _regression_bytes(size: InputSize, options: CrossPredictionOptions) -> float:
    """Forests of one target at a time."""
    return _tree_bytes(size.of_rows(options.max_rows), options.n_trees, options.min_leaf)


def _subspace_bytes(size: InputSize, options: SubspaceOptions) -> float:
    """Features of the losses along axes, on a part of the rows; of wide codes both halves in single precision."""
    if size.n_codes > MAX_WIDTH:
        rows = min(size.n_rows, MOST_CHOOSING + MOST_SCORING)
        return 6 * rows * size.n_codes + 16 * size.n_codes**2 + SUBSPACE_ROWS * 15_000
    return 5 * size.n_bytes + min(size.n_rows, SUBSPACE_ROWS) * (5000 + 100 * size.n_codes)


def _boosting_bytes(size: InputSize, options: BoostingOptions) -> float:
    """Small trees, and gradients of every class."""
    trees = options.n_rounds * max(size.n_levels, 1) * options.n_leaves * 2 * NODE_BYTES
    histograms = options.n_leaves * _histogram_bytes(size)
    return _tree_input_bytes(size, 4) + 32 * size.n_rows * max(size.n_levels, 1) + trees + histograms


def _ladder_bytes(size: InputSize, options: LossCapacityOptions) -> float:
    """Models and predictions of every level, for all factors."""
    ladder = as_ladder(options.ladder)
    needed = 20.0 * size.n_bytes
    if isinstance(ladder, ForestLadder):
        needed += size.n_factors * _tree_bytes(size, ladder.n_trees, ladder.min_leaf)
    if isinstance(ladder, FourierLadder):
        needed += 16 * size.n_rows * max(ladder.n_features)
    return needed


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
    once=(0.01, 1.0),
    memory=_table_bytes,
)
DIFFERENCES = Source(
    name="differences",
    gather=group_differences,
    options=GroupOptions,
    n_replicates=10,
    n_nulls=19,  # of continuous factors they score from 0.3 to 0.95, so that a few nulls do not show their range
    seconds=(0.13, 0.48),
    once=(0.07, 0.3),
    memory=_copies(4),  # groups are drawn in small pieces
)
VARIANCES = Source(
    name="variances",
    gather=group_variances,
    options=RowGroupOptions,
    n_replicates=10,
    n_nulls=3,
    extrapolates=True,
    seconds=(0.11, 0.42),
    once=(0.04, 0.5),
    memory=_group_bytes,
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
    once=(0.02, 0.9),
    memory=_copies(7),
)
PREDICTABILITY = Source(
    name="predictability",
    gather=predictability,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.098, 0.44),
    once=(0.013, 1.0),
    memory=_copies(0.5),
)
CORRELATION = Source(
    name="correlation",
    gather=correlations,
    options=CorrelationOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.091, 0.44),
    once=(0.012, 1.0),
    memory=_copies(4),
)
REGRESSION = Source(
    name="regression",
    gather=linear_fit,
    options=NoOptions,
    n_replicates=10,
    n_nulls=5,
    extrapolates=True,
    seconds=(0.094, 0.42),
    once=(0.04, 0.5),
    memory=_copies(5),
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
    memory=_copies(5),
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
    once=(0.35, 0.35),
    memory=_classifier_bytes(5),
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
    once=(0.5, 0.35),
    memory=_classifier_bytes(6),
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
    once=(0.04, 0.65),
    memory=_linear_bytes,
)
FOREST = Source(
    name="forest",
    gather=forest_importance,
    options=ForestOptions,
    # The value is twice the point less the mean of halves: the chance in the point counts four times.
    lighten=lambda options: replace(options, n_trees=max(10, options.n_trees // 4)),
    n_replicates=5,
    n_nulls=3,
    max_replicate_rows=MANY_ROWS,
    max_null_rows=FEW_ROWS,  # effects on held-out rows are 0 by chance, whatever the number of rows
    extrapolates=True,
    seconds=(0.58, 2.1),
    once=(0.9, 0.35),
    memory=lambda size, options: _tree_bytes(size, options.n_trees, options.min_leaf),
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
    slowest_bias_order=SUM_OF_TREES,
    seconds=(0.36, 1.1),
    once=(1.3, 0.25),
    memory=_boosting_bytes,
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
    once=(0.6, 0.3),
    memory=_subspace_bytes,
    uses_workers=True,
    follows=True,
    extrapolates=True,
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
    once=(12.0, 1.0),
    memory=_ladder_bytes,
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
    once=(35.0, 2.0),
    memory=_regression_bytes,
    uses_workers=True,
)


def _block_bytes(size: InputSize, options: BlockOptions) -> float:
    """Kernels of the rows of a fold with the landmarks, and predictions of all factors and their shuffles."""
    return 2 * size.n_bytes + size.n_rows * (8 * MOST_LANDMARKS + 16 * size.n_factors * max(size.n_levels, 2))


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
    memory=_block_bytes,
)


def _fairness_bytes(size: InputSize, options: FairnessOptions) -> float:
    """Codes of two parts of the rows, and one forest at a time, of classes that few values are cut into."""
    grown = replace(size.of_rows(MOST_GROWN), n_levels=options.n_cuts)
    return 2 * size.n_bytes + _tree_bytes(grown, options.n_trees, MIN_LEAF)


def _traversal_bytes(size: InputSize, options: TraversalOptions) -> float:
    """Codes of all traversals, and their distances in pieces."""
    return 2 * size.n_bytes + 16 * options.n_traversals * max(size.n_levels, options.n_cuts) * size.n_codes


def _exclusivity_bytes(size: InputSize, options: ExclusivityOptions) -> float:
    """Residuals of codes, and the inputs that all factors are predicted from."""
    return 5 * size.n_bytes + 128 * size.n_rows * size.n_factors


def _joint_bytes(size: InputSize, options: JointOptions) -> float:
    """Trees of one factor at a time, without histograms, on a part of the rows."""
    some = size.of_rows(options.max_rows)
    n_nodes = 2 * some.n_rows / options.min_leaf
    return 2 * size.n_bytes + 4 * some.n_bytes + options.n_trees * n_nodes * (NODE_BYTES + 8 * max(size.n_levels, 1))


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
    once=(4.0, 0.5),
    memory=_fairness_bytes,
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
    once=(0.002, 1.7),
    memory=_copies(4),
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
    once=(0.01, 1.0),
    memory=_copies(3),
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
    memory=_copies(4),
)


def probed_bytes(size: InputSize, options: ConceptOptions) -> float:
    """Columns of the probes that are fitted at once, as chosen, standardised, and those of the training rows."""
    return 24.0 * min(CELLS_AT_ONCE, size.n_rows * (max(KS) + 1) * max(size.n_levels, options.n_bins))


SINGLE_CODES = Source(
    name="single_codes",
    gather=single_codes,
    options=ConceptOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.33, 3.5),
    once=(1.7, 0.5),
    memory=_copies(5),
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
    memory=_table_bytes,
)
ALL_BUT_ONE = Source(
    name="all_but_one",
    gather=varied_groups,
    options=AllButOneOptions,
    n_replicates=10,
    n_nulls=3,
    seconds=(0.21, 0.74),
    once=(0.35, 0.35),
    memory=_copies(4),
)
PAIRS = Source(
    name="one_factor_pairs",
    gather=pair_correlations,
    options=PairOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.52),
    once=(0.05, 0.85),
    memory=_copies(5),
)
TRAVERSALS = Source(
    name="factor_traversals",
    gather=traversals,
    options=TraversalOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.47),
    once=(0.05, 0.5),
    memory=_traversal_bytes,
)
CIRCLES = Source(
    name="circle_fit",
    gather=circle_fit,
    options=PairOptions,
    n_replicates=10,
    n_nulls=5,
    seconds=(0.15, 0.44),
    once=(0.04, 1.5),
    memory=_copies(5),
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
    memory=_exclusivity_bytes,
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
    seconds=(6.5, 10.0),
    once=(19.0, 1.5),
    memory=_joint_bytes,
    uses_workers=True,
)
