"""CKA, Procrustes, CCA and RSA: similarity of two representations of the same rows, whatever their axes."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.stats import average_ranks
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score
from unbraid.similarity.uncertainty import FEWEST_ROWS, paired_codes, with_uncertainty

Kernel = Literal["linear", "rbf"]
Distance = Literal["correlation", "cosine", "euclidean"]
#: Directions of less than this share of the largest variance are rounding.
LEAST_VARIANCE = 1e-10
ROWS_A_CODE = 10


def cka(
    a: Any,
    b: Any,
    *,
    kernel: Kernel = "linear",
    bandwidth: float = 1.0,
    debiased: bool = True,
    max_rows: int = 4000,
    interval: bool = True,
    chance: bool = True,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Centred kernel alignment: do two representations have the same rows close to each other?

    .. math:: \mathrm{CKA}(a, b) = \frac{\mathrm{HSIC}(a, b)}{\sqrt{\mathrm{HSIC}(a, a)\,\mathrm{HSIC}(b, b)}}

    with the unbiased estimate of HSIC, so that unrelated representations score 0 on average for any number of rows and
    codes. Directions count by their variance: one code of large variance can decide.

    Args:
        a: Codes, ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        b: Codes of the same rows; any number of codes.
        kernel: ``"linear"``, or ``"rbf"`` for neighbourhoods of rows.
        bandwidth: Of the RBF kernel, as a multiple of the median distance between rows.
        debiased: ``False`` for the biased estimate that was published first, near 1 where codes outnumber rows.
        max_rows: Rows of the RBF kernel at most, as it holds a number for every two of them.
        interval: Whether to compute a confidence interval, from random halves of the rows.
        chance: Whether to compute the chance level, from shuffled rows.
        rng: Chooses halves, shuffles and rows, or its seed.

    Returns:
        1 for codes that are rotated, rescaled and shifted copies; 0 for independent ones. Higher is more alike.

    References:
        Kornblith et al. (2019), Similarity of Neural Network Representations Revisited, sec. 3,
        https://arxiv.org/abs/1905.00414; Song et al. (2012), Feature Selection via Dependence Maximization, Eq. 5.

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(float(cka(codes, 2 * codes[:, ::-1] + 1)), 9)
        1.0
    """
    check_choice("kernel", kernel, get_args(Kernel))
    check_at_least("max_rows", max_rows, FEWEST_ROWS)
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be above 0, got {bandwidth}.")
    x, y = paired_codes(a, b)
    notes: tuple[Note, ...] = ()
    if kernel == "linear" and max(x.shape[1], y.shape[1]) <= len(x):
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        product = _unbiased_linear if debiased else _biased_linear
        own = product(x, x), product(y, y)

        def alignment(i: IntArray, j: IntArray) -> float:
            p, q = x[i] - x[i].mean(axis=0), y[j] - y[j].mean(axis=0)
            # A shuffle of all rows leaves the products of a representation with itself as they are.
            first, second = own if len(i) == len(x) else (product(p, p), product(q, q))
            return _alignment(product(p, q), first, second)
    else:
        if kernel == "linear":
            k, m = _products(x), _products(y)
        else:
            x, y, notes = _sampled(x, y, max_rows, rng)
            k, m = _rbf(x, bandwidth), _rbf(y, bandwidth)
        hsic = _unbiased_hsic if debiased else _biased_hsic

        def alignment(i: IntArray, j: IntArray) -> float:
            first, second = k[np.ix_(i, i)], m[np.ix_(j, j)]
            return _alignment(hsic(first, second), hsic(first, first), hsic(second, second))

    return with_uncertainty(
        alignment, len(x), bounds=(-1.0, 1.0), interval=interval, chance=chance, rng=rng, notes=notes
    )


