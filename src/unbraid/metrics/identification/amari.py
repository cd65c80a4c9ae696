"""Amari distance: how far the linear map between factors and codes is from a permutation."""

from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import to_array
from unbraid.evidence.association import NoOptions
from unbraid.evidence.linear_map import LinearMap, linear_map
from unbraid.metrics.table.metric import AXES, BesideThePanel, KnownFailure, Metric, Preset, Property
from unbraid.metrics.table.sources import LINEAR_MAP
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.representation.representation import as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

NOT_MOVED = "{} codes that no linear map of the factors moves are left out."
DIVIDED = (
    "a curved code of one factor is fitted better by a line through several factors that depend on each other, so the "
    "linear map divides it between them."
)
NOTHING_MOVED = "No linear map of the factors moves any code: defined as 1."


def amari(codes: Any, factors: Any = None) -> Score:
    r"""Score how far the linear map from factors to codes is from one code for each factor; lower is better.

    With :math:`p_{jk}` the size of the part of code :math:`j` that factor :math:`k` moves, in a regression of the codes
    on all factors,

    .. math::

        A = \frac12 \left[ \frac1L \sum_j \frac{1}{K - 1} \left( \sum_k \frac{p_{jk}}{\max_{k'} p_{jk'}} - 1 \right)
            + \frac1K \sum_k \frac{1}{L - 1} \left( \sum_j \frac{p_{jk}}{\max_{j'} p_{j'k}} - 1 \right) \right].

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two; only rows with all labels are used.

    Returns:
        A distance in [0, 1], *lower* is better: 0 for a permutation with any scales, 1 where all entries are alike.
        ``evidence["map"]`` has the entries.

    Raises:
        ValueError: Fewer than two factors, or too few rows with all labels.

    Note:
        Unchanged by order and scale of the codes. Codes that the factors do not move are left out.

    References:
        Amari, Cichocki and Yang (1996), A New Learning Algorithm for Blind Signal Separation, Eq. 16.

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(float(amari(v[:, ::-1] * [2, -3], v)), 6), round(float(amari(v @ [[1, 1], [1, -1]], v)), 1)
        (0.0, 1.0)
    """
    rep = as_labelled(codes, factors, metric="amari", min_factors=2)
    return amari_score(linear_map(rep, NoOptions(), np.random.default_rng(0)))


def amari_score(found: LinearMap) -> Score:
    """Amari distance of a linear map, over the codes that the factors move."""
    n_left = int((~found.moved).sum())
    if not found.moved.any():
        per_code = np.full(len(found.moved), np.nan)
        return Score(value=1.0, per_code=per_code, evidence={"map": found.matrix}, notes=(NOTHING_MOVED,))
    rows, columns = _excess(found.matrix[found.moved]), _excess(found.matrix[found.moved].T)
    per_code = np.full(len(found.moved), np.nan)
    per_code[found.moved] = rows
    notes = (Note.of(NoteKind.METRIC, NOT_MOVED, n_left),) if n_left else ()
    return Score(
        value=float((rows.mean() + columns.mean()) / 2),
        per_code=per_code,
        per_factor=columns,
        evidence={"map": found.matrix},
        notes=notes,
    )


def amari_distance(matrix: Any) -> float:
    """Return the Amari distance of a matrix from a permutation: of an estimated unmixing times the true mixing.

    Args:
        matrix: ``(n_rows, n_columns)``; square as published, and each side normalised by itself where it is not.

    Raises:
        ValueError: Not a matrix of finite numbers with at least two rows and columns.

    Example:
        >>> amari_distance([[0, 2], [-1, 0]]), amari_distance([[1, 0.5], [0, 1]])
        (0.0, 0.25)
    """
    entries = np.abs(to_array(matrix).astype(np.float64))
    if entries.ndim != 2 or min(entries.shape) < 2 or not np.isfinite(entries).all():
        raise ValueError(f"matrix must be finite with at least two rows and columns, got shape {entries.shape}.")
    return float((_excess(entries).mean() + _excess(entries.T).mean()) / 2)


def _excess(rows: FloatArray) -> FloatArray:
    """What each row has beside its largest entry, in units of the largest, from 0 to 1; 1 for a row of zeros."""
    largest = rows.max(axis=1)
    beside = rows.sum(axis=1) / np.where(largest > 0, largest, 1.0) - 1
    return np.where(largest > 0, beside / max(rows.shape[1] - 1, 1), 1.0)


ROWS = (
    Metric(
        name="amari",
        title="Amari distance",
        function=amari,
        source=LINEAR_MAP,
        score=amari_score,
        measures=(Property.MODULARITY, Property.COMPACTNESS),
        higher_is_better=False,
        invariant_to=AXES,
        tolerance=1e-6,
        min_factors=2,
        in_default=False,
        presets=frozenset({Preset.IDENTIFIABILITY}),
        summary="How far is the linear map between factors and codes from one code for each factor?",
        reference="Amari et al. (1996), NIPS 8",
        misled_by_dependence=DIVIDED,
        known_failures=(
            OUTLIERS,
            KnownFailure(
                cases=("*",),
                sentence="It sees the linear map only: what a code has of a factor beside a straight line does not "
                "count.",
            ),
        ),
        other_names=("amari_index", "amari_error"),
    ),
)
BESIDE_THE_PANEL = (
    BesideThePanel(
        name="amari_distance",
        summary="How far is a matrix from a permutation with any scales?",
        needs="a matrix, such as an estimated unmixing times the true mixing",
        call="unbraid.metrics.amari_distance(matrix)",
        also="`amari` estimates the matrix from codes and factors",
    ),
)
