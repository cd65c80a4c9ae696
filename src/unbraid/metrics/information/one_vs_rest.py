"""Matching of codes and the values of a category, each value against the rest."""

from typing import Any, Literal, get_args

import numpy as np
import scipy

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid.evidence.classes import By, ClassAssociation, ClassOptions, class_association
from unbraid.evidence.counting import BiasCorrection
from unbraid.evidence.information import Binning
from unbraid.metrics.information.gaps import information_gaps
from unbraid.metrics.table.metric import AXES, KnownFailure, Metric, Preset, Property, dead_code_notes
from unbraid.metrics.table.sources import CLASSES
from unbraid.metrics.table.weaknesses import BIN_EDGES, SUBSTITUTE_CODE
from unbraid.representation.representation import as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

Matching = Literal["one_to_one", "best", "gap"]


def one_vs_rest(
    codes: Any,
    factors: Any = None,
    *,
    by: By = "information",
    matching: Matching = "one_to_one",
    n_bins: int = 20,
    binning: Binning = "robust",
    bias_correction: BiasCorrection = "auto",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how far each value of a factor has a code of its own, the value against the rest.

    Every code is associated with every value: :math:`A_{jc}` in [0, 1]. ``"one_to_one"`` gives each value a code of its
    own so that the sum is largest, and averages over values; ``"best"`` averages :math:`\max_j A_{jc}`; ``"gap"``
    averages the best less the second best. Values have no order: no category is read as a number. A factor of two
    values counts once.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned.
        by: ``"information"``: mutual information as a share of the entropy of "this value or not"; ``"spearman"``:
            absolute rank correlation; ``"neighbours"``: share of the rows of a value whose next row along the code is
            of the value too, from chance (0) to all (1).
        matching: ``"one_to_one"``, ``"best"`` or ``"gap"``.
        n_bins: Bins for each code, where ``by`` is ``"information"``.
        binning: ``"robust"``, ``"uniform"`` or ``"quantile"``.
        bias_correction: ``"none"`` for plug-in estimates, ``"miller_madow"`` or ``"schurmann"``; ``"auto"`` is
            ``"none"`` for uniform bins, as published, and ``"schurmann"`` for others.
        rng: Orders rows with the same code, where ``by`` is ``"neighbours"``; or its seed.

    Returns:
        A score in [0, 1], higher is better; ``evidence["association"]`` is the matrix, one column for each value.

    References:
        Moinfar & Theis (2024), Unsupervised Deep Disentangled Representation of Single-Cell Omics (DRVI), methods.
        https://doi.org/10.1101/2024.11.06.622266

    Example:
        >>> import numpy as np
        >>> kind = np.repeat(["T", "B", "NK"], 40)
        >>> codes = (kind[:, None] == np.array(["B", "NK", "T"])) + 0.0
        >>> float(one_vs_rest(codes, kind[:, None]))
        1.0
    """
    rep = as_labelled(codes, factors, metric="one_vs_rest")
    options = ClassOptions(by=by, n_bins=n_bins, binning=binning, bias_correction=bias_correction)
    return one_vs_rest_score(class_association(rep, options, np.random.default_rng(rng)), matching=matching)


def one_vs_rest_score(association: ClassAssociation, *, matching: Matching = "one_to_one") -> Score:
    """Score of the association of codes and values."""
    check_choice("matching", matching, get_args(Matching))
    matrix = association.matrix
    per_value = np.zeros(matrix.shape[1])
    for k in range(association.n_factors):
        columns = association.factor == k
        per_value[columns] = matched(matrix[:, columns], matching)
    count = np.bincount(association.factor, minlength=association.n_factors)
    total = np.bincount(association.factor, weights=per_value, minlength=association.n_factors)
    per_factor = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    notes = dead_code_notes(int((~association.active).sum()))
    most = int(count.max())
    if matching == "one_to_one" and most > association.active.sum():
        template = "A factor has {} values and there are {} codes: values left without a code count 0."
        notes += (Note.of(NoteKind.METRIC, template, most, int(association.active.sum())),)
    return Score(
        value=float(np.nanmean(per_factor)),
        per_factor=per_factor,
        evidence={"association": matrix, "per_value": per_value},
        notes=notes,
    )


def matched(matrix: FloatArray, matching: Matching) -> FloatArray:
    """Return one number for each value, from the association of all codes with the values of one factor."""
    if matching == "best":
        return np.asarray(matrix.max(axis=0), dtype=np.float64)
    if matching == "gap":
        return information_gaps(matrix)
    code, value = scipy.optimize.linear_sum_assignment(matrix, maximize=True)
    found = np.zeros(matrix.shape[1])
    found[value] = matrix[code, value]
    return found


ROWS = (
    Metric(
        name="one_vs_rest",
        title="One code for each value",
        function=one_vs_rest,
        source=CLASSES,
        score=one_vs_rest_score,
        measures=(Property.COMPACTNESS, Property.EXPLICITNESS),
        invariant_to=AXES,
        summary="Does each value of a factor have a code of its own, the value against the rest?",
        reference="Moinfar & Theis (2024), doi:10.1101/2024.11.06.622266",
        misled_by_dependence=SUBSTITUTE_CODE,
        known_failures=(
            KnownFailure(
                cases=("*",),
                sentence="It asks for a code for each value; one code that orders the values of a factor serves one of "
                "them, and codes that are left over are free.",
            ),
            BIN_EDGES,
        ),
        in_default=False,
        other_names=("drvi", "latent_matching_score", "lms", "smi"),
        presets=frozenset({Preset.SINGLE_CELL, Preset.SPARSE}),
    ),
)