def procrustes(
    a: Any, b: Any, *, interval: bool = True, chance: bool = True, rng: np.random.Generator | int = 0
) -> Score:
    r"""Orthogonal Procrustes similarity: how well does a rotation carry one representation onto the other?

    .. math:: \frac{\lVert a^\top b \rVert_*}{\lVert a \rVert_F \lVert b \rVert_F}

    of centred codes. The Procrustes distance of codes of unit norm is :math:`2 - 2s`.

    Args:
        a: Codes, ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        b: Codes of the same rows; any number of codes.
        interval: Whether to compute a confidence interval, from random halves of the rows.
        chance: Whether to compute the chance level, from shuffled rows.
        rng: Chooses halves and shuffles, or its seed.

    Returns:
        1 for codes that are rotated, rescaled and shifted copies; higher is more alike. Unrelated codes score well
        above 0, the more the fewer rows there are for each code: read it beside chance.

    References:
        Ding et al. (2021), Grounding Representation Similarity with Statistical Testing, sec. 2,
        https://arxiv.org/abs/2108.01661

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(float(procrustes(codes, 2 * codes[:, ::-1] + 1)), 9)
        1.0
    """
    x, y = (_rotated(codes) for codes in paired_codes(a, b))

    def similarity(i: IntArray, j: IntArray) -> float:
        first, second = x[i] - x[i].mean(axis=0), y[j] - y[j].mean(axis=0)
        nuclear = np.linalg.svd(first.T @ second, compute_uv=False).sum()
        return float(nuclear / (np.linalg.norm(first) * np.linalg.norm(second)))

    return with_uncertainty(similarity, len(x), bounds=(0.0, 1.0), interval=interval, chance=chance, rng=rng)


