"""Association of every code with every factor, and covariance of the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice, column_ranges
from unbraid._base.stats import average_ranks, centred_columns, near_their_mean, ranks_of_labels
from unbraid.probes.splits import Split, cross_fit_factor
from unbraid.representation.factor import Factor, FactorKind
from unbraid.representation.representation import Representation

Correlation = Literal["pearson", "spearman", "rdc"]
#: Share of the squares of a column below which what is left beside the mean is taken to be rounding error.
ROUNDING = 1e-18
#: Sums of squares between which none of the squares can have overflown or vanished.
USUAL = (1e-150, 1e150)
#: Share of the squares of a centred column below which what sums over rows leave of it is rounding error.
SUM_ROUNDING = 1e-12
#: Random sines of a column and the scale of their weights, as Lopez-Paz et al. (2013) use them.
N_SINES, SINE_SCALE = 20, 6.0
#: The sines are drawn once for all calls: drawn anew, they would move a score by more than other rows do.
SINE_SEED = 13
#: Directions of the sines that are smaller than this share of the largest are rounding error of a smooth function.
LEAST_SINGULAR = 1e-6
FEWEST_ROWS_A_FOLD = 3
#: Folds of rows whose categories are predicted by thresholds from the other folds.
THRESHOLD_FOLDS = 5
#: Cells of columns that are sorted by fold and value at once.
THRESHOLD_CELLS = 4_000_000
#: Ones that a byte can add up.
MOST_IN_A_BYTE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationOptions:
    """How codes and factors are correlated, and on which rows.

    Attributes:
        correlation: Straight-line (``"pearson"``), monotone (``"spearman"``) or of any kind (``"rdc"``).
        cross_fit: Also find the correlations of each fold, and those of the rows outside it.
        n_folds: Number of folds.
    """

    correlation: Correlation = "pearson"
    cross_fit: bool = False
    n_folds: int = 5

    def __post_init__(self) -> None:
        check_choice("correlation", self.correlation, get_args(Correlation))
        check_at_least("n_folds", self.n_folds, 2)
        if self.cross_fit and self.correlation == "rdc":
            raise ValueError(
                "cross_fit must be False with correlation='rdc', got True: it has no sign to test on other rows; use "
                "'spearman'."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """Options of evidence that has none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Association:
    """One number in [0, 1] for each code and factor.

    Attributes:
        matrix: ``(n_codes, n_factors)``; 0 for a dead code.
        active: Which codes vary.
        angles: Names of the factors that are circular.
        folds: Of cross-fitted correlations, the matrix of the rows outside each fold, ``(n_folds, n_codes,
            n_factors)``, from which a choice is made.
        tested: Of cross-fitted correlations, those of the rows of each fold with what the other rows predict, of the
            same shape; below 0 where a code goes the other way.
        sizes: Rows of each fold.
    """

    matrix: FloatArray
    active: BoolArray
    angles: tuple[str, ...] = ()
    folds: FloatArray | None = None
    tested: FloatArray | None = None
    sizes: IntArray | None = None


def correlations(rep: Representation, options: CorrelationOptions, rng: np.random.Generator) -> Association:
    """Absolute correlation of every code with every factor; ``rng`` draws folds and random functions, where wanted.

    For an angle it is the multiple correlation with cosine and sine, for a category the correlation
    ratio: each is the absolute correlation with the best function of the factor of its kind.
    """
    angles = tuple(factor.name for factor in rep.factors if factor.kind is FactorKind.CIRCULAR)
    if options.correlation == "rdc":
        dependence = randomized_dependence(rep)
        return Association(matrix=dependence, active=rep.active, angles=angles)
    if options.correlation == "pearson" and options.cross_fit and _is_one_number_each(rep):
        return _of_numbers(rep, options, rng)
    matrix = np.sqrt(_explained(rep.codes, rep.factors, options.correlation)) * rep.active[:, None]
    plain = Association(matrix=matrix, active=rep.active, angles=angles)
    return _cross_fitted(rep, options, plain, rng) if options.cross_fit else plain


def _is_one_number_each(rep: Representation) -> bool:
    """Whether every factor is one number in every row."""
    return all(f.is_numeric and f.kind is not FactorKind.CIRCULAR and f.labelled.all() for f in rep.factors)


