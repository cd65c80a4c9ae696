"""Errors of predicting codes from factors and factors from codes: one by one, all together, and of noise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.workers import Workers
from unbraid.evidence.regressors import (
    ErrorKind,
    Given,
    Groups,
    RegressorName,
    Scaling,
    Variable,
    Vectors,
    check_given,
    check_groups,
    check_regressor,
    check_vectors,
    code_groups,
    code_variable,
    complete_rows,
    factor_places,
    factor_variable,
    is_forest,
    live_columns,
    predict,
    predict_from_one_column,
    predict_on_shared_bins,
    vector_variable,
)
from unbraid.probes.growing import SharedCodes
from unbraid.probes.splits import Predictions as Predictions
from unbraid.probes.splits import Split, cross_fit_splits
from unbraid.representation.representation import Representation

Result = TypeVar("Result")

MIN_ROWS = 20
#: Rows times trees times columns of the forests of one input that grow at once.
MOST_CELLS = 500_000
LEAST_NOISE_ERROR = 1e-9
#: With more codes than the first, regressions on all inputs may use bins that targets share, as many as the second.
MOST_EXACT, N_BINS = 64, 63
#: With more inputs than this, regressions on all inputs use shared bins even where a bin holds several values.
MOST_INPUTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossPredictionOptions:
    """Regressor, error, and rows of cross-prediction.

    Attributes:
        regressor: ``"forest"``, ``"extra"``, ``"linear"``, or any scikit-learn regressor.
        error: ``"absolute"`` or ``"squared"``.
        predictions: ``"cross_fitted"`` (each row is predicted by a fit that has not seen it), ``"held_out"`` (fitted
            on four fifths, tested on the rest) or ``"in_sample"``.
        scaling: ``"spread"`` compares each error with what a blind guess makes, ``"range"`` scales to [0, 1] only.
        groups: Columns that make up each code; ``"blocks"`` for the blocks of the representation; ``None`` for every
            column by itself.
        n_folds: Parts for cross-fitting.
        n_trees: Trees of a forest.
        min_leaf: Fewest rows in a leaf.
        max_rows: Rows used at most, drawn at random.
        vectors: Names of the factors that make up each vector-valued factor; the others are factors by themselves.
        given: For a factor, others that are known beside it when codes are predicted from it alone.
    """

    regressor: RegressorName | Any = "forest"
    error: ErrorKind = "absolute"
    predictions: Predictions = "cross_fitted"
    scaling: Scaling = "spread"
    groups: Groups = None
    n_folds: int = 2
    n_trees: int = 30
    min_leaf: int = 5
    max_rows: int = 20_000
    vectors: Vectors = ()
    given: Given = ()

    def __post_init__(self) -> None:
        check_regressor(self.regressor)
        check_choice("error", self.error, get_args(ErrorKind))
        check_choice("predictions", self.predictions, get_args(Predictions))
        check_choice("scaling", self.scaling, get_args(Scaling))
        check_at_least("n_folds", self.n_folds, 2)
        check_at_least("n_trees", self.n_trees, 1)
        check_at_least("min_leaf", self.min_leaf, 1)
        check_at_least("max_rows", self.max_rows, MIN_ROWS)
        object.__setattr__(self, "groups", check_groups(self.groups))
        object.__setattr__(self, "vectors", check_vectors(self.vectors or None))
        object.__setattr__(self, "given", check_given(self.given or None))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Errors:
    """Errors of one direction, each as a share of the error of the same regression on noise.

    0 is a perfect prediction, 1 no better than of noise that has nothing to do with the inputs.

    Attributes:
        together: Of each target from all inputs, ``(n_targets,)``.
        alone: Of each target from each input, ``(n_targets, n_inputs)``.
        gap: Between the two predictions of each target, from each input and from all, ``(n_targets, n_inputs)``.
        beats_blind: Which targets all inputs predict better than their mean does, by more than two standard errors.
    """

    together: FloatArray
    alone: FloatArray
    gap: FloatArray
    beats_blind: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossPrediction:
    """Errors from which the five scores for dependent factors are computed.

    Attributes:
        of_codes: Codes predicted from factors; targets are the live codes, in order.
        of_factors: Factors predicted from codes; inputs are the live codes, in order.
        live: Position of each live code among the codes (or groups), ``(n_live,)``.
        members: Columns of each code or group.
        n_codes: Number of columns.
        n_factors: Number of columns of factors.
        factor_names: Names of the factors, a vector counted as one.
        factor_members: Columns of each factor; empty where every column is one.
    """

    of_codes: Errors
    of_factors: Errors
    live: IntArray
    members: tuple[tuple[int, ...], ...]
    n_codes: int
    n_factors: int
    factor_names: tuple[str, ...]
    factor_members: tuple[tuple[int, ...], ...] = ()

    @property
    def n_groups(self) -> int:
        """Number of codes, a group counted as one."""
        return len(self.members)


def cross_prediction(
    rep: Representation, options: CrossPredictionOptions, rng: np.random.Generator, workers: Workers | None = None
) -> CrossPrediction:
    """Fit every regression that Algorithms 1 to 4 need, once: ``2 (n_codes + 1) (n_factors + 1)`` of them.

    Args:
        rep: Codes and factors.
        options: Regressor and error.
        rng: Source of chance.
        workers: Threads to fit in; all usable cores by default. Trees let go of the interpreter while they grow.
    """
    workers = workers or Workers()
    choice, division, noise_rng, to_codes, to_factors = rng.spawn(5)
    rows = complete_rows(rep, MIN_ROWS)
    if len(rows) > options.max_rows:
        rows = np.sort(choice.permutation(rows)[: options.max_rows])
    groups = code_groups(rep, options.groups)
    columns = rep.codes[rows]
    kept = [live_columns(columns, group) for group in groups]
    live = np.flatnonzero([len(columns) > 0 for columns in kept])
    if not len(live):
        raise ValueError("codes must vary on the rows that every factor has a label for, got constant columns.")
    codes = [code_variable(columns[:, kept[j]], options.scaling) for j in live]
    places = factor_places(options.vectors, rep.factor_names)
    columns_of = [factor_variable(factor, rows, options.scaling) for factor in rep.factors]
    known = _known_with(columns_of, places, rep.factor_names, options.given)
    factors = [first for first, *_ in known]
    names = tuple("+".join(rep.factor_names[k] for k in group) for group in places)
    noise = Variable(columns=noise_rng.uniform(size=(len(rows), 1)))
    splits = cross_fit_splits(len(rows), options.predictions, options.n_folds, division)
    return CrossPrediction(
        of_codes=_errors(known, codes, noise, splits, options, to_codes, workers),
        of_factors=_errors([[code] for code in codes], factors, noise, splits, options, to_factors, workers),
        live=live,
        members=tuple(tuple(group) for group in groups),
        n_codes=rep.n_codes,
        n_factors=rep.n_factors,
        factor_names=names,
        factor_members=tuple(tuple(group) for group in places) if options.vectors else (),
    )


def _known_with(
    columns: list[Variable], places: list[list[int]], names: tuple[str, ...], given: Given
) -> list[list[Variable]]:
    """For each factor, the variables that are known when it is: itself, and those given with it."""
    for name in (name for one, others in given for name in (one, *others)):
        check_choice("given", name, names)
    beside = {names.index(one): [names.index(name) for name in others] for one, others in given}
    known = []
    for group in places:
        others = dict.fromkeys(k for member in group for k in beside.get(member, ()) if k not in group)
        known.append([vector_variable([columns[k] for k in group]), *(columns[k] for k in others)])
    return known


def _errors(
    inputs: list[list[Variable]],
    targets: list[Variable],
    noise: Variable,
    splits: list[Split],
    options: CrossPredictionOptions,
    rng: np.random.Generator,
    workers: Workers,
) -> Errors:
    """Predict every target, and noise, from every input and from all of them."""
    wanted = [*targets, noise]
    given = [np.hstack([variable.columns for variable in known]) for known in inputs]
    # The first variable of each input is the input itself; all of them together are all inputs.
    given.append(np.hstack([known[0].columns for known in inputs]))
    seeds = rng.spawn(len(given) * len(wanted))
    fits = [
        _Fit(inputs=columns, target=target, rng=seeds[i * len(wanted) + j])
        for i, columns in enumerate(given)
        for j, target in enumerate(wanted)
    ]
    single, joint = fits[: -len(wanted)], fits[-len(wanted) :]
    tested = np.sort(np.concatenate([split.test for split in splits]))
    if max(len(inputs), len(targets)) > MOST_EXACT and is_forest(options.regressor):
        joint = _on_shared_bins(joint)
    together = _predicted(joint, splits, options, workers, lambda fit, guess: guess)
    of_all = {id(target): guess for target, guess in zip(wanted, together, strict=True)}

    def compared(fit: _Fit, guess: FloatArray) -> tuple[float, float]:
        """Mean error of a prediction, and mean difference from the prediction from all inputs."""
        truths = (fit.target.columns, of_all[id(fit.target)])
        truth, gap = (fit.target.errors(guess[tested], other[tested], options.error).mean() for other in truths)
        return float(truth), float(gap)

    errors = np.array(_predicted(single, splits, options, workers, compared)).reshape(len(inputs), len(wanted), 2)
    return _compare(errors, together, targets, noise, tested, options)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fit:
    """A regression of one target on one input or all.

    Attributes:
        inputs: ``(n_rows, n_columns)``.
        target: The target.
        rng: Source of chance.
        bins: Bins of the inputs, where trees split at the ends of bins that targets share.
    """

    inputs: FloatArray
    target: Variable
    rng: np.random.Generator
    bins: SharedCodes | None = None

    def is_narrow(self, regressor: object) -> bool:
        """Whether it is a forest whose trees have one input."""
        return is_forest(regressor) and self.inputs.shape[1] == 1


def _on_shared_bins(fits: list[_Fit]) -> list[_Fit]:
    """Give regressions on the same inputs bins to share, where inputs are many or have no more values than bins.

    A target of several columns keeps trees that predict them together.
    """
    inputs = fits[0].inputs
    if inputs.shape[1] <= MOST_INPUTS and max(len(np.unique(column)) for column in inputs.T) > N_BINS:
        return fits
    bins = SharedCodes(inputs, N_BINS)
    return [replace(fit, bins=bins) if fit.target.columns.shape[1] == 1 else fit for fit in fits]


def _predicted(
    fits: list[_Fit],
    splits: list[Split],
    options: CrossPredictionOptions,
    workers: Workers,
    kept: Callable[[_Fit, FloatArray], Result],
) -> list[Result]:
    """Fit regressions, those of one input in blocks, and return what is to be kept of each prediction."""
    sizes = {"n_trees": options.n_trees, "min_leaf": options.min_leaf}
    n_rows = max(len(split.train) for split in splits)

    def done(block: list[int]) -> list[Result]:
        some = [fits[f] for f in block]
        inputs, targets, rngs = zip(*((fit.inputs, fit.target.columns, fit.rng) for fit in some), strict=True)
        if some[0].is_narrow(options.regressor):
            guesses = list(predict_from_one_column(inputs, targets, splits, rngs=rngs, **sizes))
        elif some[0].bins is not None:
            guesses = [predict_on_shared_bins(inputs[0], some[0].bins, targets[0], splits, rng=rngs[0], **sizes)]
        else:
            guesses = [predict(inputs[0], targets[0], splits, options.regressor, rng=rngs[0], **sizes)]
        return [kept(fit, guess) for fit, guess in zip(some, guesses, strict=True)]

    narrow: dict[int, list[int]] = defaultdict(list)
    blocks = []
    for f, fit in enumerate(fits):
        if fit.is_narrow(options.regressor):
            narrow[fit.target.columns.shape[1]].append(f)
        else:
            blocks.append([f])
    for n_columns, same in narrow.items():
        size = max(1, MOST_CELLS // (n_rows * options.n_trees * n_columns))
        blocks += [same[start : start + size] for start in range(0, len(same), size)]
    found: list[Result | None] = [None] * len(fits)
    for block, results in zip(blocks, workers.map(done, blocks), strict=True):
        for f, result in zip(block, results, strict=True):
            found[f] = result
    return cast(list[Result], found)


def _compare(
    errors: FloatArray,
    together: list[FloatArray],
    targets: list[Variable],
    noise: Variable,
    tested: IntArray,
    options: CrossPredictionOptions,
) -> Errors:
    """Turn mean errors into shares of those that noise leads to.

    Args:
        errors: Of predictions from each input, and between them and those from all, ``(n_inputs, n_targets + 1, 2)``;
            the last target is noise.
        together: Predictions of each target, and of noise, from all inputs.
        targets: The targets.
        noise: Noise.
        tested: Rows of the test sets.
        options: Error and scaling.
    """

    def blind(of: Variable) -> FloatArray:
        return of.errors(of.columns.mean(axis=0), of.columns, options.error)

    unit = float(blind(noise).mean()) if options.scaling == "spread" else 1.0
    of_noise = noise.errors(together[-1][tested], noise.columns[tested], options.error).mean()
    shares = np.append(errors[:, -1, 0], of_noise) / unit
    if shares.min() < LEAST_NOISE_ERROR:
        raise ValueError(
            "regressor remembers every row, so it makes no error on the rows it was fitted on; "
            'use predictions="cross_fitted".'
        )
    own, joint, beats = np.ones(len(targets)), np.zeros(len(targets)), np.zeros(len(targets))
    for j, target in enumerate(targets):
        guess_blind = blind(target)
        guess_all = target.errors(together[j][tested], target.columns[tested], options.error)
        if options.scaling == "spread":
            own[j] = guess_blind.mean()
        joint[j] = guess_all.mean() / own[j] / shares[-1]
        gain = guess_blind[tested] - guess_all
        beats[j] = gain.mean() > 2 * gain.std() / np.sqrt(len(gain))
    alone, gap = np.moveaxis(errors[:, :-1], (2, 1), (0, 1)) / own[:, None] / shares[:-1]
    return Errors(together=joint, alone=alone, gap=gap, beats_blind=beats)
