"""Factor subspaces by directional regression, refined by Gauss-Newton steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.workers import Workers
from unbraid.evidence.information import factor_labels
from unbraid.evidence.subspaces.axes import Basis, make_basis, order_axes, ridge_fit
from unbraid.evidence.subspaces.losses import nested_losses
from unbraid.evidence.subspaces.options import USUAL_RANK, Subspace, SubspaceOptions
from unbraid.evidence.subspaces.screening import MOST_CHOOSING, Screening, Single
from unbraid.probes.linear import whitening_axes
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation

NULL_VARIANCE = 1e-10


def whiten(codes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return uncorrelated codes of unit variance, and the matrix that takes their directions to those of the codes.

    Directions in which the codes do not vary (dead or duplicated codes) are left out.
    """
    centred = codes - codes.mean(axis=0)
    unwhiten = whitening_axes(centred, codes.shape[1], least_variance=NULL_VARIANCE)[:, ::-1]
    return centred @ unwhiten, unwhiten


def directional_regression(x: NDArray[np.float64], slices: NDArray[np.intp]) -> NDArray[np.float64]:
    """Matrix whose leading eigenvectors span the directions in which slices of whitened ``x`` differ.

    Li & Wang (2007): first moments (SIR) and second moments (SAVE) of the slices together. Exact in the limit for
    normal codes, a fair start otherwise.
    """
    return _kernel(x, slices, x.T @ x)