def _folds(rep: Representation, options: CorrelationOptions, rng: np.random.Generator) -> list[IntArray]:
    """Rows of each fold."""
    if rep.n_samples < FEWEST_ROWS_A_FOLD * options.n_folds:
        raise ValueError(
            f"codes must have at least {FEWEST_ROWS_A_FOLD} rows for each of {options.n_folds} folds, got "
            f"{rep.n_samples}; give more rows or fewer folds."
        )
    return np.array_split(rng.permutation(rep.n_samples), options.n_folds)


def _cross_fitted(
    rep: Representation, options: CorrelationOptions, plain: Association, rng: np.random.Generator
) -> Association:
    """Add the correlations of each fold, and of the rows outside it."""
    parts = _folds(rep, options, rng)
    sizes = np.array([len(part) for part in parts], dtype=np.intp)
    chosen, signs = [], []
    for part in parts:
        test = np.zeros(rep.n_samples, dtype=bool)
        test[part] = True
        outside = rep.take(np.flatnonzero(~test))
        shares = _explained(outside.codes, outside.factors, options.correlation)
        chosen.append(np.sqrt(shares) * rep.active[:, None])
        signed = [_predicted(rep.codes, factor, options.correlation, test) for factor in rep.factors]
        signs.append(np.stack(signed, axis=1) * rep.active[:, None])
    return replace(plain, folds=np.stack(chosen), tested=np.stack(signs), sizes=sizes)


def _of_numbers(rep: Representation, options: CorrelationOptions, rng: np.random.Generator) -> Association:
    """Cross-fitted correlations with factors of one number each, from sums over rows and over the rows of folds."""
    x, _, varies = _centred(rep.codes, "pearson")
    v, _, _ = _centred(np.concatenate([factor.targets(slice(None)) for factor in rep.factors], axis=1), "pearson")
    total, kept = _Sums.of(x, v), (varies & rep.active)[:, None]
    plain = Association(matrix=np.abs(total.correlation) * kept, active=rep.active)
    parts = _folds(rep, options, rng)
    within = [_Sums.of(x[part], v[part]) for part in parts]
    outside = np.stack([total.less(fold).correlation for fold in within]) * kept
    tested = np.sign(outside) * np.stack([fold.correlation for fold in within])
    sizes = np.array([len(part) for part in parts], dtype=np.intp)
    return replace(plain, folds=np.abs(outside), tested=tested, sizes=sizes)


