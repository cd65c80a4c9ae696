"""Multinomial logistic probes, judged on held-out rows by AUC and by cross-entropy."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy

from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_choice
from unbraid.evidence.auc import auc_by_level
from unbraid.evidence.discretise import Binning, check_binning, factor_labels
from unbraid.evidence.importance import r_squared
from unbraid.evidence.logistic import decision, one_vs_rest
from unbraid.evidence.splits import holdout, standardise
from unbraid.factor import Factor
from unbraid.representation import Representation

Classifier = Literal["one_vs_rest", "multinomial"]
EvaluateOn = Literal["held_out", "fitted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierOptions:
    """How the values of every factor are told apart by a linear classifier.

    Attributes:
        classifier: ``"one_vs_rest"``: a logistic regression for each value; ``"multinomial"``: one for all.
        evaluate_on: ``"held_out"`` rows, or the ``"fitted"`` ones as some published code does.
        n_bins: Bins for factors that are continuous.
        binning: How those are cut.
    """

    classifier: Classifier = "one_vs_rest"
    evaluate_on: EvaluateOn = "held_out"
    n_bins: int = 20
    binning: Binning = "robust"

    def __post_init__(self) -> None:
        check_choice("classifier", self.classifier, get_args(Classifier))
        check_choice("evaluate_on", self.evaluate_on, get_args(EvaluateOn))
        check_binning(self.n_bins, self.binning)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveOptions:
    """Whether predictive information is judged on held-out rows or on the fitted ones."""

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
    """Fit a linear classifier for the values of each factor and take the AUC of each value."""
    areas = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        labels, n_levels = factor_labels(factor, options.n_bins, options.binning)
        train, test = holdout(factor, rng=child)
        judged = test if options.evaluate_on == "held_out" else train
        x, x_judged = standardise(rep.codes[train], rep.codes[judged])
        fit = one_vs_rest if options.classifier == "one_vs_rest" else multinomial
        scores = decision(x_judged, fit(x, labels[train], n_levels))
        if options.classifier == "multinomial":
            scores = scipy.special.log_softmax(scores, axis=1)
        areas.append(float(np.nanmean(auc_by_level(scores, labels[judged]))))
    return Separation(auc=np.array(areas))


def predictive_information(
    rep: Representation, options: PredictiveOptions, rng: np.random.Generator
) -> PredictiveInformation:
    """Compare a linear probe of each factor with the best guess made without looking at the codes."""
    shares = []
    for factor, child in zip(rep.factors, rng.spawn(rep.n_factors), strict=True):
        train, test = holdout(factor, rng=child)
        judged = test if options.evaluate_on == "held_out" else train
        x, x_judged = standardise(rep.codes[train], rep.codes[judged])
        shares.append(_removed_share(factor, x, train, x_judged, judged))
    return PredictiveInformation(share=np.clip(shares, 0.0, 1.0))


def multinomial(codes: FloatArray, labels: IntArray, n_levels: int) -> FloatArray:
    """Fit one softmax regression; coefficients with the intercept last, ``(n_levels, n_codes + 1)``.

    A level without a row gets an intercept that no row will choose.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=5000, tol=1e-3).fit(codes, labels)
    weights, intercept = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        weights, intercept = np.vstack([-weights, weights]) / 2, np.concatenate([-intercept, intercept]) / 2
    coefficients = np.zeros((n_levels, codes.shape[1] + 1))
    coefficients[:, -1] = -1e9
    coefficients[model.classes_] = np.hstack([weights, intercept[:, None]])
    return coefficients


def _removed_share(factor: Factor, x: FloatArray, train: IntArray, x_judged: FloatArray, judged: IntArray) -> float:
    if factor.labels is None:
        design, design_judged = (np.hstack([part, np.ones((len(part), 1))]) for part in (x, x_judged))
        weights = np.linalg.lstsq(design, factor.targets(train), rcond=None)[0]
        return r_squared(factor.targets(judged), design_judged @ weights)
    n_levels = len(factor.levels)
    seen = np.bincount(factor.labels[train], minlength=n_levels)
    log_prior = np.log(np.maximum(seen, 1e-9) / seen.sum())
    log_p = scipy.special.log_softmax(decision(x_judged, multinomial(x, factor.labels[train], n_levels)), axis=1)
    truth = factor.labels[judged]
    blind = -float(log_prior[truth].mean())
    return 1 + float(log_p[np.arange(len(truth)), truth].mean()) / blind