def _kernel(
    x: NDArray[np.floating[Any]], slices: NDArray[np.intp], products: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Matrix of directional regression; products of the last slice are those of all rows less those of the others."""
    size = x.shape[1]
    spread, means = np.zeros((size, size)), np.zeros((size, size))
    values, left = np.flatnonzero(np.bincount(slices)), products.astype(np.float64)
    for place, value in enumerate(values):
        part = x[slices == value]
        # A product adds columns up several times as fast as a sum over rows.
        share, mean = len(part) / len(x), (np.ones(len(part), dtype=x.dtype) @ part).astype(np.float64) / len(part)
        if place < len(values) - 1:
            own = (part.T @ part).astype(np.float64)
            left -= own
        else:
            own = left
        excess = own / len(part) - np.eye(size)
        spread += share * excess @ excess
        means += share * np.outer(mean, mean)
    kernel: NDArray[np.float64] = spread + means @ means + np.trace(means) * means
    return kernel


N_SLICES = 10
N_STEPS = 6
SMALL_GAIN = 2e-3
SMALL_REST = 0.02
SMALL_WEIGHT = 0.1
NEGLIGIBLE = 3e-4
#: Share of the loss that all axes remove, below which the last of them is none. It does not fall with the number of
#: rows: otherwise axes that hardly matter would come and go with it, and scores that count axes would not converge.
LEAST_SHARE = 5e-3
#: Dimensions of a search space up to which all products are in double precision.
EXACT_WIDTH = 64
#: Numbers of a turn for several targets up to which their products are in double precision.
EXACT_UNKNOWNS = 128
LUCKY_ROWS = 10  # an axis chosen on N rows may lower the loss by about this over N, by luck
CHANCE_SHARE = 12.0  # by chance, the best axis of L codes explains up to about 7 L / N of an independent factor
NEARLY_ALL = 0.9
WEAK = 0.3  # share of the loss that axes remove, below which the axis of least squares is tried too
MAX_ROWS = 30_000
MAX_TERMS = 200
MAX_WIDTH = 250  # codes above which directions are chosen first; refining more together costs too much
ENOUGH_ROWS = 2000  # rows of every factor with which directions are chosen first among more than 64 codes
ROWS_A_TERM = 25
ALONE_DEGREE = 6
N_SHUFFLES = 5
MANY_ROWS = 6000
ROWS_AN_UNKNOWN = 6
FUNCTION_RIDGE = 1e-5
MOST_SOLVED = 600  # numbers of a step that are solved for at once; more are approached by conjugate gradients
MOST_GRADIENTS, SMALL_ENOUGH = 40, 1e-2
REFINED_ROWS_A_CODE = 3  # rows to a code among those that choose, from which axes are refined among all codes
FEW_GRADIENTS = 5  # of axes that are refined among all of many codes, before they are tested on other rows
MAX_UNKNOWNS = 1000  # numbers that axes consist of, above which refining more axes together costs too much


def fast_subspaces(
    rep: Representation,
    options: SubspaceOptions,
    rng: np.random.Generator,
    workers: Workers,
    *,
    like: Sequence[Subspace] | None = None,
) -> list[Subspace]:
    """Find the subspace of every factor; see :func:`find_subspace`.

    Args:
        rep: Codes and factors.
        options: Loss and largest rank.
        rng: Source of chance.
        workers: Threads to work in.
        like: Subspaces of all rows, where these rows are a part of them; not used where codes are wide.
    """
    models: Sequence[Subspace | None] = [None] * rep.n_factors if like is None else like
    tasks = zip(rep.factors, rng.spawn(rep.n_factors), models, strict=True)
    if _is_wide(rep):
        screening = Screening.of(rep, rng)
        labelled = [np.flatnonzero(factor.labelled[screening.choosing]) for factor in rep.factors]
        tells = screening.tells(
            [
                (places, scaled_targets(factor, screening.choosing[places]))
                for factor, places in zip(rep.factors, labelled, strict=True)
            ]
        )
        return workers.map(
            lambda task: find_screened_subspace(screening, task[0][0], task[1], options, task[0][1]),
            zip(tasks, tells, strict=True),
        )
    is_shared = rep.n_samples <= MAX_ROWS and sum(factor.is_complete for factor in rep.factors) > 1
    whole = whiten(rep.codes) if is_shared and rep.n_samples > 2 * rep.n_codes else None
    return workers.map(
        lambda task: find_subspace(
            rep.codes, task[0], options, task[1], whole if task[0].is_complete else None, like=task[2]
        ),
        tasks,
    )


def way_of_finding(n_rows: int, n_codes: int) -> tuple[bool, bool]:
    """Return whether directions are chosen first, and whether axes are then refined among all codes."""
    is_wide = n_codes > MAX_WIDTH or (n_codes > EXACT_WIDTH and n_rows >= ENOUGH_ROWS)
    return is_wide, is_wide and min(n_rows // 2, MOST_CHOOSING) >= REFINED_ROWS_A_CODE * n_codes


def _is_wide(rep: Representation) -> bool:
    """Return whether directions are chosen first.

    Raises:
        ValueError: Too few rows to choose on one half of them.
    """
    n_rows, name = min((int(factor.labelled.sum()), factor.name) for factor in rep.factors)
    if rep.n_codes > MAX_WIDTH and n_rows <= 2 * MAX_WIDTH:
        raise ValueError(
            f"codes must have more than {2 * MAX_WIDTH} labelled rows to find the subspace of {name!r} "
            f"among {rep.n_codes} columns, got {n_rows} rows."
        )
    return way_of_finding(n_rows, rep.n_codes)[0]


def find_screened_subspace(
    screening: Screening, factor: Factor, tells: FloatArray, options: SubspaceOptions, rng: np.random.Generator
) -> Subspace:
    """Find one factor's subspace among wide codes, in directions chosen on other rows than it is fitted on."""
    labelled = np.flatnonzero(factor.labelled[screening.choosing])
    rows = screening.choosing[labelled]
    targets, slices = scaled_targets(factor, rows), slices_of(factor, rows)
    directions = screening.directions(tells, targets, slices, labelled, int(rng.integers(2**31)))
    if len(rows) >= REFINED_ROWS_A_CODE * len(directions):
        directions = np.hstack([directions, _refined(screening, directions, targets, slices, labelled, options, rng)])
    used = factor.labelled[screening.scoring]
    own = screening.other if used.all() else screening.other[used]
    x, inner = whiten(_along(own, directions))
    found = _search(x, inner, factor, screening.scoring[used], options, rng)
    return _among_codes(found, (directions @ inner) / screening.scale[:, None], screening.scale, len(x))


def _refined(
    screening: Screening,
    directions: FloatArray,
    targets: FloatArray,
    slices: IntArray,
    labelled: IntArray,
    options: SubspaceOptions,
    rng: np.random.Generator,
) -> FloatArray:
    """Axes found in directions to search, refined among all codes on the rows that choose.

    Directions of second moments are far less exact than axes that are refined together with a function along them.
    """
    white, inside = screening.whitened(labelled), screening.of_whitened(directions)
    x, inner = whiten(_along(white, inside))
    limit = min(options.max_rank or USUAL_RANK, x.shape[1])
    axes = _find_axes(x, targets, slices, _single_codes(inner), limit, rng)
    refined, _ = refine(white, targets, np.linalg.qr(inside @ inner @ axes)[0], n_gradients=FEW_GRADIENTS)
    return screening.from_whitened(refined)


def _among_codes(found: Subspace, unwhiten: FloatArray, spread: FloatArray, n_rows: int) -> Subspace:
    """Return a subspace of whitened codes as one of the codes, whose standard deviations are given."""
    axes = found.basis
    return replace(
        found,
        basis=np.linalg.qr(unwhiten @ axes)[0],
        tilt=tilt(unwhiten, axes, found.losses, n_rows),
        standardised_tilt=tilt(spread[:, None] * unwhiten, axes, found.losses, n_rows),
    )


def find_subspace(
    codes: FloatArray,
    factor: Factor,
    options: SubspaceOptions,
    rng: np.random.Generator,
    whitened: tuple[FloatArray, FloatArray] | None = None,
    *,
    like: Subspace | None = None,
) -> Subspace:
    """Find one factor's subspace.

    Codes are whitened; directional regression (SIR and SAVE together) gives axes along which the codes' mean or
    variance changes with the factor, as many as beat those of a shuffled factor. A smooth function of the codes
    along these axes is fitted, and axes and function are improved together by Gauss-Newton steps; axes still
    missing show in the residual and are added. Axes are then turned so that the first few explain most, and
    weighed by the cross-fitted loss with the first, the first two, and so on. At most 30 000 rows are used. Where they
    explain no more than luck may among so many codes, axes must also predict rows that they were not chosen on.
    Where no largest rank is given and ten axes are found, up to twice as many are looked for, and so on.

    Args:
        codes: ``(n_samples, n_codes)``.
        factor: The factor.
        options: Loss and largest rank.
        rng: Source of chance.
        whitened: What :func:`whiten` returns for all rows, where the factor is labelled on all of them, and they are
            at most 30 000.
        like: The subspace of all rows, where these are a part of them: see :func:`_again`.
    """
    rows = np.flatnonzero(factor.labelled)
    if len(rows) <= 2 * codes.shape[1]:
        raise ValueError(
            f"codes must have more than twice as many labelled rows as columns to find the subspace of "
            f"{factor.name!r}, got {len(rows)} rows and {codes.shape[1]} columns."
        )
    rows = np.sort(rng.permutation(rows)[:MAX_ROWS])
    x, unwhiten = whiten(codes[rows]) if whitened is None else whitened
    if like is None:
        found = _search(x, unwhiten, factor, rows, options, rng)
    else:
        found = _again(x, unwhiten, factor, rows, options, rng, like)
    return _among_codes(found, unwhiten, codes[rows].std(axis=0), len(x))


def _search(
    x: FloatArray,
    unwhiten: FloatArray,
    factor: Factor,
    rows: IntArray,
    options: SubspaceOptions,
    rng: np.random.Generator,
) -> Subspace:
    """Find the subspace among whitened codes; its basis is that of the whitened codes."""
    slices, targets = slices_of(factor, rows), scaled_targets(factor, rows)
    single_codes = _single_codes(unwhiten)

    def evaluated(axes: FloatArray) -> tuple[FloatArray, FloatArray, int, float]:
        ordered = order_axes(x, targets, axes)
        return ordered, *nested_losses(x @ ordered, factor, rows, options.loss, rng)

    limit = min(options.max_rank or USUAL_RANK, x.shape[1])
    largest = limit if options.max_rank else min(max(limit, MAX_UNKNOWNS // x.shape[1]), x.shape[1])
    axes = _find_axes(x, targets, slices, single_codes, limit, rng)
    while axes.shape[1] == limit < largest:
        limit = min(2 * limit, largest)
        axes = _find_axes(x, targets, slices, single_codes, limit, rng)
    axes, losses, rank, floor = evaluated(axes)
    negligible, is_line = max(NEGLIGIBLE, LUCKY_ROWS / len(x)), False
    if targets.shape[1] == 1 and 1 - losses[rank] / losses[0] < WEAK:
        # The line has the fewest unknowns: it shows a weak effect that slices and curves do not, and is turned least by
        # chance where they show it too.
        line = evaluated(np.linalg.qr(x.T @ targets)[0])
        if line[2] and line[1][1] <= losses[rank] + negligible * losses[0]:
            axes, losses, rank, floor = line
            is_line = True
    stopped = rank == limit < x.shape[1]
    if 0 < rank < axes.shape[1]:
        axes, losses, rank, floor = evaluated(refine(x, targets, axes[:, :rank])[0])
    # A last axis that explains little may only compensate for a tilt of the others.
    while rank > 1 and losses[rank - 1] - losses[rank] < min(SMALL_WEIGHT, 0.5 / rank) * losses[0]:
        fewer = evaluated(refine(x, targets, axes[:, : rank - 1])[0])
        least = max(negligible * losses[0], LEAST_SHARE * (losses[0] - losses[rank]))
        if fewer[2] < rank - 1 or fewer[1][rank - 1] > losses[rank] + least:
            break
        axes, losses, rank, floor = fewer
    doubtful = 1 - losses[rank] / losses[0] < CHANCE_SHARE * x.shape[1] / len(x)
    if rank and doubtful and not _holds_on_other_rows(x, factor, rows, slices, single_codes, limit, options.loss, rng):
        rank = 0
    return Subspace(
        basis=axes[:, :rank],
        losses=losses[: rank + 1],
        floor=floor,
        is_line=is_line,
        stopped=stopped and rank == limit,
    )


def _single_codes(unwhiten: FloatArray) -> FloatArray:
    """Directions of single codes among whitened ones, ``(n_white, n_codes)``."""
    found = np.linalg.pinv(unwhiten)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=0), 1e-12))


