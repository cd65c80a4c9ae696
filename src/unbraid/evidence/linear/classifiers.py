"""Classifiers of factor values: areas under ROC curves, and predictive information."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid.evidence.information import Binning, check_binning, factor_labels
from unbraid.evidence.linear.regression import N_FOLDS
from unbraid.probes.importance import r_squared
from unbraid.probes.linear import (
    MAX_NEWTON_CODES,
    auc_by_level,
    decision,
    least_squares,
    multinomial,
    one_vs_rest,
)
from unbraid.probes.splits import Split, cross_fit_factor, cross_fit_together, holdout, standardise
from unbraid.probes.wide import WideCodes
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

Classifier = Literal["one_vs_rest", "multinomial", "one_vs_rest_shares"]
EvaluateOn = Literal["held_out", "fitted"]
#: Of the classifiers of values: ``"all"`` rows are fitted, and tested on too.
SeparateOn = Literal["held_out", "fitted", "all"]


def separation_splits(factor: Factor, evaluate_on: SeparateOn, rng: np.random.Generator) -> list[Split]:
    """Folds to test on, or one training set that is its own test set: 70 % of the rows, or all of them."""
    if evaluate_on == "held_out":
        return cross_fit_factor(factor, n_folds=N_FOLDS, rng=rng)
    train = holdout(factor, rng=rng).train if evaluate_on == "fitted" else np.flatnonzero(factor.labelled)
    return [Split(train=train, test=train)]


def splits_of_factors(
    rep: Representation, labels: Sequence[IntArray | None], evaluate_on: SeparateOn, rng: np.random.Generator
) -> list[list[Split]]:
    """Splits of every factor, whose labels are given; factors of wide codes with plenty of rows share folds."""
    if evaluate_on == "held_out" and rep.n_codes > MAX_NEWTON_CODES:
        return cross_fit_together(rep.factors, labels, n_folds=N_FOLDS, rng=rng)
    children = rng.spawn(rep.n_factors)
    return [separation_splits(factor, evaluate_on, child) for factor, child in zip(rep.factors, children, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierOptions:
    """Options of the linear classifiers of factor values.

    Attributes:
        classifier: ``"one_vs_rest"``: a logistic regression for each value; ``"multinomial"``: one for all;
            ``"one_vs_rest_shares"``: one for each value, on codes scaled to [0, 1] and with equal weight of the value
            and the rest, whose probabilities are divided by their sum over the values, as one published library does.
        evaluate_on: ``"held_out"`` rows, the ``"fitted"`` ones as some published code does, or ``"all"`` rows, fitted
            and tested on.
        n_bins: Bins for factors that are continuous.
        binning: Binning method; ``"robust"`` cuts at quantiles here.
    """

    classifier: Classifier = "one_vs_rest"
    evaluate_on: SeparateOn = "held_out"
    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_choice("classifier", self.classifier, get_args(Classifier))
        check_choice("evaluate_on", self.evaluate_on, get_args(SeparateOn))
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveOptions:
    """Whether predictive information is measured on test rows or on training rows."""

    evaluate_on: EvaluateOn = "held_out"

    def __post_init__(self) -> None:
        check_choice("evaluate_on", self.evaluate_on, get_args(EvaluateOn))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separation:
    """Mean area under the ROC curve of the values of each factor, ``(n_factors,)``."""

    auc: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictiveInformation:
    """Share of each factor's entropy (or variance) a linear probe removes, ``(n_factors,)``."""

    share: FloatArray


def linear_separation(rep: Representation, options: ClassifierOptions, rng: np.random.Generator) -> Separation:
    """Fit a linear classifier for the values of each factor and take the AUC of each value, averaged over folds."""
    if rep.n_codes > MAX_NEWTON_CODES and options.classifier != "one_vs_rest_shares":
        return separation_of_wide_codes(rep, WideCodes.of(rep), options, rng)
    areas = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        labels, n_levels = _labels(factor, options)
        found = [
            _areas(rep, labels, n_levels, split, options.classifier)
            for split in separation_splits(factor, options.evaluate_on, child)
        ]
        areas.append(_mean_of_known(factor, found))
    return Separation(auc=np.array(areas))


