"""Estimates of the memory that evidence takes, in bytes, by the size of the input."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unbraid.evidence.block_reading import MOST_LANDMARKS, BlockOptions
from unbraid.evidence.concepts import (
    CELLS_AT_ONCE,
    KS,
    ConceptOptions,
)
from unbraid.evidence.cross_prediction import MOST_CELLS, MOST_INPUTS, CrossPredictionOptions
from unbraid.evidence.cross_prediction import N_BINS as BINS_OF_ALL
from unbraid.evidence.exclusivity import ExclusivityOptions
from unbraid.evidence.fairness import MOST_CODES_TRIED, MOST_GROWN, FairnessOptions
from unbraid.evidence.information import (
    FEW_LEVELS,
    MOST_AT_ONCE,
    InformationOptions,
)
from unbraid.evidence.interventions import (
    CHUNK_CELLS,
    GroupOptions,
)
from unbraid.evidence.joint_information import JointOptions
from unbraid.evidence.linear.importance import LinearOptions
from unbraid.evidence.loss_capacity import LossCapacityOptions
from unbraid.evidence.one_factor.traversals import (
    TraversalOptions,
)
from unbraid.evidence.subspaces.fast import MAX_WIDTH
from unbraid.evidence.subspaces.options import SubspaceOptions
from unbraid.evidence.subspaces.screening import MOST_CHOOSING, MOST_SCORING
from unbraid.metrics.table.metric import InputSize
from unbraid.probes.bins import CELLS, ENOUGH_ROWS, MOST_EXACT, MOST_TRIED, N_BINS
from unbraid.probes.capacity import ForestLadder, FourierLadder, MLPLadder, as_ladder
from unbraid.probes.effects import MOST_BY_LINE, MOST_TOGETHER, ROW_BYTES
from unbraid.probes.linear import EXACT_UP_TO, MAX_NEWTON_CODES
from unbraid.probes.ridge import ASIDE_SHARE, MOST_FITTED, MOST_ROWS, ROWS_AT_ONCE
from unbraid.probes.trees import (
    HISTOGRAM_MIB,
    MAX_ROWS_A_TREE,
    MIN_LEAF,
    N_BOOSTING_FOLDS,
    PUBLISHED_MIN_LEAF,
    BoostingOptions,
)
from unbraid.probes.wide import MOST_COLUMNS

#: Bytes of a node of a tree, without and for each class; of a bin of a histogram that a leaf keeps while trees grow.
NODE_BYTES, CLASS_BYTES, BIN_BYTES = 64, 16, 20
#: Bytes of a row of a tree among forests of one input.
CELL_BYTES = 120
#: Most leaves of a tree of LightGBM, and its bins of a code.
MOST_LEAVES, TREE_BINS = 2048, 256
#: Blocks of rows, resamples and bytes of a cell of the tables that resampled information is counted in.
CELL_BYTES = 1600
#: Rows that subspaces are fitted on at most.
SUBSPACE_ROWS = 20_000


def input_copies(times: float) -> Callable[[InputSize, Any], float]:
    """Memory of so many copies of codes and factors."""
    return lambda size, options: times * size.n_bytes


def copies_by_width(few: float, wide: float, *, products: float = 0.0) -> Callable[[InputSize, Any], float]:
    """Memory of so many copies of codes and factors; of wide codes fewer, and so many tables of every two codes."""

    def needed(size: InputSize, options: Any) -> float:
        if size.n_codes <= MOST_EXACT:
            return few * size.n_bytes
        return wide * size.n_bytes + 8 * products * size.n_codes**2

    return needed


def classifier_bytes(times: float) -> Callable[[InputSize, Any], float]:
    """Memory of copies, and of the products of every two codes in every row; of wide codes, that of steps of fits."""

    def needed(size: InputSize, options: Any) -> float:
        if size.n_codes <= MAX_NEWTON_CODES:
            return times * size.n_bytes + 4 * size.n_rows * size.n_codes**2
        steps = 4 * (min(size.n_rows, size.n_codes) + size.n_rows / 2) * MOST_COLUMNS * 20
        return size.n_bytes + 12 * min(size.n_rows, size.n_codes) ** 2 + steps

    return needed


def group_bytes(size: InputSize, options: GroupOptions) -> float:
    """Rows of all groups, to fit and to test, drawn at once; of wide codes see :func:`pair_bytes`."""
    if size.n_codes > MOST_EXACT:
        return pair_bytes(size, options)
    return 4 * size.n_bytes + 24 * options.n_votes * options.group_size * size.n_codes


def pair_bytes(size: InputSize, options: GroupOptions) -> float:
    """Copies; of wide codes one in single precision, the columns converted at once, and the summaries of groups."""
    if size.n_codes <= MOST_EXACT:
        return 4 * size.n_bytes
    return 0.6 * size.n_bytes + 24 * CHUNK_CELLS + 64 * options.n_votes * size.n_codes


def table_bytes(size: InputSize, options: InformationOptions) -> float:
    """Counts of one code with one factor in blocks of rows, and their resamples; of wide codes, of a few factors."""
    few_levels = size.n_codes > MOST_EXACT and size.n_levels <= FEW_LEVELS
    at_once = 8 * options.n_bins * min(size.n_factors, MOST_AT_ONCE) * size.n_levels * size.n_codes if few_levels else 0
    return 2 * size.n_bytes + CELL_BYTES * options.n_bins * max(size.n_levels, options.n_bins) + at_once


def tree_bytes(size: InputSize, n_trees: int, min_leaf: int) -> float:
    """Trees that are kept until they have predicted, and the histograms of one that grows."""
    n_leaves = min(size.n_rows, MAX_ROWS_A_TREE) / (min_leaf or PUBLISHED_MIN_LEAF)
    kept = 2 * n_leaves * (NODE_BYTES + CLASS_BYTES * max(size.n_levels, 1))
    return tree_input_bytes(size, 6) + n_trees * kept + min(n_leaves, MOST_LEAVES) * histogram_bytes(size)


def tree_input_bytes(size: InputSize, copies: float) -> float:
    """Copies of codes; of wide codes bins, data sets, least squares, and rows and codes that codes are compared on."""
    if size.n_codes <= MOST_EXACT:
        return copies * size.n_bytes
    lines = 2.0 if size.n_codes <= MOST_BY_LINE else 0.0
    return (0.9 + lines) * size.n_bytes + 24 * min(size.n_rows, ENOUGH_ROWS) * MOST_TRIED + 12 * CELLS


def histogram_bytes(size: InputSize) -> float:
    """Memory of the histograms of one leaf."""
    if size.n_codes <= MOST_EXACT:
        return TREE_BINS * size.n_codes * BIN_BYTES
    return N_BINS * min(size.n_codes, MOST_TRIED) * BIN_BYTES


def least_squares_bytes(size: InputSize, options: Any) -> float:
    """Copies; of wide codes, products of the codes for each fold, or of the rows where they are fewer."""
    if size.n_rows < size.n_codes and size.n_codes > MOST_EXACT:
        return 2.4 * size.n_bytes + 16.0 * size.n_rows**2
    return copies_by_width(5, 2.4, products=3)(size, options)


def linear_bytes(size: InputSize, options: LinearOptions) -> float:
    """Copies; of wide codes the rows in use, and products of codes or of rows, whichever are fewer, decomposed."""
    if size.n_codes <= MOST_FITTED:
        return 5 * size.n_bytes
    rows = min(size.n_rows, MOST_ROWS) + ASIDE_SHARE * size.n_rows + ROWS_AT_ONCE
    return 8 * rows * size.n_codes + 40.0 * min(size.n_rows, size.n_codes) ** 2


def regression_bytes(size: InputSize, options: CrossPredictionOptions) -> float:
    """Copies and predictions of codes, trees of one target, forests of one input, and of wide codes histograms."""
    some = size.of_rows(options.max_rows)
    n_leaves = some.n_rows / options.min_leaf
    trees = options.n_trees * 2 * n_leaves * NODE_BYTES + CELL_BYTES * MOST_CELLS
    kept = HISTOGRAM_MIB * 2.0**20 if size.n_codes > MOST_INPUTS else 0.0
    return 8 * some.n_bytes + trees + min(kept, n_leaves * size.n_codes * BINS_OF_ALL * BIN_BYTES)


def subspace_bytes(size: InputSize, options: SubspaceOptions) -> float:
    """Features of the losses along axes, on a part of the rows; of wide codes both halves in single precision."""
    if size.n_codes > MAX_WIDTH:
        rows = min(size.n_rows, MOST_CHOOSING + MOST_SCORING)
        return 6 * rows * size.n_codes + 16 * size.n_codes**2 + SUBSPACE_ROWS * 15_000
    return 5 * size.n_bytes + min(size.n_rows, SUBSPACE_ROWS) * (5000 + 100 * size.n_codes)


def boosting_bytes(size: InputSize, options: BoostingOptions) -> float:
    """Small trees, and the bins, predictions and gradients of models of all folds and classes at once."""
    trees = options.n_rounds * max(size.n_levels, 1) * options.n_leaves * 2 * NODE_BYTES
    histograms = options.n_leaves * histogram_bytes(size)
    n_models, width = N_BOOSTING_FOLDS * max(size.n_levels, 1), min(size.n_codes, MOST_TRIED)
    together = min(MOST_TOGETHER, n_models * size.n_rows * (width + ROW_BYTES))
    return tree_input_bytes(size, 4) + 8 * size.n_rows * max(size.n_levels, 1) + together + trees + histograms


def ladder_bytes(size: InputSize, options: LossCapacityOptions) -> float:
    """Models and predictions of every level, for all factors; of wide codes mostly the first layers of networks."""
    ladder = as_ladder(options.ladder)
    needed = 20.0 * size.n_bytes
    if isinstance(ladder, MLPLadder) and size.n_codes > EXACT_UP_TO:
        # Every level is kept, and the widest has its best weights, gradients and two moments of them too.
        units = sum(ladder.widths) + 5 * max(ladder.widths)
        needed = 4.0 * size.n_bytes + 4.0 * size.n_codes * size.n_factors * units
    if isinstance(ladder, ForestLadder):
        needed += size.n_factors * tree_bytes(size, ladder.n_trees, ladder.min_leaf)
    if isinstance(ladder, FourierLadder):
        needed += 16 * size.n_rows * max(ladder.n_features)
    return needed


def block_bytes(size: InputSize, options: BlockOptions) -> float:
    """Kernels of the rows of a fold with the landmarks, and predictions of all factors and their shuffles."""
    return 2 * size.n_bytes + size.n_rows * (8 * MOST_LANDMARKS + 16 * size.n_factors * max(size.n_levels, 2))


def fairness_bytes(size: InputSize, options: FairnessOptions) -> float:
    """Codes of two parts of the rows, and one forest at a time, of classes that few values are cut into.

    Of wide codes, products of the codes, or of the rows where they are fewer, and forests of some of the codes.
    """
    grown = replace(size.of_rows(MOST_GROWN), n_levels=options.n_cuts, n_codes=min(size.n_codes, MOST_CODES_TRIED))
    products = 12.0 * min(size.n_rows, size.n_codes) ** 2 if size.n_codes > MAX_NEWTON_CODES else 0.0
    return 2 * size.n_bytes + products + tree_bytes(grown, options.n_trees, MIN_LEAF)


def traversal_bytes(size: InputSize, options: TraversalOptions) -> float:
    """Codes of all traversals, and their distances in pieces."""
    return 2 * size.n_bytes + 16 * options.n_traversals * max(size.n_levels, options.n_cuts) * size.n_codes


def exclusivity_bytes(size: InputSize, options: ExclusivityOptions) -> float:
    """Residuals of codes, and the inputs that all factors are predicted from."""
    return 5 * size.n_bytes + 128 * size.n_rows * size.n_factors


def joint_bytes(size: InputSize, options: JointOptions) -> float:
    """Trees of one factor at a time, without histograms, on a part of the rows."""
    some = size.of_rows(options.max_rows)
    n_nodes = 2 * some.n_rows / options.min_leaf
    return 2 * size.n_bytes + 4 * some.n_bytes + options.n_trees * n_nodes * (NODE_BYTES + 8 * max(size.n_levels, 1))


def probed_bytes(size: InputSize, options: ConceptOptions) -> float:
    """Columns of the probes that are fitted at once, as chosen, standardised, and those of the training rows."""
    return 24.0 * min(CELLS_AT_ONCE, size.n_rows * (max(KS) + 1) * max(size.n_levels, options.n_bins))