def _sum_of(columns: FloatArray) -> FloatArray:
    """Sum of each column; a product is faster than a sum over the first of two axes."""
    total: FloatArray = np.ones(len(columns)) @ columns
    return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Sums over rows of codes, of factors, of their squares, and of the products of codes and factors."""

    n: int
    x: FloatArray
    v: FloatArray
    xx: FloatArray
    vv: FloatArray
    xv: FloatArray

    @staticmethod
    def of(x: FloatArray, v: FloatArray) -> _Sums:
        """Sum over all rows of both."""
        return _Sums(n=len(x), x=_sum_of(x), v=_sum_of(v), xx=_sum_of(x * x), vv=_sum_of(v * v), xv=x.T @ v)

    def less(self, other: _Sums) -> _Sums:
        """Sums over the rows that are not among others."""
        return _Sums(
            n=self.n - other.n,
            x=self.x - other.x,
            v=self.v - other.v,
            xx=self.xx - other.xx,
            vv=self.vv - other.vv,
            xv=self.xv - other.xv,
        )

    @property
    def correlation(self) -> FloatArray:
        """Of each code with each factor; 0 where one of them does not vary beyond rounding."""
        x, v = self.xx - self.x**2 / self.n, self.vv - self.v**2 / self.n
        varies = (x > SUM_ROUNDING * self.xx)[:, None] & (v > SUM_ROUNDING * self.vv)
        scale = np.sqrt(np.maximum(x, 0.0)[:, None] * np.maximum(v, 0.0))
        product = self.xv - np.outer(self.x, self.v) / self.n
        found: FloatArray = np.divide(product, scale, out=np.zeros_like(product), where=varies & (scale > 0))
        return np.clip(found, -1.0, 1.0)


def _predicted(codes: FloatArray, factor: Factor, correlation: Correlation, test: BoolArray) -> FloatArray:
    """Correlation, on test rows, of each code with its prediction from the factor, fitted on the other rows."""
    sides = []
    for side in (~test, test):
        rows = np.flatnonzero(side & factor.labelled)
        x, targets = codes[rows], factor.targets(rows)
        if correlation == "spearman":
            x, targets = average_ranks(x), average_ranks(targets) if targets.shape[1] == 1 else targets
        sides.append((x - x.mean(axis=0), targets - targets.mean(axis=0)))
    (x, targets), (x_test, targets_test) = sides
    slopes = np.linalg.lstsq(targets, x, rcond=None)[0]
    predicted = targets_test @ slopes
    predicted = predicted - predicted.mean(axis=0)
    scale = np.sqrt((predicted**2).sum(axis=0) * (x_test**2).sum(axis=0))
    product = (predicted * x_test).sum(axis=0)
    found: FloatArray = np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)
    return np.clip(found, -1.0, 1.0)


def randomized_dependence(rep: Representation) -> FloatArray:
    """Randomized dependence coefficient of every code with every factor, ``(n_codes, n_factors)``; 0 for a dead code.

    Ranks of a column pass through random sines; the coefficient is the largest canonical correlation of those of the
    code with those of the factor. A category counts by its indicators, an angle by sines of its cosine and sine. Every
    code passes through the same sines, and so does every factor, so that their order does not matter.
    """
    found = np.zeros((rep.n_codes, rep.n_factors))
    by_rows: dict[bytes, list[tuple[int, FloatArray]]] = {}
    for k, factor in enumerate(rep.factors):
        targets = factor.targets(np.flatnonzero(factor.labelled))
        basis = _orthonormal(targets if factor.kind is FactorKind.CATEGORICAL else _sines(targets))
        by_rows.setdefault(factor.labelled.tobytes(), []).append((k, basis))
    for labelled, bases in by_rows.items():
        rows = np.flatnonzero(np.frombuffer(labelled, dtype=bool))
        for j in np.flatnonzero(rep.active):
            of_code = _orthonormal(_sines(rep.codes[rows, j : j + 1]))
            for k, basis in bases:
                found[j, k] = np.linalg.norm(of_code.T @ basis, 2)
    return np.clip(found, 0.0, 1.0)


def _sines(columns: FloatArray) -> FloatArray:
    """Sines of sums of the ranks of columns and of 1, with random weights."""
    weights = np.random.default_rng([SINE_SEED, columns.shape[1]]).normal(size=(columns.shape[1] + 1, N_SINES))
    ranks = np.column_stack([average_ranks(columns) / len(columns), np.ones(len(columns))])
    sines: FloatArray = np.sin(ranks @ weights * (SINE_SCALE / ranks.shape[1]))
    return sines


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Orthonormal basis of centred columns."""
    tall, square = np.linalg.qr(columns - columns.mean(axis=0))
    left, values, _ = np.linalg.svd(square)
    basis: FloatArray = tall @ left[:, : len(values)][:, values > LEAST_SINGULAR * values[0]]
    return basis


def predictability(rep: Representation, options: NoOptions, rng: np.random.Generator) -> Association:
    """How well one code alone predicts each factor: R² of a line, or balanced accuracy of thresholds.

    A category is predicted by the class whose mean is nearest, thresholds halfway between neighbouring
    means, every row tested by the means of the other folds; so nothing depends on the scale of the code.
    """
    matrix = np.zeros((rep.n_codes, rep.n_factors))
    numbers = [k for k, factor in enumerate(rep.factors) if factor.is_numeric]
    matrix[:, numbers] = _explained(rep.codes, [rep.factors[k] for k in numbers], "pearson")
    if len(numbers) < rep.n_factors:
        for k, (factor, child) in enumerate(zip(rep.factors, rng.spawn(rep.n_factors), strict=True)):
            if not factor.is_numeric:
                splits = cross_fit_factor(factor, n_folds=THRESHOLD_FOLDS, rng=child)
                matrix[:, k] = _threshold_accuracy(rep.codes, factor, splits) * rep.active
    return Association(matrix=matrix, active=rep.active)


def _explained(codes: FloatArray, factors: Sequence[Factor], correlation: Correlation) -> FloatArray:
    """Share of each code's variance accounted for by the targets of each factor, ``(n_codes, n_factors)``.

    Codes are made ready, and multiplied with targets, once for all factors that are labelled on the same rows.
    """
    alike: dict[bytes, list[int]] = {}
    for k, factor in enumerate(factors):
        alike.setdefault(b"" if factor.is_complete else factor.labelled.tobytes(), []).append(k)
    shares = np.zeros((codes.shape[1], len(factors)))
    for key, group in alike.items():
        on: IntArray | slice = np.flatnonzero(factors[group[0]].labelled) if key else slice(None)
        centred, total, varies = _centred(codes[on], correlation)
        lines = [k for k in group if factors[k].kind not in (FactorKind.CATEGORICAL, FactorKind.CIRCULAR)]
        kept = np.zeros((codes.shape[1], len(group)))
        kept[:, [group.index(k) for k in lines]] = _by_lines(centred, [factors[k] for k in lines], on, correlation)
        for place, k in enumerate(group):
            if k not in lines:
                kept[:, place] = _by_several_targets(centred, factors[k].targets(on))
        shares[:, group] = np.divide(kept, total[:, None], out=np.zeros_like(kept), where=varies[:, None])
    clipped: FloatArray = np.clip(shares, 0.0, 1.0)
    return clipped


