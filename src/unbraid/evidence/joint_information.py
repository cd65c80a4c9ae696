"""Information of one code, of all other codes and of all codes together about each factor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.workers import Workers
from unbraid.evidence.counting import entropy
from unbraid.evidence.information import Binning, InformationOptions, bin_codes, check_binning, factor_labels
from unbraid.probes.one_input import predict_from_one
from unbraid.probes.splits import cross_fit_splits
from unbraid.probes.trees import as_tree_input, bootstrap, grow_tree
from unbraid.probes.without_one import predictions_without_each
from unbraid.representation.representation import Representation

JointEstimator = Literal["forest", "counts"]
MIN_ROWS = 20
#: Share of the frequencies of the values in every prediction, so that no value is held to be impossible.
PRIOR = 0.01
#: Rows times trees times values of the forests of single codes that grow at once.
MOST_CELLS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JointOptions:
    """How information of several codes is estimated.

    Attributes:
        estimator: ``"forest"``: entropy of the factor less the cross-entropy of a forest on rows that it has not seen;
            ``"counts"``: plug-in estimate from the counts of all combinations of bins, for few codes of few values.
        n_trees: Trees of a forest.
        min_leaf: Fewest rows in a leaf.
        max_rows: Rows used at most, drawn at random.
        n_bins: Bins for factors that are continuous, and for codes that are counted.
        binning: Binning method.
    """

    estimator: JointEstimator = "forest"
    n_trees: int = 10
    min_leaf: int = 5
    max_rows: int = 3000
    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_choice("estimator", self.estimator, get_args(JointEstimator))
        check_at_least("n_trees", self.n_trees, 1)
        check_at_least("min_leaf", self.min_leaf, 1)
        check_at_least("max_rows", self.max_rows, MIN_ROWS)
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointInformation:
    """Information about each factor, in nats.

    Attributes:
        alone: Of each code, ``(n_active, n_factors)``.
        others: Of all codes but one, ``(n_active, n_factors)``; 0 where there is no other.
        together: Of all codes, ``(n_factors,)``.
        factor_entropy: Entropy of each factor, ``(n_factors,)``.
        active: Which codes vary, ``(n_codes,)``.
    """

    alone: FloatArray
    others: FloatArray
    together: FloatArray
    factor_entropy: FloatArray
    active: BoolArray


def joint_information(
    rep: Representation, options: JointOptions, rng: np.random.Generator, workers: Workers | None = None
) -> JointInformation:
    """Estimate the information of each code, of all but it, and of all codes, about each factor."""
    active = np.flatnonzero(rep.active)
    jobs: list[Callable[[], FloatArray]] = []
    entropies = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
        rows = np.flatnonzero(labels >= 0)
        if len(rows) < MIN_ROWS:
            raise ValueError(f"factor {factor.name!r} must have at least {MIN_ROWS} labelled rows, got {len(rows)}.")
        if len(rows) > options.max_rows:
            rows = np.sort(child.permutation(rows)[: options.max_rows])
        entropies.append(float(entropy(np.bincount(labels[rows], minlength=n_levels))))
        seed = int(child.integers(2**31))
        if options.estimator == "counts":
            binned = bin_codes(rep, InformationOptions(n_bins=options.n_bins, binning=options.binning))[0]
            jobs.append(partial(_counted_parts, binned[np.ix_(active, rows)], labels[rows], n_levels))
        else:
            codes = rep.codes[np.ix_(rows, active)]
            size = max(1, MOST_CELLS // (len(rows) * options.n_trees * n_levels))
            jobs += [
                partial(_predicted_alone, codes[:, start : start + size], labels[rows], n_levels, options, seed)
                for start in range(0, len(active), size)
            ]
            jobs.append(partial(_predicted_without_each, codes, labels[rows], n_levels, options, seed))
    found = np.hstack((workers or Workers(1)).map(lambda job: job(), jobs)).reshape(rep.n_factors, -1)
    found = np.clip(found, 0.0, np.array(entropies)[:, None])
    alone, others = found[:, : len(active)].T, found[:, len(active) : -1].T
    return JointInformation(
        alone=alone, others=others, together=found[:, -1], factor_entropy=np.array(entropies), active=rep.active
    )


def _counted_parts(bins: IntArray, labels: IntArray, n_levels: int) -> FloatArray:
    """Plug-in information of each code, of all but each, and of all."""
    every = np.arange(len(bins))
    alone = [_counted(bins[[j]], labels, n_levels) for j in every]
    others = [_counted(bins[every != j], labels, n_levels) for j in every]
    return np.array([*alone, *others, _counted(bins, labels, n_levels)])


def _counted(bins: IntArray, labels: IntArray, n_levels: int) -> float:
    """Plug-in mutual information of the labels and the combinations of bins of some codes."""
    if not len(bins):
        return 0.0
    cells = np.unique(bins, axis=1, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(cells * n_levels + labels, minlength=(int(cells.max()) + 1) * n_levels).reshape(-1, n_levels)
    return float(entropy(counts.sum(axis=0)) + entropy(counts.sum(axis=1)) - entropy(counts.ravel()))


def _predicted_without_each(
    codes: FloatArray, labels: IntArray, n_levels: int, options: JointOptions, seed: int
) -> FloatArray:
    """Information of all codes but each, and of all, from forests on half of the rows that predict the other half.

    It is the entropy of the labels less the cross-entropy of the predictions. A forest without one code has the trees
    of the forest of all codes, except below the splits on that code.
    """
    rng = np.random.default_rng(seed)
    n_codes = codes.shape[1]
    shares = np.bincount(labels, minlength=n_levels) / len(labels)
    lost = np.zeros(n_codes + 1)  # the sum of surprises without each code; last, that of all codes
    for split in cross_fit_splits(len(labels), "cross_fitted", 2, rng):
        inputs, tested = as_tree_input(codes[split.train]), as_tree_input(codes[split.test])
        known, wanted = labels[split.train], labels[split.test]
        guess = np.zeros((len(wanted), n_levels))
        changes: dict[int, list[tuple[IntArray, FloatArray]]] = defaultdict(list)
        for _ in range(options.n_trees):
            weights, own = bootstrap(len(known), len(known), rng), int(rng.integers(2**31))
            sizes: dict[str, Any] = {"n_classes": n_levels, "min_samples_leaf": options.min_leaf}
            tree = grow_tree(inputs, known, weights=weights, seed=own, **sizes)
            predicted = tree.values[tree.grown.apply(tested)] / options.n_trees
            guess += predicted
            for code, rows, without in predictions_without_each(
                tree, inputs, known, tested, weights=weights, seed=own, **sizes
            ):
                changes[code].append((rows, without / options.n_trees - predicted[rows]))
        surprise = _surprise(guess, wanted, shares).sum()
        lost += surprise
        for code, parts in changes.items():
            changed = guess.copy()
            for rows, change in parts:
                changed[rows] += change
            lost[code] += _surprise(changed, wanted, shares).sum() - surprise
    blind = -np.log(shares[labels]).mean()
    gain: FloatArray = blind - lost / len(labels)
    if n_codes == 1:
        gain[0] = 0.0  # there are no others
    return gain


def _surprise(guess: FloatArray, labels: IntArray, shares: FloatArray) -> FloatArray:
    """Minus the logarithm of the share that predictions give to the labels, mixed with their frequencies."""
    found: FloatArray = -np.log((1 - PRIOR) * guess[np.arange(len(labels)), labels] + PRIOR * shares[labels])
    return found


def _predicted_alone(
    codes: FloatArray, labels: IntArray, n_levels: int, options: JointOptions, seed: int
) -> FloatArray:
    """Information of each code by itself, from forests that grow at once, on the draws of those of all codes."""
    rng = np.random.default_rng(seed)
    shares = np.bincount(labels, minlength=n_levels) / len(labels)
    surprise = np.zeros(codes.T.shape)
    for split in cross_fit_splits(len(labels), "cross_fitted", 2, rng):
        weights = np.empty((options.n_trees, len(split.train)), dtype=np.uint16)
        for tree in range(options.n_trees):
            weights[tree] = bootstrap(len(split.train), len(split.train), rng)
            rng.integers(2**31)  # the seed of a tree of all codes
        guess = predict_from_one(
            codes[split.train].T,
            np.broadcast_to(labels[split.train], (codes.shape[1], len(split.train))),
            codes[split.test].T,
            np.broadcast_to(weights, (codes.shape[1], *weights.shape)),
            min_leaf=options.min_leaf,
            n_classes=n_levels,
        )
        surprise[:, split.test] = [_surprise(own, labels[split.test], shares) for own in guess]
    gain: FloatArray = -np.log(shares[labels]).mean() - surprise.mean(axis=1)
    return gain