def _labels(factor: Factor, options: ClassifierOptions) -> tuple[IntArray, int]:
    """Values of a factor or its bins, and their number."""
    # Equally many rows in each bin: the AUC of a bin of few rows, at the end of the range, is mostly chance.
    return factor_labels(factor, options.n_bins, "quantile" if options.binning == "robust" else options.binning)


def separation_of_wide_codes(
    rep: Representation, codes: WideCodes, options: ClassifierOptions, rng: np.random.Generator
) -> Separation:
    """The same for wide codes, with all classifiers fitted at once on codes that are standardised over all rows."""
    together, values = options.classifier == "multinomial", [_labels(factor, options) for factor in rep.factors]
    splits_of_all = splits_of_factors(rep, [labels for labels, _ in values], options.evaluate_on, rng)
    tasks = [(*own, splits) for own, splits in zip(values, splits_of_all, strict=True)]
    areas = []
    for factor, (labels, _, splits), found in zip(
        rep.factors, tasks, codes.scores(tasks, together=together), strict=True
    ):
        pairs = zip(found, splits, strict=True)
        areas.append(_mean_of_known(factor, [auc_by_level(scores, labels[split.test]) for scores, split in pairs]))
    return Separation(auc=np.array(areas))


def _areas(rep: Representation, labels: IntArray, n_levels: int, split: Split, classifier: Classifier) -> FloatArray:
    """AUC of each value on the test rows, NaN where they lack it."""
    if classifier == "one_vs_rest_shares":
        return auc_by_level(_shares_of_values(rep.codes, labels, n_levels, split), labels[split.test])
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    fit = one_vs_rest if classifier == "one_vs_rest" else multinomial
    scores = decision(x_test, fit(x, labels[split.train], n_levels))
    if classifier == "multinomial":
        scores = scipy.special.log_softmax(scores, axis=1)
    return auc_by_level(scores, labels[split.test])


def _shares_of_values(codes: FloatArray, labels: IntArray, n_levels: int, split: Split) -> FloatArray:
    """Probability of each value by a balanced logistic regression of its own, as a share of their sum."""
    from sklearn.linear_model import LogisticRegression

    low, size = codes[split.train].min(axis=0), np.ptp(codes[split.train], axis=0)
    x, x_test = ((codes[rows] - low) / np.where(size > 0, size, 1.0) for rows in (split.train, split.test))
    found = np.zeros((len(x_test), n_levels))
    for level in range(n_levels):
        members = labels[split.train] == level
        if members.all() or not members.any():
            continue
        model = LogisticRegression(class_weight="balanced", max_iter=1000).fit(x, members)
        found[:, level] = model.predict_proba(x_test)[:, 1]
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _mean_of_known(factor: Factor, areas: list[FloatArray]) -> float:
    """Mean over values of the mean over folds, each over those that are known.

    Raises:
        ValueError: No value can be told from another one on test rows.
    """
    stacked = np.stack(areas)
    known = np.isfinite(stacked)
    seen = known.any(axis=0)
    if not seen.any():
        raise ValueError(
            f"factor {factor.name!r} must have two values that are both on test rows, got {len(factor.levels)} values "
            "of which one at most occurs several times; declare it continuous, or give more rows."
        )
    by_value = np.where(known, stacked, 0.0).sum(axis=0)[seen] / known.sum(axis=0)[seen]
    return float(by_value.mean())


def predictive_information(
    rep: Representation, options: PredictiveOptions, rng: np.random.Generator
) -> PredictiveInformation:
    """Compare a linear probe of each factor with the best guess without codes."""
    wide = partial(WideCodes.of, rep) if rep.n_codes > MAX_NEWTON_CODES else None
    return information_of_probes(rep, options, rng, wide=wide, removed_share=partial(_removed_share, rep))