def _by_lines(
    centred: FloatArray, factors: Sequence[Factor], rows: IntArray | slice, correlation: Correlation
) -> FloatArray:
    """Sum of squares of each code that a line through each factor accounts for, ``(n_codes, n_factors)``."""
    if not factors:
        return np.zeros((centred.shape[1], 0))
    targets = np.stack(
        [_ranked(factor, rows) if correlation == "spearman" else _line(factor, rows) for factor in factors]
    )
    targets -= (mean := targets.mean(axis=1))[:, None]
    squares = np.array([row @ row for row in targets])
    varies = squares > ROUNDING * (squares + targets.shape[1] * mean**2)
    products = (targets @ centred).T
    # Divided before squaring, as squares of both could overflow or vanish together.
    kept = np.divide(products, np.sqrt(squares), out=np.zeros_like(products), where=varies)
    return np.asarray(kept**2)


def _line(factor: Factor, rows: IntArray | slice) -> FloatArray:
    return factor.targets(rows)[:, 0]


def _ranked(factor: Factor, rows: IntArray | slice) -> FloatArray:
    """Ranks of a factor's numbers."""
    if factor.labels is not None:
        return ranks_of_labels(factor.labels[rows], len(factor.levels))
    return average_ranks(factor.numbers[rows][:, None])[:, 0]


def _by_several_targets(centred: FloatArray, targets: FloatArray) -> FloatArray:
    """Sum of squares of each code in the space that the targets span."""
    left, values, _ = np.linalg.svd(targets - targets.mean(axis=0), full_matrices=False)
    left = left[:, values > 1e-9 * values[0]]
    return np.asarray(((left.T @ centred) ** 2).sum(axis=0))


