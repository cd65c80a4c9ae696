r"""Probes of few codes for each value of a factor: the best single code, and the best k codes."""

from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import check_choice
from unbraid.evidence.concepts import (
    ConceptOptions,
    ConceptProbes,
    Measure,
    SparseProbeOptions,
    single_codes,
    sparse_probes,
)
from unbraid.evidence.information import Binning
from unbraid.metrics.table.metric import (
    AXES,
    CeilingRule,
    Cost,
    Invariance,
    KnownFailure,
    Metric,
    OneFactor,
    Preset,
    Property,
    dead_code_notes,
)
from unbraid.metrics.table.sources import SINGLE_CODES, SPARSE_PROBES
from unbraid.metrics.table.weaknesses import SUBSTITUTE_CODE
from unbraid.representation.representation import as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score

ProbeMeasure = Literal["auroc", "average_precision", "accuracy"]


def best_single(
    codes: Any,
    factors: Any = None,
    *,
    measure: ProbeMeasure = "auroc",
    n_folds: int = 5,
    n_bins: int = 20,
    binning: Binning = "robust",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well the best single code finds the rows of each value of each factor.

    The code is chosen on some rows, by the area under its ROC curve, and measured on the others; every row is measured
    once. Averaged over the values of a factor, then over factors. A category has its values against the rest, a number
    "at least this value", an angle the halves of its circle.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned.
        measure: ``"auroc"``; ``"average_precision"``; or ``"accuracy"``, of the threshold that is best on the rows of
            the choice.
        n_folds: The code is chosen on all folds but one.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
        rng: Chooses the folds, or its seed.

    Returns:
        A score in [0, 1], higher is better; noise has an area of 0.5. ``evidence["auroc"]`` is the table of all codes
        and values on all rows, ``evidence["chosen"]`` the code of each value, ``evidence["in_sample"]`` the measure on
        the rows of the choice and ``evidence["chance_in_sample"]`` the area that the best of all codes has there for
        shuffled labels: do not quote either as a result.

    References:
        Gurnee et al. (2023), Finding Neurons in a Haystack, sec. 3. https://arxiv.org/abs/2305.01610

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 3, (300, 2))
        >>> float(best_single(factors + 0.0, factors))
        1.0
    """
    rep = as_labelled(codes, factors, metric="best_single")
    options = ConceptOptions(n_folds=n_folds, n_bins=n_bins, binning=binning)
    return best_single_score(single_codes(rep, options, np.random.default_rng(rng)), measure=measure)


def sparse_probe(
    codes: Any,
    factors: Any = None,
    *,
    k: int = 5,
    measure: ProbeMeasure = "auroc",
    n_folds: int = 5,
    n_bins: int = 20,
    binning: Binning = "robust",
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well a linear probe of the best k codes finds the rows of each value of each factor.

    On the training rows, codes are ordered by the area under their ROC curve, and a logistic regression is fitted to
    the first k; it is measured on the other rows, and every row is measured once.

    Args:
        codes: :math:`z`, shape ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: :math:`v`, shape ``(n_samples, n_factors)``; continuous ones are binned.
        k: Codes of the probe; all, where there are fewer.
        measure: ``"auroc"``, ``"average_precision"`` or ``"accuracy"``.
        n_folds: Codes are chosen and probes fitted on all folds but one.
        n_bins: Bins for factors that are continuous.
        binning: Binning method.
        rng: Chooses the folds, or its seed.

    Returns:
        A score in [0, 1], higher is better; noise has an area of 0.5. ``evidence["by_k"]`` has the measure for 1, 2, 5
        and 10 codes (rows) and each value; the other entries are those of :func:`best_single`.

    References:
        Gurnee et al. (2023), Finding Neurons in a Haystack, sec. 3. https://arxiv.org/abs/2305.01610
        Karvonen et al. (2025), SAEBench, sec. 3. https://arxiv.org/abs/2503.09532

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 3, (300, 2))
        >>> float(sparse_probe(factors + 0.0, factors, k=1))
        1.0
    """
    rep = as_labelled(codes, factors, metric="sparse_probe")
    options = SparseProbeOptions(k=k, n_folds=n_folds, n_bins=n_bins, binning=binning)
    return sparse_probe_score(sparse_probes(rep, options, np.random.default_rng(rng)), measure=measure)


def best_single_score(probes: ConceptProbes, *, measure: ProbeMeasure = "auroc") -> Score:
    """Score of the best single codes."""
    return _score(probes, measure, place=0)


def sparse_probe_score(probes: ConceptProbes, *, measure: ProbeMeasure = "auroc") -> Score:
    """Score of the probes of k codes, where k is the number asked for."""
    score = _score(probes, measure, place=probes.asked)
    by_k = probes.held_out[:, _row(measure)]
    return Score(
        value=score.value,
        per_factor=score.per_factor,
        evidence={**score.evidence, "ks": np.array(probes.ks, dtype=float), "by_k": by_k},
        notes=score.notes,
    )


