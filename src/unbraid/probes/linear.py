"""Linear fits: ridge and least squares, Lasso on the Gram matrix, softmax and one-vs-rest regression; whitening."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.stats import average_ranks
from unbraid.representation.factor import Factor

#: Ridge penalty for each row: enough for collinear codes, too little to change scores.
RIDGE = 1e-6
N_LASSO_STRENGTHS = 20
#: The weakest strength of a Lasso path, as a share of the one at which all coefficients are 0.
WEAKEST_SHARE = 1e-3
MAX_LASSO_SWEEPS = 200
LASSO_TOLERANCE = 1e-5
#: Guesses of which coefficients of a Lasso are not 0, and the rounding error of its conditions.
MAX_GUESSES, EXACT = 50, 1e-9
MAX_NEWTON_STEPS = 50
MAX_HALVINGS = 20
NEWTON_TOLERANCE = 1e-5
MAX_NEWTON_CODES = 64
#: Coefficients of a softmax up to which it is fitted by Newton steps.
MOST_UNKNOWNS = 130
CHUNK_CELLS = 100_000  # so that a chunk stays in cache
#: Importances are coefficients of least squares with this many rows to a code.
LEAST_ROWS_A_CODE = 10
#: Share of its variance that the residual of a row keeps at least, where its code alone decides the fit.
LEAST_RESIDUAL = 1e-6
#: Eigenvalues of standardised codes below the first are rounding errors of equal codes; below the second, codes are
#: nearly collinear, and coefficients of least squares very uncertain.
EQUAL_CODES, COLLINEAR = 1e-10, 1e-2
#: More rows and codes than this are decomposed by a random sketch.
EXACT_UP_TO = 2000
#: Principal axes with less than this share of the largest variance are taken to be rounding error.
LEAST_VARIANCE = 1e-9


def lasso_weights(
    codes: FloatArray, targets: FloatArray, *, rng: np.random.Generator, strength: float = 0.0
) -> FloatArray:
    """Fit one Lasso for each target column, all with one regularisation strength.

    By default it is the strength with the smallest error on a fifth of the rows, kept aside.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        targets: Centred, ``(n_samples, n_targets)``.
        rng: Chooses the rows kept aside.
        strength: Weight of the absolute coefficients; 0 to choose it.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    if strength > 0:
        stronger = _strengths(codes, targets)
        return _path(codes, targets, np.append(stronger[stronger > strength], strength))[-1]
    aside = rng.permutation(len(codes)) < max(2, len(codes) // 5)
    strengths = _strengths(codes, targets)
    path = _path(codes[~aside], targets[~aside], strengths)
    errors = np.stack([((targets[aside] - codes[aside] @ weights) ** 2).sum(axis=1) for weights in path])
    best = int(errors.mean(axis=1).argmin())
    return _path(codes, targets, strengths[: best + 1])[-1]


def lasso_on_gram(gram: FloatArray, moment: FloatArray, *, strength: float) -> FloatArray:
    """Fit one Lasso for each target from the Gram matrix, which can serve many fits.

    Args:
        gram: Of the centred codes with each other, divided by the rows, ``(n_codes, n_codes)``.
        moment: Of the codes with the targets, ``(n_codes, n_targets)``.
        strength: Weight of the absolute coefficients.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    return _descend(gram, moment, np.zeros_like(moment), strength)


def exact_lasso(gram: FloatArray, moment: FloatArray, *, strength: float) -> FloatArray:
    """Fit one Lasso for each target from the Gram matrix, to the last digit.

    Codes with a coefficient, and its sign, are guessed, solved for, and corrected until the solution agrees with them,
    which takes a few steps where codes are not collinear; where it does not end, by coordinate descent.

    Args:
        gram: Of the centred codes with each other, divided by the rows, ``(n_codes, n_codes)``.
        moment: Of the codes with the targets, ``(n_codes, n_targets)``.
        strength: Weight of the absolute coefficients, above 0.

    Returns:
        Coefficients, ``(n_codes, n_targets)``.
    """
    columns = []
    for own in moment.T:
        found = _by_signs(gram, own, strength)
        if found is None:
            stronger = _weaker_and_weaker(float(np.abs(own).max()))
            found = _descend_path(gram, own[:, None], np.append(stronger[stronger > strength], strength))[-1][:, 0]
        columns.append(found)
    return np.stack(columns, axis=1)


def _by_signs(gram: FloatArray, moment: FloatArray, strength: float) -> FloatArray | None:
    """Solve for the coefficients of a Lasso with guessed signs, and correct the guess; ``None`` where that fails."""
    signs = np.where(np.abs(moment) > strength, np.sign(moment), 0.0)
    for _ in range(MAX_GUESSES):
        on = np.flatnonzero(signs)
        weights = np.zeros_like(moment)
        try:
            weights[on] = np.linalg.solve(gram[np.ix_(on, on)], moment[on] - strength * signs[on])
        except np.linalg.LinAlgError:
            return None
        residual = moment - gram @ weights
        wrong = weights * signs < 0
        more = (signs == 0) & (np.abs(residual) > strength * (1 + EXACT))
        if not wrong.any() and not more.any():
            solved = np.abs(residual[on] - strength * signs[on]).max(initial=0.0) <= EXACT * strength
            return weights if solved else None
        signs = np.where(wrong, 0.0, np.where(more, np.sign(residual), signs))
    return None


def _strengths(codes: FloatArray, targets: FloatArray) -> FloatArray:
    """Return regularisation strengths, from the one at which all coefficients are 0 down to a thousandth of it."""
    return _weaker_and_weaker(float(np.abs(codes.T @ targets).max()) / len(codes))


def _weaker_and_weaker(strongest: float) -> FloatArray:
    return np.geomspace(max(strongest, 1e-12), max(strongest, 1e-12) * WEAKEST_SHARE, N_LASSO_STRENGTHS)


def _path(codes: FloatArray, targets: FloatArray, strengths: FloatArray) -> list[FloatArray]:
    """Return solutions for each strength, each started from the one before."""
    return _descend_path(codes.T @ codes / len(codes), codes.T @ targets / len(codes), strengths)


def _descend_path(gram: FloatArray, moment: FloatArray, strengths: FloatArray) -> list[FloatArray]:
    weights = np.zeros_like(moment)
    path = []
    for strength in strengths:
        weights = _descend(gram, moment, weights.copy(), float(strength))
        path.append(weights)
    return path


def _descend(gram: FloatArray, moment: FloatArray, weights: FloatArray, strength: float) -> FloatArray:
    diagonal = np.diagonal(gram)
    residual = moment - gram @ weights
    active = np.flatnonzero(diagonal > 1e-12)
    for _ in range(MAX_LASSO_SWEEPS):
        largest = 0.0
        for j in active:
            old = weights[j].copy()
            pull = residual[j] + diagonal[j] * old
            weights[j] = np.sign(pull) * np.maximum(np.abs(pull) - strength, 0.0) / diagonal[j]
            change = weights[j] - old
            if change.any():
                residual -= np.outer(gram[j], change)
                largest = max(largest, float(np.abs(change).max()))
        if largest < LASSO_TOLERANCE:
            break
    return weights


def one_vs_rest(codes: FloatArray, labels: IntArray, n_levels: int, *, penalty: float = 1.0) -> FloatArray:
    """Fit one ridge-penalised logistic regression for each level.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        labels: Level of each row.
        n_levels: Number of levels.
        penalty: Weight of half the squared norm of the coefficients; the intercept is free.

    Returns:
        Coefficients with the intercept last, ``(n_levels, n_codes + 1)``.
    """
    if n_levels == 2:  # each is the mirror image of the other, so that one fit does for both
        second = _one_vs_rest(codes, np.where(labels == 1, 0, -1), 1, penalty)
        return np.vstack([-second, second])
    return _one_vs_rest(codes, labels, n_levels, penalty)


def _one_vs_rest(codes: FloatArray, labels: IntArray, n_levels: int, penalty: float) -> FloatArray:
    """Fit a regression for each level; rows of no level have the label -1."""
    design = np.hstack([codes, np.ones((len(codes), 1))])
    coefficients = np.zeros((n_levels, design.shape[1]))
    members = np.bincount(labels[labels >= 0], minlength=n_levels)
    share = np.clip(members / len(labels), 1e-6, 1 - 1e-6)
    coefficients[:, -1] = np.log(share / (1 - share))
    if codes.shape[1] > MAX_NEWTON_CODES:
        return _quasi_newton(design, labels, coefficients, penalty)
    if len(codes) > 20_000:
        # A fit on some rows is a starting point from which all rows need few steps.
        few = np.linspace(0, len(codes) - 1, 10_000).astype(int)
        coefficients = _newton(design[few], labels[few], coefficients, penalty)
    return _newton(design, labels, coefficients, penalty)


def decision(codes: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Log-odds of each level, ``(n_samples, n_levels)``."""
    log_odds: FloatArray = codes @ coefficients[:, :-1].T + coefficients[:, -1]
    return log_odds


def _newton(design: FloatArray, labels: IntArray, start: FloatArray, penalty: float) -> FloatArray:
    """Take Newton steps for all levels at once, halving a level's step while its own loss rises."""
    ridge = _ridge(design.shape[1], penalty)
    products = _products(design)
    coefficients = start
    loss, gradient, hessian = _evaluate(design, products, labels, coefficients, ridge)
    for _ in range(MAX_NEWTON_STEPS):
        step = np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=np.float64)
        before = loss
        for _ in range(MAX_HALVINGS):
            loss, gradient, hessian = _evaluate(design, products, labels, coefficients - step, ridge)
            worse = loss > before + 1e-9 * np.abs(before)
            if not worse.any():
                break
            step[worse] /= 2
        coefficients = coefficients - step
        if np.abs(before - loss).max() < NEWTON_TOLERANCE * (1 + np.abs(loss).max()):
            break
    return coefficients