def _centred(codes: FloatArray, correlation: Correlation) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Codes or ranks, centred or nearly so, the sum of squares of each, and whether that is more than rounding error.

    Products with centred targets are the same for both.
    """
    x = average_ranks(codes) if correlation == "spearman" else codes
    near, _, total = near_their_mean(x)
    if near is x and ((total > USUAL[0]) & (total < USUAL[1])).all():
        return x, total, total > 0
    # In units of the largest value of a column, squares neither overflow nor vanish.
    low, high = column_ranges(x)
    largest = np.maximum(high, -low)
    centred, mean, total = centred_columns(x / np.where(largest > 0, largest, 1.0))
    return centred, total, total > ROUNDING * (total + len(x) * mean**2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThresholdFolds:
    """Rows of each value that fit and test the class means of each fold.

    Attributes:
        fold: Fold in which each row is tested, -1 for none, ``(n_samples,)``.
        fitted: Rows of each value that fit each fold, ``(n_folds, n_levels)``.
        tested: The same of those that test it.
    """

    fold: IntArray
    fitted: IntArray
    tested: IntArray

    @classmethod
    def of(cls, factor: Factor, splits: Sequence[Split]) -> ThresholdFolds:
        """Number the folds of a categorical factor."""
        assert factor.labels is not None
        labels, n_levels = factor.labels, len(factor.levels)
        fold = np.full(len(labels), -1, dtype=np.intp)
        for k, split in enumerate(splits):
            fold[split.test] = k
        return cls(
            fold=fold,
            fitted=np.stack([np.bincount(labels[split.train], minlength=n_levels) for split in splits]),
            tested=np.stack([np.bincount(labels[split.test], minlength=n_levels) for split in splits]),
        )

    def thresholds(self, sums: FloatArray) -> tuple[IntArray, FloatArray]:
        """Values in the order of their means, and thresholds halfway between neighbours, for each code and fold.

        Args:
            sums: Sum of each code over the rows of each value, of those that test no fold first, then of those that
                test each, ``(n_codes, n_folds + 1, n_levels)``.

        Returns:
            ``(n_codes, n_folds, n_levels)``, and ``(n_codes, n_folds, n_levels - 1)``; values without a row come last.
        """
        # Sums over the other folds, before and after; a difference would leave rounding where all others are 0.
        before, after = np.cumsum(sums, axis=1)[:, :-1], np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
        after = np.concatenate([after[:, 2:], np.zeros_like(after[:, :1])], axis=1)
        means = np.full(before.shape, np.inf)
        np.divide(before + after, self.fitted, out=means, where=self.fitted > 0)
        order = np.argsort(means, axis=2, kind="stable")
        ranked = np.take_along_axis(means, order, axis=2)
        return order, (ranked[:, :, 1:] + ranked[:, :, :-1]) / 2

    def balanced_accuracy(self, hits: FloatArray) -> FloatArray:
        """Mean over values of the share of test rows that are hit, from their number, ``(n_codes, n_levels)``."""
        n_tested = self.tested.sum(axis=0)
        accuracy: FloatArray = (hits[:, n_tested > 0] / n_tested[n_tested > 0]).mean(axis=1)
        return accuracy


def _threshold_accuracy(codes: FloatArray, factor: Factor, splits: Sequence[Split]) -> FloatArray:
    """Balanced accuracy of the nearest class mean, for each code on its own, over the test rows of all folds.

    Rows are sorted by fold and value, a few columns at a time, so that each sum and each count is of a run of rows.
    """
    assert factor.labels is not None
    folds, labels = ThresholdFolds.of(factor, splits), factor.labels
    n_folds, n_levels = folds.fitted.shape
    labelled = np.flatnonzero(labels >= 0)
    cell = (folds.fold[labelled] + 1) * n_levels + labels[labelled]
    order = labelled[np.argsort(cell, kind="stable")]
    ends = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=(n_folds + 1) * n_levels))])
    hits = np.zeros((codes.shape[1], n_levels))
    step = max(1, THRESHOLD_CELLS // len(order))
    for start in range(0, codes.shape[1], step):
        columns = codes[:, start : start + step][order]
        runs = [columns[first:last] for first, last in pairwise(ends)]
        sums = np.stack([run.sum(axis=0) for run in runs], axis=1).reshape(-1, n_folds + 1, n_levels)
        ranked, thresholds = folds.thresholds(sums)
        place = np.argsort(ranked, axis=2)
        limits = np.pad(thresholds, ((0, 0), (0, 0), (1, 1)), constant_values=((0, 0), (0, 0), (-np.inf, np.inf)))
        for k, level in np.argwhere(folds.tested):
            run, own = runs[(k + 1) * n_levels + level], place[:, k, level]
            if n_levels == 2:
                above = rows_above(run, thresholds[:, k, 0])
                hits[start : start + step, level] += np.where(own == 1, above, len(run) - above)
                continue
            # A value is predicted above the threshold below its mean, up to the threshold above.
            low, high = (np.take_along_axis(limits[:, k], end[:, None], axis=1)[:, 0] for end in (own, own + 1))
            hits[start : start + step, level] += rows_above(run, low) - rows_above(run, high)
    return folds.balanced_accuracy(hits)


def rows_above(codes: FloatArray, thresholds: FloatArray) -> IntArray:
    """Number of rows in which each code is above its threshold, ``(n_codes,)``."""
    above = (codes > thresholds).view(np.uint8)
    n_whole = len(above) // MOST_IN_A_BYTE * MOST_IN_A_BYTE
    # Bytes are added up many at once, as long as the sum fits into one.
    whole = above[:n_whole].reshape(-1, MOST_IN_A_BYTE, above.shape[1]).sum(axis=1, dtype=np.uint8)
    return np.asarray(whole.sum(axis=0, dtype=np.intp) + above[n_whole:].sum(axis=0, dtype=np.uint8))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeCovariance:
    """Covariance of the active codes.

    Attributes:
        matrix: ``(n_active, n_active)``.
        active: Which codes vary.
    """

    matrix: FloatArray
    active: BoolArray

    @property
    def correlation(self) -> FloatArray:
        """Of the codes that vary."""
        deviation = np.sqrt(np.diagonal(self.matrix))
        correlation: FloatArray = self.matrix / np.outer(deviation, deviation)
        return correlation


def code_covariance(rep: Representation, options: NoOptions, rng: np.random.Generator) -> CodeCovariance:
    """Unbiased covariance of the codes that vary; draws nothing, so ``rng`` is not used."""
    x = rep.codes if rep.active.all() else rep.codes[:, rep.active]
    near, mean, _ = near_their_mean(x)
    matrix = (near.T @ near - len(x) * np.outer(mean, mean)) / (len(x) - 1)
    return CodeCovariance(matrix=matrix, active=rep.active)