def _again(
    x: FloatArray,
    unwhiten: FloatArray,
    factor: Factor,
    rows: IntArray,
    options: SubspaceOptions,
    rng: np.random.Generator,
    like: Subspace,
) -> Subspace:
    """Estimate the subspace of all rows again on a part of them: as many axes, refined from where they are.

    Parts of the rows tell how axes and weights vary with the rows. Axes that a part is too small to show, and all rows
    show well, are no part of this variation, so that their number is that of all rows.
    """
    rank, targets = like.basis.shape[1], scaled_targets(factor, rows)
    if like.is_line:
        axes = np.linalg.qr(x.T @ targets)[0]
    elif rank:
        axes = refine(x, targets, np.linalg.qr(np.linalg.pinv(unwhiten) @ like.basis)[0])[0]
    else:
        return replace(like, basis=np.zeros((x.shape[1], 0)))
    axes = order_axes(x, targets, axes)
    losses, _, floor = nested_losses(x @ axes, factor, rows, options.loss, rng, given_rank=rank)
    # Where the part predicts nothing at all, its losses are no weights.
    return replace(like, basis=axes, losses=losses if losses.min() < losses[0] else like.losses, floor=floor)


def tilt(unwhiten: FloatArray, axes: FloatArray, losses: FloatArray, n_rows: int) -> float:
    """Squared sine of the angle by which chance turns the axes out of their subspace of code space, in expectation.

    Coefficients of whitened codes have errors of the same size, the loss that is left over the rows. In code space the
    errors of codes of small scale are large beside the coefficients of codes of large scale. Axes count by their share
    of the loss that they remove.

    Args:
        unwhiten: Takes directions of whitened codes to those of the codes, ``(n_codes, n_white)``.
        axes: Orthonormal, of whitened codes, ``(n_white, n_axes)``.
        losses: With no axis, the first, the first two, ..., ``(n_axes + 1,)``.
        n_rows: Number of rows.
    """
    removed = float(losses[0] - losses[-1])
    if not axes.shape[1] or removed <= 0:
        return 0.0
    directions = unwhiten @ axes
    inside = np.linalg.qr(directions)[0].T @ unwhiten
    outside = float((unwhiten**2).sum() - (inside**2).sum())
    turned = max(outside, 0.0) * float(losses[-1]) / n_rows * float((1 / (directions**2).sum(axis=0)).sum()) / removed
    return min(turned, 1.0)