def _quasi_newton(design: FloatArray, labels: IntArray, start: FloatArray, penalty: float) -> FloatArray:
    """Fit all levels by one L-BFGS run, for codes too many to form Hessians of."""
    ridge = _ridge(design.shape[1], penalty)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        coefficients = flat.reshape(start.shape)
        loss, gradient = 0.5 * float((coefficients**2 * ridge).sum()), coefficients * ridge
        for rows in _chunks(len(design), len(start)):
            part, p, own = _loss_and_probability(design[rows] @ coefficients.T, labels[rows])
            loss += float(part.sum())
            p[own] -= 1
            gradient += p.T @ design[rows]
        return loss, gradient.ravel()

    found = scipy.optimize.minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    fitted: FloatArray = found.x.reshape(start.shape)
    return fitted


def _chunks(n_rows: int, n_levels: int) -> list[slice]:
    size = max(1, CHUNK_CELLS // n_levels)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _ridge(width: int, penalty: float) -> FloatArray:
    """Penalty of each coefficient; that of the intercept, last, is almost 0."""
    ridge = np.full(width, penalty)
    ridge[-1] = 1e-6
    return ridge


def _loss_and_probability(
    odds: FloatArray, labels: IntArray
) -> tuple[FloatArray, FloatArray, tuple[IntArray, IntArray]]:
    """Log loss of each level over some rows, the probability of each level in each row, and the places of the labels.

    Rows of no level have the label -1.
    """
    tail = np.exp(-np.abs(odds))
    rows = np.flatnonzero(labels >= 0)
    own = rows, labels[rows]
    loss = (np.maximum(odds, 0.0) + np.log(1 + tail)).sum(axis=0)
    loss -= np.bincount(own[1], weights=odds[own], minlength=odds.shape[1])
    p: FloatArray = np.where(odds >= 0, 1.0, tail) / (1 + tail)
    return loss, p, own


def _products(design: FloatArray) -> FloatArray:
    """Products of every pair of columns, ``(n_pairs, n_rows)``, so that a Hessian is one matrix product."""
    columns = np.ascontiguousarray(design.T)
    first, second = np.triu_indices(design.shape[1])
    products = np.empty((len(first), len(design)))
    for pair, (a, b) in enumerate(zip(first, second, strict=True)):
        np.multiply(columns[a], columns[b], out=products[pair])
    return products


def _evaluate(
    design: FloatArray, products: FloatArray, labels: IntArray, coefficients: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Penalised loss, its gradient and its Hessian, for each level, in one pass over the rows."""
    n_levels, width = coefficients.shape
    loss = 0.5 * (coefficients**2 * ridge).sum(axis=1)
    gradient = coefficients * ridge
    packed = np.zeros((n_levels, len(products)))
    for rows in _chunks(len(design), n_levels):
        part, p, own = _loss_and_probability(design[rows] @ coefficients.T, labels[rows])
        loss += part
        packed += (p * (1 - p)).T @ products[:, rows].T
        p[own] -= 1
        gradient += p.T @ design[rows]
    upper = np.triu_indices(width)
    hessian = np.zeros((n_levels, width, width))
    hessian[:, upper[0], upper[1]] = packed
    hessian[:, upper[1], upper[0]] = packed
    return loss, gradient, hessian + np.diag(ridge)


def auc_by_level(scores: FloatArray, labels: IntArray) -> FloatArray:
    """AUC of each column of scores for its own level against the rest.

    Args:
        scores: Higher means "this level", ``(n_samples, n_levels)``.
        labels: True level of each row.

    Returns:
        ``(n_levels,)``; NaN for a level with no row, or all rows.
    """
    n_samples, n_levels = scores.shape
    ranks = average_ranks(scores)
    members = np.bincount(labels, minlength=n_levels).astype(float)
    own = np.bincount(labels, weights=ranks[np.arange(n_samples), labels], minlength=n_levels)
    pairs = members * (n_samples - members)
    with np.errstate(invalid="ignore", divide="ignore"):
        area: FloatArray = (own - members * (members + 1) / 2) / pairs
    return np.where(pairs > 0, area, np.nan)


def multinomial(codes: FloatArray, labels: IntArray, n_levels: int, *, penalty: float = 1.0) -> FloatArray:
    """Fit one softmax regression; coefficients with the intercept last, ``(n_levels, n_codes + 1)``.

    A level without a row gets an intercept that no row will choose. The penalty is the weight of half the squared norm
    of the coefficients.
    """
    classes = np.unique(labels)
    width = codes.shape[1] + 1
    unknowns = width if len(classes) == 2 else width * len(classes)
    if isinstance(codes, np.ndarray) and len(classes) > 1 and unknowns <= MOST_UNKNOWNS:
        weights = _few_softmax(codes, np.searchsorted(classes, labels), len(classes), penalty)
    else:
        weights = _many_softmax(codes, labels, penalty)
    coefficients = np.zeros((n_levels, width))
    coefficients[:, -1] = -1e9
    coefficients[classes] = weights
    return coefficients


def _many_softmax(codes: FloatArray, labels: IntArray, penalty: float) -> FloatArray:
    """Coefficients of the levels that occur, by L-BFGS."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / penalty, max_iter=5000, tol=1e-3).fit(codes, labels)
    weights = np.hstack([model.coef_, model.intercept_[:, None]])
    return np.vstack([-weights, weights]) / 2 if len(model.classes_) == 2 else weights


def _few_softmax(codes: FloatArray, labels: IntArray, n_levels: int, penalty: float) -> FloatArray:
    """Coefficients of few codes and levels, all of which occur, by Newton steps."""
    if n_levels == 2:
        second = _one_vs_rest(codes, np.where(labels == 1, 0, -1), 1, penalty)
        return np.vstack([-second, second]) / 2
    design = np.hstack([codes, np.ones((len(codes), 1))])
    shape = n_levels, design.shape[1]
    ridge, size = np.tile(_ridge(design.shape[1], penalty), n_levels), n_levels * design.shape[1]
    truth, levels = np.zeros((len(labels), n_levels)), np.arange(n_levels)
    truth[np.arange(len(labels)), labels] = 1.0

    def evaluate(found: FloatArray) -> tuple[float, FloatArray]:
        log_p = scipy.special.log_softmax(design @ found.reshape(shape).T, axis=1)
        return 0.5 * float(found @ (ridge * found)) - float((log_p * truth).sum()), np.exp(log_p)

    start = np.zeros(shape)
    start[:, -1] = np.log(truth.mean(axis=0))
    coefficients: FloatArray = start.ravel()
    loss, p = evaluate(coefficients)
    for _ in range(MAX_NEWTON_STEPS):
        gradient = ((p - truth).T @ design).ravel() + ridge * coefficients
        by_level = p[:, :, None] * design[:, None, :]
        flat = by_level.reshape(len(design), size)
        hessian = np.diag(ridge) - flat.T @ flat
        hessian.reshape(*shape, *shape)[levels, :, levels] += by_level.transpose(1, 2, 0) @ design
        step, before = np.linalg.solve(hessian, gradient), loss
        for _ in range(MAX_HALVINGS):
            loss, p = evaluate(coefficients - step)
            if loss <= before + 1e-9 * abs(before):
                break
            step /= 2
        coefficients = coefficients - step
        if abs(before - loss) < NEWTON_TOLERANCE * (1 + abs(loss)):
            break
    return coefficients.reshape(shape)


def ridge_solver(gram: FloatArray, penalty: float | FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Factorise a Gram matrix with a penalty on its diagonal, once for many right-hand sides.

    Args:
        gram: Products of the inputs, ``(n_inputs, n_inputs)``.
        penalty: Of the squared coefficients: one for all, or one for each, 0 for an intercept.

    Returns:
        A function from products of the inputs with the targets to coefficients, ``(n_inputs, n_targets)``.
    """
    penalised = np.array(gram, order="F")
    penalised[np.diag_indices(len(gram))] += penalty
    # Called by name: the checks of cho_factor take several times as long as a small decomposition.
    triangle, failed = scipy.linalg.lapack.dpotrf(penalised, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("the Gram matrix with its penalty is not positive definite.")
    return lambda moment: np.asarray(scipy.linalg.lapack.dpotrs(triangle, moment)[0], dtype=np.float64)


def least_squares(codes: FloatArray, targets: FloatArray, *, ridge: float = RIDGE) -> FloatArray:
    """Regress targets on codes by least squares with a ridge; without a ridge, the minimum-norm solution.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        targets: ``(n_samples, n_targets)``.
        ridge: Penalty of the squared coefficients for each row; the intercept is free.

    Returns:
        Coefficients with the intercept last, ``(n_codes + 1, n_targets)``.
    """
    centre, middle = targets.mean(axis=0), codes.mean(axis=0)
    x, y = codes - middle, targets - centre
    weights = ridge_solver(x.T @ x, ridge * len(x))(x.T @ y) if ridge else np.linalg.lstsq(x, y, rcond=None)[0]
    return np.vstack([weights, centre - middle @ weights])


def coefficients_with_errors(codes: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Regress targets on codes by least squares, with standard errors that hold if the errors vary from row to row.

    A row that pulls the fit towards itself leaves too small a residual, which is made up for (HC2 of MacKinnon and
    White 1985): with two rows to a code, errors would be too small by almost a third otherwise.

    Codes that are equal share their coefficient. Where codes are nearly collinear, the code whose coefficient is least
    certain is left out, again and again, until each coefficient exceeds twice its standard error.

    Args:
        codes: Standardised, ``(n_samples, n_codes)``.
        targets: Centred, ``(n_samples, n_targets)``.

    Returns:
        Coefficients and standard errors, ``(n_codes, n_targets)``; those of a code left out are 0 and 1.
    """
    return LeastSquares.of(codes).with_errors(targets)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastSquares:
    """Products of standardised codes and their inverse, which regressions of many targets share.

    Attributes:
        codes: Standardised, ``(n_samples, n_codes)``.
        gram: ``(n_codes, n_codes)``.
        inverse: On the space that the codes span.
        is_singular: Whether the codes span fewer directions than there are codes.
        squares: What the square of each row's residual adds to the variance of each coefficient,
            ``(n_samples, n_codes)``; ``None`` where codes are nearly collinear.
    """

    codes: FloatArray
    gram: FloatArray
    inverse: FloatArray
    is_singular: bool
    squares: FloatArray | None

    @classmethod
    def of(cls, codes: FloatArray) -> LeastSquares:
        """Decompose the products of codes, once."""
        gram = codes.T @ codes
        values, vectors = np.linalg.eigh(gram)
        collinear = ((values > EQUAL_CODES * len(codes)) & (values < COLLINEAR * len(codes))).any()
        inverse = _inverted(values, vectors)
        return cls(
            codes=codes,
            gram=gram,
            inverse=inverse,
            is_singular=bool(values[0] <= EQUAL_CODES * max(float(values[-1]), 1e-300)),
            squares=None if collinear else _squares_for_errors(codes, inverse),
        )

    def with_errors(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what :func:`coefficients_with_errors` does."""
        codes, gram, moment = self.codes, self.gram, self.codes.T @ targets
        if self.squares is not None:
            weights = self.inverse @ moment
            return weights, np.sqrt(self.squares.T @ (targets - codes @ weights) ** 2)
        weights, errors = np.zeros_like(moment), np.ones_like(moment)
        for k in range(targets.shape[1]):
            own = slice(k, k + 1)
            active = self._least_certain_left_out(moment[:, k], float((targets[:, k] ** 2).sum()))
            weights[active, own], errors[active, own] = _with_errors(
                codes[:, active], targets[:, own], gram[np.ix_(active, active)], moment[active, own]
            )
        return weights, errors

    def _least_certain_left_out(self, moment: FloatArray, total: float) -> IntArray:
        """Return the codes that backward elimination keeps for one target; of many codes, one in twenty goes at a time.

        The inverse for the codes that are left follows from that for all of them, unless this is none.
        """
        active, inverse, n_rows = np.arange(len(self.gram)), self.inverse, len(self.codes)
        while len(active):
            weights = inverse @ moment[active]
            variance = max(total - float(weights @ moment[active]), 0.0) / max(n_rows - len(active), 1)
            errors = np.sqrt(variance * np.maximum(np.diagonal(inverse), 0.0))
            uncertain = np.flatnonzero(np.abs(weights) < 2 * errors)
            if not len(uncertain):
                break
            order = uncertain[np.argsort(np.abs(weights[uncertain]) / errors[uncertain])]
            left = np.delete(np.arange(len(active)), order[: max(1, len(active) // 20)])
            active = active[left]
            inverse = pseudo_inverse(self.gram[np.ix_(active, active)]) if self.is_singular else _of(inverse, left)
        return active


def _of(inverse: FloatArray, left: IntArray) -> FloatArray:
    """Inverse of some rows and columns of a matrix, from the inverse of the matrix."""
    gone = np.setdiff1d(np.arange(len(inverse)), left)
    between = inverse[np.ix_(left, gone)]
    return np.asarray(inverse[np.ix_(left, left)] - between @ np.linalg.solve(inverse[np.ix_(gone, gone)], between.T))


def _squares_for_errors(codes: FloatArray, inverse: FloatArray) -> FloatArray:
    """What the square of each row's residual adds to the variance of each coefficient."""
    rows = codes @ inverse
    left = np.maximum(1 - np.einsum("ij,ij->i", rows, codes), LEAST_RESIDUAL)
    np.square(rows, out=rows)
    rows /= left[:, None]
    return np.asarray(rows)


def _with_errors(
    codes: FloatArray, targets: FloatArray, gram: FloatArray, moment: FloatArray
) -> tuple[FloatArray, FloatArray]:
    inverse = pseudo_inverse(gram)
    weights = inverse @ moment
    residuals = targets - codes @ weights
    return weights, np.sqrt(_squares_for_errors(codes, inverse).T @ residuals**2)


def pseudo_inverse(gram: FloatArray) -> FloatArray:
    """Invert a Gram matrix on the space that its columns span."""
    if not len(gram):
        return gram
    return _inverted(*np.linalg.eigh(gram))


def _inverted(values: FloatArray, vectors: FloatArray) -> FloatArray:
    keep = values > EQUAL_CODES * max(float(values[-1]), 1e-300)
    return np.asarray((vectors[:, keep] / values[keep]) @ vectors[:, keep].T)


def one_vs_rest_errors(
    codes: FloatArray, labels: IntArray, coefficients: FloatArray, *, penalty: float = 1.0
) -> FloatArray:
    """Standard errors of the coefficients of :func:`one_vs_rest` but for the intercepts, ``(n_levels, n_codes)``."""
    design = np.hstack([codes, np.ones((len(codes), 1))])
    ridge, errors = np.diag(_ridge(design.shape[1], penalty)), []
    is_mirrored = len(coefficients) == 2
    for level, own in enumerate(coefficients[:1] if is_mirrored else coefficients):
        p = scipy.special.expit(design @ own)
        inverse = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design + ridge)
        errors.append(np.sqrt(((design @ inverse) ** 2).T @ (p - (labels == level)) ** 2)[:-1])
    return np.stack(errors * 2 if is_mirrored else errors)


def fit_linear(codes: FloatArray, factor: Factor, rows: IntArray) -> FloatArray:
    """Fit on standardised ``codes`` of the labelled ``rows`` of ``factor``.

    Returns:
        Coefficients with the intercept last, ``(n_codes + 1, n_outputs)``.
    """
    if not factor.is_numeric:
        assert factor.labels is not None
        labels = factor.labels[rows]
        if len(np.unique(labels)) == 1:
            blind = np.zeros((codes.shape[1] + 1, len(factor.levels)))
            blind[-1] = np.where(np.arange(len(factor.levels)) == labels[0], 0.0, -1e9)
            return blind
        return multinomial(codes, labels, len(factor.levels)).T
    return least_squares(codes, factor.targets(rows))


def predict_linear(codes: FloatArray, coefficients: FloatArray, factor: Factor) -> FloatArray:
    """Targets of a numeric factor, probabilities of the values of a categorical one."""
    scores = codes @ coefficients[:-1] + coefficients[-1]
    return np.asarray(scores if factor.is_numeric else scipy.special.softmax(scores, axis=1))


def whitening_axes(
    codes: FloatArray, n_axes: int, *, least_variance: float = LEAST_VARIANCE, rng: np.random.Generator | None = None
) -> FloatArray:
    """Return the leading principal axes of centred codes, scaled so that ``codes @ axes`` has unit variance.

    Args:
        codes: Centred, ``(n_samples, n_codes)``.
        n_axes: Axes at most.
        least_variance: Share of the largest variance below which an axis is left out.
        rng: For a random sketch where rows and codes are both very many; ``None`` decomposes exactly.

    Returns:
        ``(n_codes, n_axes)`` or fewer, those of the largest variance first.
    """
    if rng is not None and min(codes.shape) > EXACT_UP_TO:
        from sklearn.utils.extmath import randomized_svd

        _, singular, rows = randomized_svd(codes, n_axes, random_state=int(rng.integers(2**31)))
        values, axes = singular**2 / len(codes), rows.T
    elif codes.shape[1] <= len(codes):
        values, axes = np.linalg.eigh(codes.T @ codes / len(codes))
    else:
        values, axes = _of_few_rows(codes)
    order = np.argsort(-values)[:n_axes]
    kept = order[values[order] > least_variance * values[order[0]]]
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))


def row_axes(codes: FloatArray) -> FloatArray:
    """Return orthonormal axes that span the rows of wide codes; a regression with a penalty is the same along them.

    Returns:
        ``(n_codes, n_axes)``, no more than rows.
    """
    values, axes = _of_few_rows(codes)
    return np.asarray(axes[:, values > LEAST_VARIANCE * values[-1]])


def _of_few_rows(codes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors of the covariance by way of the smaller matrix of products of rows."""
    values, rows = np.linalg.eigh(codes @ codes.T / len(codes))
    axes = codes.T @ rows
    return values, axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