def cca(
    a: Any,
    b: Any,
    *,
    keep: float = 1.0,
    interval: bool = True,
    chance: bool = True,
    rng: np.random.Generator | int = 0,
) -> Score:
    """Mean canonical correlation: does a linear map carry one representation onto the other?

    Args:
        a: Codes, ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        b: Codes of the same rows; any number of codes.
        keep: Share of the variance of each representation whose principal directions are kept; 0.99 gives SVCCA.
        interval: Whether to compute a confidence interval, from random halves of the rows; none where a half has no
            more rows than both representations have directions.
        chance: Whether to compute the chance level, from shuffled rows.
        rng: Chooses halves and shuffles, or its seed.

    Returns:
        1 where each code of the narrower representation is a linear function of the other's codes; higher is more
        alike. All directions count alike, whatever their variance. Unrelated codes score about the square root of codes
        over rows: read it beside chance.

    References:
        Raghu et al. (2017), SVCCA, https://arxiv.org/abs/1706.05806; Kornblith et al. (2019), sec. 4.

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(100, 3))
        >>> round(float(cca(codes, codes @ [[1.0, 2, 0], [0, 1, 0], [0, 1, 3]])), 9)
        1.0
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep must be above 0 and at most 1, got {keep}.")
    x, y = (_principal(codes, keep) for codes in paired_codes(a, b))
    notes: tuple[Note, ...] = ()
    n_directions = x.shape[1] + y.shape[1]
    if len(x) < ROWS_A_CODE * n_directions:
        template = (
            "{} rows are few for {} and {} directions: unrelated codes correlate as well; compare with chance, or keep "
            "fewer directions (keep=0.9)."
        )
        notes = (Note.of(NoteKind.METRIC, template, len(x), x.shape[1], y.shape[1]),)
    if interval and len(x) // 2 <= n_directions:
        template = (
            "No confidence interval: it is from halves of the rows, and in {} rows {} directions always have some in "
            "common; keep fewer directions (keep=0.9), or give more rows."
        )
        interval, notes = False, (*notes, Note.of(NoteKind.METRIC, template, len(x) // 2, n_directions))

    def mean_correlation(i: IntArray, j: IntArray) -> float:
        # Principal components of unit variance are orthonormal over all rows, in whatever order.
        scale = 1 / np.sqrt(len(x))
        first, second = (x[i] * scale, y[j] * scale) if len(i) == len(x) else (_orthonormal(x[i]), _orthonormal(y[j]))
        values = np.linalg.svd(first.T @ second, compute_uv=False)
        return float(np.minimum(values, 1.0).mean())

    return with_uncertainty(
        mean_correlation, len(x), bounds=(0.0, 1.0), interval=interval, chance=chance, rng=rng, notes=notes
    )


def rsa(
    a: Any,
    b: Any,
    *,
    distance: Distance = "correlation",
    max_rows: int = 1000,
    interval: bool = True,
    chance: bool = True,
    rng: np.random.Generator | int = 0,
) -> Score:
    """Representational similarity analysis: do two representations order the distances between rows alike?

    Args:
        a: Codes, ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        b: Codes of the same rows; any number of codes.
        distance: Between rows: ``"correlation"`` (one minus the correlation of their codes), ``"cosine"`` or
            ``"euclidean"``.
        max_rows: Rows at most, as every two of them have a distance.
        interval: Whether to compute a confidence interval, from random halves of the rows.
        chance: Whether to compute the chance level, from shuffled rows.
        rng: Chooses halves, shuffles and rows, or its seed.

    Returns:
        Spearman correlation of the distances of all pairs of rows: 1 for the same order, 0 for unrelated ones. Only
        with ``distance="euclidean"`` does it stay the same under rotations.

    References:
        Kriegeskorte et al. (2008), Representational similarity analysis, https://doi.org/10.3389/neuro.06.004.2008

    Example:
        >>> codes = np.random.default_rng(0).normal(size=(50, 3))
        >>> round(float(rsa(codes, 2 * codes, distance="euclidean")), 9)
        1.0
    """
    check_choice("distance", distance, get_args(Distance))
    check_at_least("max_rows", max_rows, FEWEST_ROWS)
    x, y, notes = _sampled(*paired_codes(a, b), max_rows, rng)
    for name, codes in (("a", x), ("b", y)):
        if distance == "correlation" and codes.shape[1] < 3:
            raise ValueError(
                f"{name} must have at least 3 codes for distance='correlation', got {codes.shape[1]}; use "
                "distance='euclidean'."
            )
    first, second = _distances(x, distance), _distances(y, distance)

    def agreement(i: IntArray, j: IntArray) -> float:
        upper = np.triu_indices(len(i), 1)
        ranks = average_ranks(np.stack([first[np.ix_(i, i)][upper], second[np.ix_(j, j)][upper]], axis=1))
        x_ranks, y_ranks = (ranks - ranks.mean(axis=0)).T
        scale = np.linalg.norm(x_ranks) * np.linalg.norm(y_ranks)
        return float(x_ranks @ y_ranks / scale) if scale > 0 else 0.0

    return with_uncertainty(
        agreement, len(x), bounds=(-1.0, 1.0), interval=interval, chance=chance, rng=rng, notes=notes
    )


def _rotated(codes: FloatArray) -> FloatArray:
    """Return centred codes, in no more columns than rows; products of rows stay as they are."""
    centred: FloatArray = codes - codes.mean(axis=0)
    if codes.shape[1] <= len(codes):
        return centred
    values, vectors = np.linalg.eigh(centred @ centred.T)
    kept = values > LEAST_VARIANCE * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _products(codes: FloatArray) -> FloatArray:
    """Products of every two rows of the centred codes."""
    centred = codes - codes.mean(axis=0)
    products: FloatArray = centred @ centred.T
    return products


def _principal(codes: FloatArray, keep: float) -> FloatArray:
    """Return the principal components that hold a share of the variance, each with unit variance."""
    rotated = _rotated(codes)
    values, axes = np.linalg.eigh(rotated.T @ rotated / len(rotated))
    values, axes = values[::-1], axes[:, ::-1]
    shares = np.cumsum(values) / values.sum()
    needed = int(np.searchsorted(shares, keep * (1 - 1e-12))) + 1
    kept = np.flatnonzero(values[:needed] > LEAST_VARIANCE * values[0])
    components: FloatArray = rotated @ (axes[:, kept] / np.sqrt(values[kept]))
    return components


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the centred columns."""
    rotated = _rotated(columns)
    values, axes = np.linalg.eigh(rotated.T @ rotated)
    kept = values > LEAST_VARIANCE * values[-1]
    return np.asarray(rotated @ (axes[:, kept] / np.sqrt(values[kept])))