def _holds_on_other_rows(
    x: FloatArray,
    factor: Factor,
    rows: IntArray,
    slices: IntArray,
    single_codes: FloatArray,
    max_rank: int,
    loss: str,
    rng: np.random.Generator,
) -> bool:
    """Return whether axes found on one half of the rows predict the factor on the other half, in both directions.

    Among many codes some axis fits the rows it was chosen on by luck, and cross-fitting a curve along it does not help.
    """
    targets = scaled_targets(factor, rows)
    for part, other in itertools.permutations(np.array_split(rng.permutation(len(x)), 2)):
        axes = _find_axes(x[part], targets[part], slices[part], single_codes, max_rank, rng)
        ordered = order_axes(x[part], targets[part], axes)
        if nested_losses(x[other] @ ordered, factor, rows[other], loss, rng)[1]:
            return True
    return False


def scaled_targets(factor: Factor, rows: IntArray) -> FloatArray:
    """Targets of the regression, centred and with total variance 1; of two categories, which are mirror images, one."""
    targets = factor.targets(rows)
    if not factor.is_numeric and targets.shape[1] == 2:
        targets = targets[:, :1]
    centred = targets - targets.mean(axis=0)
    scaled: FloatArray = centred / np.sqrt((centred**2).sum(axis=1).mean())
    return scaled


