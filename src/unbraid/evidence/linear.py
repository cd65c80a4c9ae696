"""Linear probes: importances, R², AUC and predictive information."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.stats import centred_columns, scale_columns
from unbraid.evidence.association import NoOptions
from unbraid.evidence.information import Binning, check_binning, factor_labels
from unbraid.probes.bins import MOST_EXACT
from unbraid.probes.importance import (
    Columns,
    Importance,
    ProbeFit,
    ProbeTask,
    fit_importance,
    in_errors,
    on_held_out_rows,
    performance,
    r_squared,
)
from unbraid.probes.linear import (
    LEAST_ROWS_A_CODE,
    MAX_NEWTON_CODES,
    RIDGE,
    auc_by_level,
    coefficients_with_errors,
    decision,
    exact_lasso,
    lasso_weights,
    least_squares,
    multinomial,
    one_vs_rest,
    one_vs_rest_errors,
    pseudo_inverse,
    ridge_solver,
)
from unbraid.probes.published_lasso import published_lasso
from unbraid.probes.ridge import LEAST_RATIO, MOST_FITTED, fit_ridges
from unbraid.probes.splits import (
    Split,
    cross_fit_factor,
    cross_fit_together,
    folds,
    holdout,
    mean_and_scale_on,
    standardise,
)
from unbraid.probes.wide import WideCodes
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

#: Folds of rows whose predictions are fitted on the other folds; fewer of categories, whose fits take longer.
N_FOLDS_OF_NUMBERS, N_FOLDS_OF_CATEGORIES = 5, 3


#: Deviation, in units of that of all rows, below which a code does not vary on the rows that are fitted.
VARIES = 1e-9


ChosenStrength = Literal["cross_validated", "published"]
Strength = float | ChosenStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearOptions:
    """A linear probe for each factor.

    Attributes:
        strength: Strength of a Lasso on standardised codes and targets, as published code uses it; 0 for least squares,
            ``"cross_validated"`` for a Lasso whose strength is chosen on rows kept aside, ``"published"`` for the Lasso
            of one published library: see :func:`published_lasso`.
        columns: Importances for a factor as ``"shares"`` of their sum, or ``"raw"``.
    """

    strength: Strength = 0.0
    columns: Columns = "shares"

    def __post_init__(self) -> None:
        check_choice("columns", self.columns, get_args(Columns))
        if isinstance(self.strength, str):
            check_choice("strength", self.strength, get_args(ChosenStrength))
        else:
            check_at_least("strength", self.strength, 0)

    @property
    def given_strength(self) -> float:
        """Strength of the Lasso; 0 where it is chosen."""
        return 0.0 if isinstance(self.strength, str) else self.strength


def linear_importance(rep: Representation, options: LinearOptions, rng: np.random.Generator) -> Importance:
    """Importances are absolute coefficients on standardised codes."""
    if options.strength == "published":
        return published_lasso(rep, columns=options.columns)
    if rep.n_codes > MOST_FITTED and options.given_strength == 0 and options.strength != "cross_validated":
        fits = fit_ridges(rep, rng)
        return fit_importance(rep, lambda factor, _: fits[factor.name], rng=rng, columns=options.columns)

    @functools.cache
    def prepared() -> tuple[FloatArray, FloatArray]:
        design = _standardised_with_ones(rep.codes)
        return design, design.T @ design

    def fit(factor: Factor, rng: np.random.Generator) -> ProbeFit:
        n_rows, n_codes = int(factor.labelled.sum()), rep.codes.shape[1]
        few_codes = n_rows >= LEAST_ROWS_A_CODE * n_codes
        if options.given_strength > 0 and factor.is_numeric:
            return _lasso(*prepared(), factor, options.given_strength, rng)
        if options.strength == "cross_validated" or options.given_strength > 0 or not few_codes:
            return on_held_out_rows(partial(_fit_penalised, options), rep)(factor, rng)
        if factor.is_numeric:
            return _regress(rep, factor, rng)
        return _classify(rep, factor, rng) if n_codes <= MAX_NEWTON_CODES else _classify_wide(rep, factor, rng)

    return fit_importance(rep, fit, rng=rng, columns=options.columns)


def _fit_penalised(options: LinearOptions, task: ProbeTask, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Lasso, or logistic regressions of categories, on 70 % of the rows: weights, and predictions of the rest."""
    factor = task.factor
    x, x_test = standardise(task.codes, task.test_codes)
    if not factor.is_numeric:
        assert factor.labels is not None
        coefficients = one_vs_rest(x, factor.labels[task.train], len(factor.levels))
        predicted = decision(x_test, coefficients).argmax(axis=1)
        return np.abs(coefficients[:, :-1]).sum(axis=0), predicted.astype(float)
    targets = factor.targets(task.train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    weights = lasso_weights(x, (targets - centre) / spread, rng=rng, strength=options.given_strength)
    return np.abs(weights).sum(axis=1), x_test @ weights * spread + centre


def _lasso(design: FloatArray, gram: FloatArray, factor: Factor, strength: float, rng: np.random.Generator) -> ProbeFit:
    """Lasso on 70 % of the rows, from products of all rows less those of the test rows.

    Args:
        design: Codes near mean 0 and deviation 1, and ones.
        gram: Products of the design with itself.
        factor: A numeric factor.
        strength: Weight of the absolute coefficients of standardised codes for a standardised target.
        rng: Chooses the test rows.
    """
    split = holdout(factor, rng=rng)
    tested, targets = design.take(split.test, axis=0), factor.targets(split.train)
    centre, spread = targets.mean(axis=0), targets.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    if factor.is_complete:
        y, y_test = factor.targets(slice(None)) - centre, factor.targets(split.test) - centre
        fitted, moment = gram - tested.T @ tested, design.T @ y - tested.T @ y_test
    else:
        own = design[split.train]
        fitted, moment = own.T @ own, own.T @ (targets - centre)
    products, shared, mean, scale = _centred_products(fitted, moment)
    n_rows = fitted[-1, -1]
    weights = exact_lasso(products / n_rows, shared / (n_rows * spread), strength=strength)
    slopes = scale[:, None] * weights * spread
    predicted = tested[:, :-1] @ slopes + (centre - mean @ slopes)
    return ProbeFit(
        sizes=np.abs(weights).sum(axis=1, keepdims=True),
        errors=None,
        rows=split.test,
        fold=np.zeros(len(split.test), dtype=np.intp),
        predicted=predicted,
        informativeness=performance(factor, split.test, predicted),
    )


def _centred_products(fitted: FloatArray, moment: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Products of codes that are standardised on the rows that are fitted, from those of a design with ones.

    Returns:
        Products of the codes with each other and with the targets, their mean, and one over their deviation: 0 for a
        code that does not vary on these rows.
    """
    n_rows, mean = fitted[-1, -1], fitted[-1, :-1] / fitted[-1, -1]
    products = fitted[:-1, :-1] - n_rows * np.outer(mean, mean)
    deviation = np.sqrt(np.maximum(np.diagonal(products), 0.0) / n_rows)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > VARIES)
    return (
        products * np.outer(scale, scale),
        scale[:, None] * (moment[:-1] - np.outer(mean, moment[-1])),
        mean,
        scale,
    )


def _regress(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Least squares: coefficients on all rows, and predictions of each fold by the rows of the others."""
    rows, fold = folds(factor, N_FOLDS_OF_NUMBERS, rng=rng)
    x, targets = standardise(rep.codes[rows])[0], factor.targets(rows)
    y = standardise(targets)[0]
    weights, errors = coefficients_with_errors(x, y)
    design, tested = np.hstack([x, np.ones((len(x), 1))]), fold >= 0
    gram, moment, predicted = design.T @ design, design.T @ targets, np.zeros_like(targets)
    for k in range(N_FOLDS_OF_NUMBERS):
        own = design[fold == k]
        inverse = pseudo_inverse(gram - own.T @ own)
        predicted[fold == k] = own @ (inverse @ (moment - own.T @ targets[fold == k]))
    return ProbeFit(
        sizes=np.abs(weights),
        errors=errors,
        rows=rows[tested],
        fold=fold[tested],
        predicted=predicted[tested],
        informativeness=performance(factor, rows[tested], predicted[tested]),
    )


def _classify(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Logistic regressions: coefficients on all rows, and predictions of each fold by the rows of the others."""
    assert factor.labels is not None
    rows, fold = folds(factor, N_FOLDS_OF_CATEGORIES, rng=rng)
    x, labels, n_levels = standardise(rep.codes[rows])[0], factor.labels[rows], len(factor.levels)
    coefficients = one_vs_rest(x, labels, n_levels)
    errors = one_vs_rest_errors(x, labels, coefficients)
    shares, tested = np.zeros((len(rows), n_levels)), fold >= 0
    for k in range(N_FOLDS_OF_CATEGORIES):
        own = one_vs_rest(x[fold != k], labels[fold != k], n_levels)
        shares[fold == k] = scipy.special.expit(decision(x[fold == k], own))
    return ProbeFit(
        sizes=np.abs(coefficients[:, :-1]).T,
        errors=errors.T,
        rows=rows[tested],
        fold=fold[tested],
        predicted=shares[tested],
        informativeness=performance(factor, rows[tested], shares[tested]),
    )


def _classify_wide(rep: Representation, factor: Factor, rng: np.random.Generator) -> ProbeFit:
    """Logistic regressions of many codes on 70 % of the rows: coefficients, and predictions of the rest.

    Coefficients over their standard errors are about those of a linear regression of the indicators of the values,
    which takes one inverse for all values where logistic regressions take one for each.
    """
    assert factor.labels is not None
    split = holdout(factor, rng=rng)
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    labels, n_levels = factor.labels[split.train], len(factor.levels)
    coefficients = one_vs_rest(x, labels, n_levels)
    slopes, errors = coefficients_with_errors(x, standardise(factor.targets(split.train))[0])
    sizes = np.abs(coefficients[:, :-1]).T
    shares = scipy.special.expit(decision(x_test, coefficients))
    return ProbeFit(
        sizes=sizes,
        errors=sizes / np.maximum(in_errors(np.abs(slopes), errors), LEAST_RATIO),
        rows=split.test,
        fold=np.zeros(len(split.test), dtype=np.intp),
        predicted=shares,
        informativeness=performance(factor, split.test, shares),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearFit:
    """Held-out share of variance explained, for each factor, not floored, ``(n_factors,)``."""

    r2: FloatArray


def linear_fit(rep: Representation, options: NoOptions, rng: np.random.Generator) -> LinearFit:
    """Regress numbers on the codes, angles as cosine and sine, categories as their indicators; cross-fitted.

    With many codes, factors that are labelled on the same rows share folds, whose products of codes are formed once;
    with more codes than rows, products of rows take their place.
    """
    alike: dict[object, list[int]] = {}
    for k, factor in enumerate(rep.factors):
        alike.setdefault(factor.labelled.tobytes() if rep.n_codes > MOST_EXACT else k, []).append(k)
    children, shares = rng.spawn(rep.n_factors), np.empty(rep.n_factors)
    few_rows = rep.n_codes > max(MOST_EXACT, rep.n_samples)
    design, grams = rep.codes if few_rows else _standardised_with_ones(rep.codes), dict[bytes, FloatArray]()
    for group in alike.values():
        own = [rep.factors[k] for k in group]
        rows, fold = folds(own[0], N_FOLDS, rng=children[group[0]])
        if len(group) > 1:
            fold = children[group[0]].permutation(len(rows)) % N_FOLDS
        on: IntArray | slice = slice(None) if len(rows) == len(design) else rows
        targets = [factor.targets(on) for factor in own]
        columns = np.cumsum([0, *(target.shape[1] for target in targets)])
        if few_rows:
            residual, total = _cross_regressed_by_rows(design[on], np.hstack(targets), fold)
        else:
            key = b"" if len(rows) == len(design) else rows.tobytes()
            if key not in grams:
                grams[key] = design[on].T @ design[on]
            residual, total = _cross_regressed(design[on], np.hstack(targets), fold, grams[key])
        for k, first, last in zip(group, columns[:-1], columns[1:], strict=True):
            whole = float(total[first:last].sum())
            shares[k] = 1 - float(residual[first:last].sum()) / whole if whole > 0 else 0.0
    return LinearFit(r2=shares)


def _standardised_with_ones(codes: FloatArray) -> FloatArray:
    """Codes of mean 0 and deviation 1, those that are constant 0, and a column of ones."""
    design = np.ones((len(codes), codes.shape[1] + 1))
    design[:, :-1] = codes
    _, mean, squares = centred_columns(design, out=design)
    deviation = np.sqrt(squares / len(codes))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-12 * np.abs(mean))
    scale_columns(design, scale)
    design[:, -1] = 1.0
    return design


def _cross_regressed(
    design: FloatArray, targets: FloatArray, fold: IntArray, gram: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Cross-fitted least squares, from products that are formed once for each fold.

    Codes are standardised on the rows that are fitted, as the penalty is one of standardised codes.

    Args:
        design: Codes near mean 0 and deviation 1, and ones, ``(n_rows, n_codes + 1)``.
        targets: ``(n_rows, n_targets)``.
        fold: Fold of each row; -1 for a row that is fitted on and never tested.
        gram: Products of the design with itself.

    Returns:
        Sums over the tested rows of squared errors, and of squared differences from the mean, ``(n_targets,)``.
    """
    y = targets - targets.mean(axis=0)  # so that little is lost where sums of squares are subtracted
    whole = gram, design.T @ y, np.einsum("ij,ij->j", y, y)
    parts = [
        _products(design.take(rows, axis=0), y[rows])
        for rows in (np.flatnonzero(fold == k) for k in range(N_FOLDS - 1))
    ]
    alone = np.flatnonzero(fold < 0)
    tested = _less(whole, _products(design[alone], y[alone])) if len(alone) else whole
    parts.append(functools.reduce(_less, parts, tested))
    residual = np.zeros(targets.shape[1])
    for part in parts:
        fitted, moment, _ = _less(whole, part)
        products, shared, mean, scale = _centred_products(fitted, moment)
        n_rows, level = fitted[-1, -1], moment[-1] / fitted[-1, -1]
        slopes = scale[:, None] * ridge_solver(products, RIDGE * n_rows)(shared)
        weights = np.vstack([slopes, level - mean @ slopes])
        own_gram, own_moment, own_squares = part
        residual += own_squares + ((own_gram @ weights - 2 * own_moment) * weights).sum(axis=0)
    moments, squares = tested[1], tested[2]
    total = squares - moments[-1] ** 2 / tested[0][-1, -1]
    return np.maximum(residual, 0.0), total


def _cross_regressed_by_rows(codes: FloatArray, targets: FloatArray, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """The same from products of rows, which are fewer than the codes; ``codes`` as they are."""
    residual = np.zeros(targets.shape[1])
    for k in range(N_FOLDS):
        fitted, tested = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        mean, scale = mean_and_scale_on(codes, fitted)
        z = codes.take(np.concatenate([fitted, tested]), axis=0)
        z -= mean
        z *= scale
        products = z @ z[: len(fitted)].T
        level = targets[fitted].mean(axis=0)
        dual = ridge_solver(products[: len(fitted)], RIDGE * len(fitted))(targets[fitted] - level)
        residual += ((targets[tested] - level - products[len(fitted) :] @ dual) ** 2).sum(axis=0)
    of_tested = targets[fold >= 0]
    return residual, ((of_tested - of_tested.mean(axis=0)) ** 2).sum(axis=0)


_Products = tuple[FloatArray, FloatArray, FloatArray]


def _products(design: FloatArray, targets: FloatArray) -> _Products:
    """Products of inputs with each other and with the targets, and sums of squared targets."""
    return design.T @ design, design.T @ targets, np.einsum("ij,ij->j", targets, targets)


def _less(whole: _Products, part: _Products) -> _Products:
    """Products of the rows that are in the whole and not in the part."""
    return whole[0] - part[0], whole[1] - part[1], whole[2] - part[2]


def _regressed(rep: Representation, factor: Factor, split: Split, *, ridge: float = RIDGE) -> FloatArray:
    """Targets of the test rows, predicted by least squares on the training rows."""
    x, x_test = standardise(rep.codes[split.train], rep.codes[split.test])
    coefficients = least_squares(x, factor.targets(split.train), ridge=ridge)
    predicted: FloatArray = x_test @ coefficients[:-1] + coefficients[-1]
    return predicted


def _pooled_r_squared(parts: list[tuple[FloatArray, FloatArray]]) -> float:
    """R² of the targets and predictions of all folds together."""
    targets, predicted = (np.concatenate(part) for part in zip(*parts, strict=True))
    return r_squared(targets, predicted)


Classifier = Literal["one_vs_rest", "multinomial", "one_vs_rest_shares"]
EvaluateOn = Literal["held_out", "fitted"]
#: Of the classifiers of values: ``"all"`` rows are fitted, and tested on too.
SeparateOn = Literal["held_out", "fitted", "all"]
#: Every row is tested once, by a probe fitted to the other folds: a single hold-out set would add to the error of a
#: score the luck of which rows are held out.
N_FOLDS = 3


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
        return _pooled_r_squared(
            [(factor.targets(split.test), _regressed(rep, factor, split, ridge=0.0)) for split in splits]
        )
    log_shares = [_log_shares(rep, factor.labels, len(factor.levels), split) for split in splits]
    return _removed_entropy(factor, splits, log_shares)


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