def _sampled(
    x: FloatArray, y: FloatArray, max_rows: int, rng: np.random.Generator | int
) -> tuple[FloatArray, FloatArray, tuple[Note, ...]]:
    """Draw rows where there are too many for a matrix of pairs, with a note."""
    if len(x) <= max_rows:
        return x, y, ()
    rows = np.sort(np.random.default_rng(rng).permutation(len(x))[:max_rows])
    note = Note.of(NoteKind.METRIC, "{} of {} rows, drawn at random; max_rows takes more.", max_rows, len(x))
    return x[rows], y[rows], (note,)


def _alignment(cross: float, first: float, second: float) -> float:
    """Return HSIC as a share of those of the two representations with themselves; 0 where one has no structure."""
    scale = first * second
    return float(cross / np.sqrt(scale)) if first > 0 and second > 0 else 0.0


def _unbiased_linear(x: FloatArray, y: FloatArray) -> float:
    """Return the unbiased HSIC of linear kernels of centred codes, up to a factor, without a matrix of rows by rows.

    Song et al. (2012), Eq. 5, with kernels whose diagonal is 0, written out for products of codes.
    """
    n = len(x)
    own_x, own_y = (x**2).sum(axis=1), (y**2).sum(axis=1)
    rows_x, rows_y = x @ x.sum(axis=0) - own_x, y @ y.sum(axis=0) - own_y
    trace = ((x.T @ y) ** 2).sum() - own_x @ own_y
    return float(trace + rows_x.sum() * rows_y.sum() / ((n - 1) * (n - 2)) - 2 * (rows_x @ rows_y) / (n - 2))


def _biased_linear(x: FloatArray, y: FloatArray) -> float:
    """Return the biased HSIC of linear kernels of centred codes, up to a factor."""
    return float(((x.T @ y) ** 2).sum())


def _unbiased_hsic(k: FloatArray, m: FloatArray) -> float:
    """Return the unbiased HSIC of two kernel matrices, up to a factor."""
    n = len(k)
    k, m = k - np.diag(np.diagonal(k)), m - np.diag(np.diagonal(m))
    rows_k, rows_m = k.sum(axis=1), m.sum(axis=1)
    trace = float((k * m).sum())
    return float(trace + rows_k.sum() * rows_m.sum() / ((n - 1) * (n - 2)) - 2 * (rows_k @ rows_m) / (n - 2))


def _biased_hsic(k: FloatArray, m: FloatArray) -> float:
    """Return the biased HSIC of two kernel matrices, up to a factor."""
    centred = k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()
    return float((centred * m).sum())


def _rbf(codes: FloatArray, bandwidth: float) -> FloatArray:
    squared = _distances(codes, "euclidean") ** 2
    middle = np.median(squared[np.triu_indices(len(squared), 1)])
    scale = bandwidth**2 * (middle if middle > 0 else 1.0)
    kernel: FloatArray = np.exp(-squared / (2 * scale))
    return kernel


def _distances(codes: FloatArray, distance: Distance) -> FloatArray:
    """Return the distance of every two rows."""
    if distance == "euclidean":
        centred = codes - codes.mean(axis=0)
        own = (centred**2).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2 * centred @ centred.T, 0.0)))
    rows = codes - codes.mean(axis=1, keepdims=True) if distance == "correlation" else codes
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    apart: FloatArray = 1 - unit @ unit.T
    return apart