def _row(measure: ProbeMeasure) -> Measure:
    check_choice("measure", measure, get_args(ProbeMeasure))
    return Measure[measure.upper()]


def _score(probes: ConceptProbes, measure: ProbeMeasure, *, place: int) -> Score:
    row = _row(measure)
    held_out, in_sample = probes.held_out[place, row], probes.in_sample[place, row]
    per_factor = by_factor(held_out, probes)
    notes = [*dead_code_notes(len(probes.auroc) - probes.n_codes), _warning(held_out, in_sample, probes)]
    untested = int(np.isnan(held_out).sum())
    if untested:
        template = "{} values have too few rows to test on, and are left out."
        notes.append(Note.of(NoteKind.METRIC, template, untested))
    return Score(
        value=float(np.nanmean(per_factor)),
        per_factor=per_factor,
        evidence={
            "held_out": held_out,
            "in_sample": in_sample,
            "chance_in_sample": probes.chance,
            "auroc": probes.auroc,
            "chosen": probes.chosen.astype(float),
        },
        notes=tuple(notes),
    )


def by_factor(values: FloatArray, probes: ConceptProbes) -> FloatArray:
    """Mean over the values of each factor that were tested; NaN for a factor without any."""
    known = ~np.isnan(values)
    count = np.bincount(probes.factor[known], minlength=probes.n_factors)
    total = np.bincount(probes.factor[known], weights=values[known], minlength=probes.n_factors)
    mean: FloatArray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _warning(held_out: FloatArray, in_sample: FloatArray, probes: ConceptProbes) -> Note:
    """Say what the score would have been on the rows of the choice, where the best of many codes flatters."""
    template = (
        "Held out, {}; on the rows that the codes were chosen on, {}. By chance alone, the best of {} codes has an "
        "area of {} on such rows."
    )
    means = (float(np.nanmean(by_factor(one, probes))) for one in (held_out, in_sample, probes.chance))
    held, fitted, chance = (f"{mean:.3f}" for mean in means)
    return Note.of(NoteKind.METRIC, template, held, fitted, probes.n_codes, chance)


def _ceiling(factor: OneFactor) -> float:
    """On one code, the i-th of n categories is told at best from the larger of the categories before and after it."""
    n = factor.levels or 2
    if factor.kind != "categorical" or n < 3 or factor.options.get("measure", "auroc") != "auroc":
        return 1.0
    return sum(max(i, n - 1 - i) for i in range(n)) / (n * (n - 1))


CEILING = CeilingRule(of=_ceiling, why="on one code, a category between others cannot be told from both sides")
AREA = KnownFailure(
    cases=("*/noise_*",), sentence="It is an area under the ROC curve, for which chance is 0.5; read its chance level."
)
ONE_IS_ENOUGH = KnownFailure(
    cases=("*/duplicated", "*/several_views", "*/circles", "*/bent_copy"),
    sentence="It takes the best code of each value and ignores the others, copies too.",
)
TIED = KnownFailure(
    cases=("tied_angles/cosines_pair*",),
    sentence="A code that mixes factors which depend on each other still orders the rows of each of them.",
)
SHARED: Any = {
    "min_factors": 1,
    "misled_by_dependence": SUBSTITUTE_CODE,
    "ceiling": CEILING,
    "in_default": False,
}

ROWS = (
    Metric(
        name="best_single",
        title="Best single code",
        function=best_single,
        source=SINGLE_CODES,
        score=best_single_score,
        measures=(Property.EXPLICITNESS, Property.COMPACTNESS),
        invariant_to=AXES | {Invariance.WARPING},
        cost=Cost.QUICK,
        summary="How well does the best code find the rows of each value, on rows it was not chosen on? Chance is 0.5.",
        reference="Gurnee et al. (2023), arXiv:2305.01610",
        known_failures=(AREA, ONE_IS_ENOUGH, TIED),
        other_names=("one_sparse_probe", "best_neuron"),
        presets=frozenset({Preset.SPARSE, Preset.EMBEDDINGS, Preset.SINGLE_CELL}),
        **SHARED,
    ),
    Metric(
        name="sparse_probe",
        title="Sparse probe",
        function=sparse_probe,
        source=SPARSE_PROBES,
        score=sparse_probe_score,
        measures=(Property.EXPLICITNESS,),
        invariant_to=AXES,
        tolerance=1e-6,
        cost=Cost.QUICK,
        summary="How well does a linear probe of the best k codes find the rows of each value? Chance is 0.5.",
        reference="Gurnee et al. (2023), arXiv:2305.01610",
        known_failures=(AREA,),
        other_names=("k_sparse_probing", "sparse_probing"),
        presets=frozenset({Preset.SPARSE, Preset.EMBEDDINGS}),
        **SHARED,
    ),
)