def slices_of(factor: Factor, rows: IntArray) -> IntArray:
    """Cut the rows into slices of similar values."""
    if not factor.is_numeric:
        assert factor.labels is not None
        return factor.labels[rows]
    labels, _ = factor_labels(factor, N_SLICES, "quantile")
    if factor.labels is None:
        return labels[rows]
    order = np.argsort(np.argsort(factor.numbers[rows], kind="stable"), kind="stable")
    return order * N_SLICES // len(rows)


def _find_axes(
    x: FloatArray,
    targets: FloatArray,
    slices: IntArray,
    single_codes: FloatArray,
    max_rank: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Start from directional regression, refine, and add axes while the residual depends on the codes."""
    limit = min(max_rank, x.shape[1])
    some = rng.permutation(len(x))[: max(MANY_ROWS, ROWS_AN_UNKNOWN * limit * x.shape[1])]
    x, targets, slices = x[some], targets[some], slices[some]
    axes, residual = refine(x, targets, _leading_axes(x, slices, limit, rng))
    while axes.shape[1] < limit and (residual**2).sum() > SMALL_REST * (targets**2).sum():
        rest = x - x @ axes @ axes.T
        more = _leading_axes(rest, _slices_of_residual(residual), limit - axes.shape[1], rng, minimum=0)
        if not more.shape[1] and (residual**2).sum() > NEARLY_ALL * (targets**2).sum():
            more = _informative_code(rest, residual, single_codes, _n_outputs(residual, slices))
        if not more.shape[1]:
            break
        longer, new_residual = refine(x, targets, np.linalg.qr(np.hstack([axes, more]))[0])
        if (new_residual**2).sum() > 0.98 * (residual**2).sum():
            break
        axes, residual = longer, new_residual
    return axes


def _informative_code(x: FloatArray, residual: FloatArray, single_codes: FloatArray, n_outputs: int) -> FloatArray:
    """Direction of the single code whose curve explains most of the residual, or ``None``.

    Directional regression compares means and spreads; a factor that goes up and down several times along a code changes
    neither much, and would be taken for unpredictable.
    """
    basis = make_basis(1, len(x))
    explained = np.zeros(single_codes.shape[1])
    for j, direction in enumerate(single_codes.T):
        w = x @ direction
        if w.std() > 0.1:
            _, rest = _fit(w[:, None] / w.std(), residual, basis)
            explained[j] = 1 - (rest**2).sum() / (residual**2).sum()
    best = int(explained.argmax())
    # A curve through noise explains about as many rows as it has terms; the best of many codes a few times that.
    if explained[best] < 4 * len(basis.powers) * n_outputs / len(x):
        return np.empty((x.shape[1], 0))
    return single_codes[:, [best]]


def _n_outputs(residual: FloatArray, slices: IntArray) -> int:
    """Number of targets, both of two categories counted."""
    return 2 if residual.shape[1] == 1 and len(np.unique(slices)) == 2 else residual.shape[1]


def _slices_of_residual(residual: FloatArray) -> IntArray:
    """Slice rows by the residual of the target that has most of it."""
    column = residual[:, int((residual**2).sum(axis=0).argmax())]
    return np.argsort(np.argsort(column)) * N_SLICES // len(column)


def _leading_axes(
    x: FloatArray, slices: IntArray, limit: int, rng: np.random.Generator, *, minimum: int = 1
) -> FloatArray:
    """Axes whose directional-regression eigenvalue beats the largest of a shuffled factor."""
    products = x.T @ x
    values, vectors = np.linalg.eigh(_kernel(x, slices, products))
    # Chance is a threshold, for which single precision is ample.
    rough = x.astype(np.float32) if x.shape[1] > EXACT_WIDTH else x
    chance = -np.inf
    for _ in range(N_SHUFFLES):
        shuffled = rng.permutation(slices)
        # Once chance reaches the first axis beyond the fewest, more shuffles change nothing.
        if (values[: len(values) - minimum] > chance).any():
            chance = max(chance, np.linalg.eigvalsh(_kernel(rough, shuffled, products))[-1])
    n_axes = int(np.clip((values > chance).sum(), minimum, limit))
    return vectors[:, ::-1][:, :n_axes]


def refine(
    x: NDArray[np.floating[Any]], targets: FloatArray, axes: FloatArray, *, n_gradients: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Improve axes and function together; return the axes and the residual.

    The function of the projected codes is linear in its coefficients; its change with the axes is linear to first
    order, so each step is two least-squares problems. A step that does not help is halved. With ``n_gradients`` a step
    is approached by so many conjugate gradients, which among many codes fit less of the noise.
    """
    basis = make_basis(axes.shape[1], min(MAX_TERMS, len(x) // ROWS_A_TERM), alone_degree=ALONE_DEGREE)
    coefficients, residual = _fit(_along(x, axes), targets, basis)
    for _ in range(N_STEPS):
        slopes = basis.slopes(_along(x, axes), coefficients)
        if n_gradients is None:
            turn = _turn(x.astype(np.float64, copy=False), slopes, residual)
        else:
            turn = _turn_by_gradients(_single(x), _single(slopes), _single(residual), n_gradients)
        for scale in (1.0, 0.5, 0.2):
            turned = np.linalg.qr(axes + scale * turn)[0]
            new_coefficients, new_left = _fit(_along(x, turned), targets, basis)
            gain = 1 - (new_left**2).sum() / (residual**2).sum()
            if gain > 0:
                axes, coefficients, residual = turned, new_coefficients, new_left
                break
        if gain < SMALL_GAIN:
            break
    return axes, residual


def _along(x: NDArray[np.floating[Any]], axes: FloatArray) -> FloatArray:
    """Codes along axes, multiplied in the precision of the codes: wide ones are not copied."""
    return (x @ axes.astype(x.dtype, copy=False)).astype(np.float64, copy=False)


def _fit(w: FloatArray, targets: FloatArray, basis: Basis) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the function, and the residual."""
    terms = basis.values(w)
    coefficients = ridge_fit(terms, FUNCTION_RIDGE)(targets)
    return coefficients, targets - terms @ coefficients


def _turn(x: FloatArray, slopes: FloatArray, residual: FloatArray) -> FloatArray:
    """Least-squares change of the axes that removes most of the residual, ``(n_codes, n_axes)``."""
    (n_axes, n_targets), size = slopes.shape[1:], x.shape[1]
    if n_axes * size > MOST_SOLVED:
        return _turn_by_gradients(_single(x), _single(slopes), _single(residual), MOST_GRADIENTS)
    moment = (x.T @ np.einsum("nat,nt->na", slopes, residual)).T.ravel()
    gram = _products_of_one(x, slopes[:, :, 0]) if n_targets == 1 else _products_of_several(x, slopes)
    gram[np.diag_indices(len(gram))] += 1e-3 * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram, moment), dtype=np.float64).reshape(n_axes, size).T


def _products_of_one(x: FloatArray, slopes: FloatArray) -> FloatArray:
    """Products of every two unknowns of a turn, for one target.

    The step is tried before it is taken, so that single precision is ample where it saves time.
    """
    design = (slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    rough = design.astype(np.float32) if x.shape[1] > EXACT_WIDTH else design
    return (rough.T @ rough).astype(np.float64)


def _products_of_several(x: FloatArray, slopes: FloatArray) -> FloatArray:
    """The same for several targets, whose slopes are multiplied and added up before the codes are."""
    n_axes, size = slopes.shape[1], x.shape[1]
    kind = np.float32 if n_axes * size > EXACT_UNKNOWNS else np.float64
    rough, gram = x.astype(kind, copy=False), np.empty((n_axes, size, n_axes, size))
    for a in range(n_axes):
        for b in range(a, n_axes):
            weights = np.einsum("nt,nt->n", slopes[:, a], slopes[:, b]).astype(kind, copy=False)
            own = rough.T @ (weights[:, None] * rough)
            gram[a, :, b], gram[b, :, a] = own, own.T
    return gram.reshape(n_axes * size, -1)


def _single(values: NDArray[np.floating[Any]]) -> Single:
    return values.astype(np.float32, copy=False)


def _turn_by_gradients(x: Single, slopes: Single, residual: Single, n_gradients: int) -> FloatArray:
    """The same by conjugate gradients, which need no products of all unknowns; the step is tried before it is taken."""

    def products(turn: Single) -> Single:
        changes = np.einsum("nat,na->nt", slopes, x @ turn)
        return np.asarray(x.T @ np.einsum("nat,nt->na", slopes, changes) + penalty * turn, dtype=np.float32)

    sizes = (slopes**2).sum(axis=(1, 2))
    penalty = np.float32(1e-3 * float(sizes @ (x**2).sum(axis=1)) / (x.shape[1] * slopes.shape[1]))
    left = x.T @ np.einsum("nat,nt->na", slopes, residual)
    turn, step, size = np.zeros_like(left), left, float((left**2).sum())
    goal = SMALL_ENOUGH**2 * size
    for _ in range(n_gradients):
        if size <= goal:
            break
        back = products(step)
        length = np.float32(size / float((step * back).sum()))
        turn, left = turn + length * step, left - length * back
        before, size = size, float((left**2).sum())
        step = left + np.float32(size / before) * step
    return np.asarray(turn, dtype=np.float64)