def information_of_probes(
    rep: Representation,
    options: PredictiveOptions,
    rng: np.random.Generator,
    *,
    wide: Callable[[], WideCodes] | None,
    removed_share: Callable[[Factor, list[Split]], float],
) -> PredictiveInformation:
    """Compare linear probes with best guesses, those of categories from wide codes fitted at once.

    Args:
        rep: Codes and factors.
        options: Rows to test on.
        rng: Source of chance.
        wide: Makes the wide codes; ``None`` for few codes.
        removed_share: What a probe of one factor removes of the uncertainty, where it is fitted by itself.
    """
    splits = splits_of_factors(rep, [factor.labels for factor in rep.factors], options.evaluate_on, rng)
    named = {factor.name: (factor, own) for factor, own in zip(rep.factors, splits, strict=True)}
    tasks = {
        name: (factor.labels, len(factor.levels), own)
        for name, (factor, own) in named.items()
        if factor.labels is not None and wide is not None
    }
    scores = wide().scores(list(tasks.values()), together=True) if wide is not None and tasks else []
    found = dict(zip(tasks, scores, strict=True))
    shares = [
        _removed_entropy(factor, own, found[name]) if name in found else removed_share(factor, own)
        for name, (factor, own) in named.items()
    ]
    return PredictiveInformation(share=np.clip(shares, 0.0, 1.0))


def _removed_share(rep: Representation, factor: Factor, splits: list[Split]) -> float:
    """Share of the variance, or of the entropy, that the probe removes on all test rows together."""
    if factor.labels is None:
        return _pooled_r_squared([(factor.targets(split.test), _regressed(rep, factor, split)) for split in splits])
    log_shares = [_log_shares(rep, factor.labels, len(factor.levels), split) for split in splits]
    return _removed_entropy(factor, splits, log_shares)


def _regressed(rep: Representation, factor: Factor, split: Split) -> FloatArray:
    """Targets of the test rows, predicted by least squares on the training rows."""
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    coefficients = least_squares(x, factor.targets(split.train), ridge=0.0)
    predicted: FloatArray = x_test @ coefficients[:-1] + coefficients[-1]
    return predicted


def _pooled_r_squared(parts: list[tuple[FloatArray, FloatArray]]) -> float:
    """R² of the targets and predictions of all folds together."""
    targets, predicted = (np.concatenate(part) for part in zip(*parts, strict=True))
    return r_squared(targets, predicted)


def _removed_entropy(factor: Factor, splits: list[Split], log_shares: list[FloatArray]) -> float:
    """Share of the entropy that probes remove, from logarithms of the probabilities of values in the test rows."""
    assert factor.labels is not None
    n_levels = len(factor.levels)
    removed, blind = np.sum(
        [_surprise(log_p, factor.labels, n_levels, split) for log_p, split in zip(log_shares, splits, strict=True)],
        axis=0,
    )
    return 1 - float(removed / blind)


def _log_shares(rep: Representation, labels: IntArray, n_levels: int, split: Split) -> FloatArray:
    """Logarithms of the probabilities of values in the test rows."""
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    found: FloatArray = scipy.special.log_softmax(
        decision(x_test, multinomial(x, labels[split.train], n_levels)), axis=1
    )
    return found


def _surprise(log_p: FloatArray, labels: IntArray, n_levels: int, split: Split) -> tuple[float, float]:
    """Sum over test rows of the surprise of the probe, and of a guess by the frequencies of the training rows."""
    seen = np.bincount(labels[split.train], minlength=n_levels)
    log_prior = np.log(np.maximum(seen, 1e-9) / seen.sum())
    truth = labels[split.test]
    return -float(log_p[np.arange(len(truth)), truth].sum()), -float(log_prior[truth].sum())
