"""The table of metrics, and the largest score that each can reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unbraid.metrics import _sources as sources
from unbraid.metrics._dci import completeness, dci_boosting, dci_forest, dci_linear, disentanglement, informativeness
from unbraid.metrics._dci_es import (
    dci_es,
    es_completeness,
    es_disentanglement,
    es_explicitness,
    es_informativeness,
    es_size,
)
from unbraid.metrics._dependent import (
    dependent,
    dependent_compactness,
    dependent_explicitness,
    dependent_minimality,
    dependent_modularity,
    dependent_sufficiency,
)
from unbraid.metrics._explicitness import explicitness, explicitness_score
from unbraid.metrics._infomec import infoc_score, infoe_score, infom_score, infomec
from unbraid.metrics._information_gaps import (
    dcimig,
    dcimig_score,
    jemmig,
    jemmig_score,
    mig,
    mig_score,
    mig_sup,
    mig_sup_score,
    modularity,
    modularity_score,
)
from unbraid.metrics._interventions import z1, z1_score, z2, z2_score, z_diff, z_diff_score, z_min_var, z_min_var_score
from unbraid.metrics._irs import irs, irs_score
from unbraid.metrics._label_free import (
    code_mutual_information,
    code_mutual_information_score,
    total_correlation,
    total_correlation_score,
    wasserstein_correlation,
    wasserstein_correlation_score,
)
from unbraid.metrics._mcc import mcc, mcc_score
from unbraid.metrics._metric import Cost, Invariance, Metric, Property, Source
from unbraid.metrics._orthogonality import iwo, iwo_score, iwr, iwr_score, orthogonality, orthogonality_score
from unbraid.metrics._r2 import r2, r2_score
from unbraid.metrics._sap import sap, sap_score
from unbraid.probes.splits import TEST_SHARE
from unbraid.results.setup import Setup

MODULARITY, COMPACTNESS, EXPLICITNESS, ORTHOGONALITY, INDEPENDENCE = Property
PERMUTATION, SCALING, WARPING, ROTATION = Invariance
AXES = frozenset({PERMUTATION, SCALING})

FIXED_TOGETHER = "to fix one is to hold the others back too, so a code of either stands still and none is told apart."
KNOWN_THROUGH = "a code of one factor also tells of the other, which counts as a second factor or a second code."
STANDS_IN = "a code of one factor can stand in for the other, whose own code may be missing."
DIVIDED = "a probe may lean on the codes of either, so importances are divided by chance and not by what codes hold."
SHARED_AXES = "the directions of one partly predict the other, so that their subspaces overlap though the codes do not."
TIED_CODES = "faithful codes then depend on each other as well, so a low score is not to be wished for."


def _dci(family: str, function: Any, source: Source, probe: str, **shared: Any) -> list[Metric]:
    """Return the three rows of one probe."""
    reference = "Eastwood & Williams (2018), openreview By-7dz-AZ"
    return [
        Metric(
            name=f"{family}.disentanglement",
            title=f"DCI disentanglement, {probe}",
            function=function,
            source=source,
            score=disentanglement,
            measures=(MODULARITY,),
            min_factors=2,
            summary="Does each code matter for one factor only?",
            reference=reference,
            misled_by_dependence=DIVIDED,
            **shared,
        ),
        Metric(
            name=f"{family}.completeness",
            title=f"DCI completeness, {probe}",
            function=function,
            source=source,
            score=completeness,
            measures=(COMPACTNESS,),
            summary="Does each factor need one code only?",
            reference=reference,
            misled_by_dependence=DIVIDED,
            **shared,
        ),
        Metric(
            name=f"{family}.informativeness",
            title=f"DCI informativeness, {probe}",
            function=function,
            source=source,
            score=informativeness,
            measures=(EXPLICITNESS,),
            summary="Can the factors be predicted from the codes at all?",
            reference=reference,
            **shared,
        ),
    ]


def _dci_es(name: str, score: Any, measures: tuple[Property, ...], summary: str, **own: Any) -> Metric:
    """Return one row of the scores of a ladder of probes; they are dear, so the default panel leaves them out."""
    return Metric(
        name=f"dci_es.{name}",
        title=f"DCI-ES {name}",
        function=dci_es,
        source=sources.LOSS_CAPACITY,
        score=score,
        measures=measures,
        summary=summary,
        reference="Eastwood et al. (2023), arXiv:2210.00364",
        tolerance=0.03,
        cost=Cost.MINUTE,
        in_default=False,
        **own,
    )


def _dependent(name: str, score: Any, measures: tuple[Property, ...], summary: str, **own: Any) -> Metric:
    """Return one row of the scores for dependent factors; they are dear, so the default panel only names them."""
    return Metric(
        name=f"dependent.{name}",
        title=f"{name.capitalize()}, dependent factors",
        function=dependent,
        source=sources.CROSS_PREDICTION,
        score=score,
        measures=measures,
        summary=summary,
        reference="Almudévar et al. (2024), arXiv:2408.07016",
        tolerance=0.03,
        cost=Cost.SECONDS,
        in_default=False,
        **own,
    )


DCI_ROWS = [
    *_dci("dci_linear", dci_linear, sources.LINEAR, "linear", invariant_to=AXES, tolerance=1e-6, cost=Cost.QUICK),
    *_dci(
        "dci_forest",
        dci_forest,
        sources.FOREST,
        "forest",
        invariant_to=AXES | {WARPING},
        tolerance=0.01,
        cost=Cost.SECONDS,
    ),
    *_dci(
        "dci_boosting",
        dci_boosting,
        sources.BOOSTING,
        "boosting",
        invariant_to=AXES | {WARPING},
        tolerance=0.01,
        cost=Cost.SECONDS,
    ),
]

DEPENDENT_ROWS = [
    _dependent(
        "modularity",
        dependent_modularity,
        (MODULARITY,),
        "Does one factor explain each code as well as all factors do?",
        invariant_to=AXES,
        min_factors=2,
    ),
    _dependent(
        "compactness",
        dependent_compactness,
        (COMPACTNESS,),
        "Does one code tell each factor as well as all codes do?",
        invariant_to=AXES | {WARPING},
    ),
    _dependent(
        "explicitness",
        dependent_explicitness,
        (EXPLICITNESS,),
        "Do all codes together tell each factor?",
        invariant_to=AXES | {WARPING},
    ),
    _dependent(
        "minimality",
        dependent_minimality,
        (MODULARITY,),
        "Does each code hold one factor and nothing else, no nuisance either?",
        invariant_to=AXES,
    ),
    _dependent(
        "sufficiency",
        dependent_sufficiency,
        (COMPACTNESS, EXPLICITNESS),
        "Does one code alone tell each factor?",
        invariant_to=AXES | {WARPING},
    ),
]

DCI_ES_ROWS = [
    _dci_es(
        "disentanglement",
        es_disentanglement,
        (MODULARITY,),
        "Does each code matter for one factor only, to the simplest probe that does well?",
        invariant_to=AXES,
        misled_by_dependence=DIVIDED,
        min_factors=2,
    ),
    _dci_es(
        "completeness",
        es_completeness,
        (COMPACTNESS,),
        "Does each factor need one code only, to the simplest probe that does well?",
        invariant_to=AXES,
        misled_by_dependence=DIVIDED,
    ),
    _dci_es(
        "informativeness",
        es_informativeness,
        (EXPLICITNESS,),
        "Can the factors be predicted from the codes with any capacity?",
        invariant_to=AXES | {ROTATION},
    ),
    _dci_es(
        "explicitness",
        es_explicitness,
        (EXPLICITNESS,),
        "How little capacity does it take to read the factors out?",
        bounds=(-1.0, 1.0),
        invariant_to=AXES | {ROTATION},
        has_null=False,
    ),
    _dci_es(
        "size",
        es_size,
        (COMPACTNESS,),
        "How many factors are there for each code?",
        bounds=(0.0, math.inf),
        invariant_to=frozenset(Invariance),
        has_null=False,
    ),
]


_ROWS = [
    Metric(
        name="z_diff",
        title="Z-diff (beta-VAE metric)",
        function=z_diff,
        source=sources.DIFFERENCES,
        score=z_diff_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        tolerance=0.005,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Can a line tell which factor two observations share?",
        reference="Higgins et al. (2017), openreview Sy2fzU9gl",
        misled_by_dependence=FIXED_TOGETHER,
    ),
    Metric(
        name="z_min_var",
        title="Z-min variance (FactorVAE metric)",
        function=z_min_var,
        source=sources.VARIANCES,
        score=z_min_var_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Does the stillest code give away which factor is fixed?",
        reference="Kim & Mnih (2018), arXiv:1802.05983",
        misled_by_dependence=FIXED_TOGETHER,
    ),
    Metric(
        name="z1",
        title="Z (1)",
        function=z1,
        source=sources.CONDITIONAL,
        score=z1_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        summary="Does some code stand still when a factor does?",
        reference="The importance of disentanglement (thesis), sec. 5.2.1",
        misled_by_dependence=STANDS_IN,
    ),
    Metric(
        name="z2",
        title="Z (2)",
        function=z2,
        source=sources.CONDITIONAL,
        score=z2_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        summary="Does each code either stand still with a factor or not notice it?",
        reference="The importance of disentanglement (thesis), Algorithm 10",
        misled_by_dependence=FIXED_TOGETHER,
    ),
    Metric(
        name="irs",
        title="Interventional robustness",
        function=irs,
        source=sources.CONDITIONAL,
        score=irs_score,
        measures=(MODULARITY, EXPLICITNESS),
        invariant_to=frozenset({PERMUTATION}),
        summary="How little does a code move while its factor is fixed and the others change?",
        reference="Suter et al. (2019), arXiv:1811.00007",
    ),
    Metric(
        name="mig",
        title="Mutual information gap",
        function=mig,
        source=sources.INFORMATION,
        score=mig_score,
        measures=(COMPACTNESS, EXPLICITNESS),
        invariant_to=AXES,
        summary="Does one code alone carry each factor?",
        reference="Chen et al. (2018), arXiv:1802.04942",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="mig_sup",
        title="MIG-sup",
        function=mig_sup,
        source=sources.INFORMATION,
        score=mig_sup_score,
        measures=(MODULARITY, EXPLICITNESS),
        invariant_to=AXES,
        min_factors=2,
        summary="Does each code carry one factor alone?",
        reference="Li et al. (2020), arXiv:2002.10549",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="jemmig",
        title="JEMMIG",
        function=jemmig,
        source=sources.INFORMATION,
        score=jemmig_score,
        measures=(MODULARITY, COMPACTNESS, EXPLICITNESS),
        invariant_to=AXES,
        summary="Does one code alone carry each factor, and nothing else?",
        reference="Do & Tran (2020), arXiv:1908.09961",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="dcimig",
        title="DCIMIG",
        function=dcimig,
        source=sources.INFORMATION,
        score=dcimig_score,
        measures=(MODULARITY, EXPLICITNESS),
        invariant_to=AXES,
        min_factors=2,
        summary="How much of the factors sits in codes that carry one factor alone?",
        reference="Sepliarskaia et al. (2019), arXiv:1910.05587",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="modularity",
        title="Modularity",
        function=modularity,
        source=sources.INFORMATION,
        score=modularity_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        summary="Does each code tell about a single factor?",
        reference="Ridgeway & Mozer (2018), arXiv:1802.05312",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="infomec.modularity",
        title="InfoM",
        function=infomec,
        source=sources.INFORMATION,
        score=infom_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        min_factors=2,
        summary="How much of a code's information is about its main factor?",
        reference="Hsu et al. (2023), arXiv:2305.18378",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="infomec.compactness",
        title="InfoC",
        function=infomec,
        source=sources.INFORMATION,
        score=infoc_score,
        measures=(COMPACTNESS,),
        invariant_to=AXES,
        summary="How much of the information about a factor is in its main code?",
        reference="Hsu et al. (2023), arXiv:2305.18378",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="infomec.explicitness",
        title="InfoE",
        function=infomec,
        source=sources.PREDICTIVE,
        score=infoe_score,
        measures=(EXPLICITNESS,),
        invariant_to=AXES | {ROTATION},
        tolerance=0.02,
        cost=Cost.QUICK,
        summary="How much of a factor's entropy does a linear probe remove?",
        reference="Hsu et al. (2023), arXiv:2305.18378",
    ),
    Metric(
        name="sap",
        title="Separated attribute predictability",
        function=sap,
        source=sources.PREDICTABILITY,
        score=sap_score,
        measures=(COMPACTNESS, EXPLICITNESS),
        invariant_to=AXES,
        summary="How much better does the best code predict a factor than the second best?",
        reference="Kumar et al. (2018), arXiv:1711.00848",
        misled_by_dependence=KNOWN_THROUGH,
    ),
    Metric(
        name="explicitness",
        title="Explicitness",
        function=explicitness,
        source=sources.SEPARATION,
        score=explicitness_score,
        measures=(EXPLICITNESS,),
        invariant_to=AXES | {ROTATION},
        tolerance=0.01,
        cost=Cost.QUICK,
        summary="Can a line tell the values of each factor apart? Chance is 0.5.",
        reference="Ridgeway & Mozer (2018), arXiv:1802.05312",
    ),
    *DCI_ROWS,
    Metric(
        name="mcc",
        title="Mean correlation coefficient",
        function=mcc,
        source=sources.CORRELATION,
        score=mcc_score,
        measures=(COMPACTNESS, EXPLICITNESS),
        invariant_to=AXES,
        summary="Matched one to one, how well do codes and factors correlate?",
        reference="Hyvärinen & Morioka (2016), arXiv:1605.06336",
        misled_by_dependence=STANDS_IN,
    ),
    Metric(
        name="r2",
        title="Linear R²",
        function=r2,
        source=sources.REGRESSION,
        score=r2_score,
        measures=(EXPLICITNESS,),
        invariant_to=AXES | {ROTATION},
        tolerance=1e-4,
        summary="How much of the factors does a linear map of the codes explain?",
        reference="Khemakhem et al. (2020), arXiv:2002.11537",
    ),
    Metric(
        name="iwo",
        title="Importance-weighted orthogonality",
        function=iwo,
        source=sources.SUBSPACES,
        score=iwo_score,
        measures=(ORTHOGONALITY,),
        invariant_to=frozenset({PERMUTATION, ROTATION}),
        tolerance=0.02,
        min_factors=2,
        cost=Cost.SECONDS,
        summary="Do the factors live in orthogonal subspaces, aligned with the codes or not?",
        reference="Geyer et al. (2024), arXiv:2407.03728",
        misled_by_dependence=SHARED_AXES,
    ),
    Metric(
        name="iwr",
        title="Importance-weighted rank",
        function=iwr,
        source=sources.SUBSPACES,
        score=iwr_score,
        measures=(ORTHOGONALITY, COMPACTNESS),
        invariant_to=AXES | {ROTATION},
        tolerance=0.02,
        cost=Cost.SECONDS,
        summary="Does each factor need few axes of code space, whichever way they point?",
        reference="Geyer et al. (2024), arXiv:2407.03728",
        misled_by_dependence=SHARED_AXES,
    ),
    Metric(
        name="orthogonality",
        title="Overlap of subspaces",
        function=orthogonality,
        source=sources.SUBSPACES,
        score=orthogonality_score,
        measures=(ORTHOGONALITY,),
        higher_is_better=False,
        invariant_to=frozenset({PERMUTATION, ROTATION}),
        tolerance=0.03,
        min_factors=2,
        cost=Cost.SECONDS,
        summary="How much do the factors' subspaces overlap, every axis counted alike?",
        reference="Geyer et al. (2024), arXiv:2407.03728",
        misled_by_dependence=SHARED_AXES,
    ),
    *DEPENDENT_ROWS,
    *DCI_ES_ROWS,
    Metric(
        name="total_correlation",
        title="Gaussian total correlation",
        function=total_correlation,
        source=sources.COVARIANCE,
        score=total_correlation_score,
        measures=(INDEPENDENCE,),
        bounds=(0.0, math.inf),
        higher_is_better=False,
        invariant_to=AXES,
        min_factors=0,
        summary="How far are the codes from uncorrelated, in nats? No labels needed.",
        reference="Locatello et al. (2019), arXiv:1811.12359",
        misled_by_dependence=TIED_CODES,
    ),
    Metric(
        name="wasserstein_correlation",
        title="Gaussian Wasserstein correlation",
        function=wasserstein_correlation,
        source=sources.COVARIANCE,
        score=wasserstein_correlation_score,
        measures=(INDEPENDENCE,),
        bounds=(0.0, math.inf),
        higher_is_better=False,
        invariant_to=frozenset({PERMUTATION}),
        min_factors=0,
        summary="How far are the codes from uncorrelated, weighted by their variance? No labels needed.",
        reference="Locatello et al. (2019), arXiv:1811.12359",
        misled_by_dependence=TIED_CODES,
    ),
    Metric(
        name="code_mutual_information",
        title="Mutual information between codes",
        function=code_mutual_information,
        source=sources.CODE_INFORMATION,
        score=code_mutual_information_score,
        measures=(INDEPENDENCE,),
        bounds=(0.0, math.inf),
        higher_is_better=False,
        invariant_to=AXES,
        min_factors=0,
        summary="How much do codes tell about each other, in nats? No labels needed.",
        reference="Locatello et al. (2019), arXiv:1811.12359",
        misled_by_dependence=TIED_CODES,
    ),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}


#: A ceiling nearer to the best than this is not worth a word; one that a score has passed by this much does not hold.
WORTH_A_WORD, PASSED = 0.95, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The most that perfect codes would score.

    Attributes:
        value: For factors whose values are about equally common.
        why: The reason, in words that follow "because".
    """

    value: float
    why: str


def ceiling(name: str, value: float, setup: Setup) -> Ceiling | None:
    """Return how high a score can get while each factor has one code, or ``None`` where that is all the way.

    Args:
        name: Registry name of the score.
        value: What was scored; a value above the ceiling shows that factors have more than one code.
        setup: Of the report: kinds and values of the factors, options and rows.
    """
    rule = _RULES.get(name)
    if rule is None or not setup.factor_kinds:
        return None
    options, n_rows = setup.options.get(name, {}), setup.n_samples
    columns = zip(setup.factor_kinds, setup.factor_levels, strict=True)
    tops = [rule.of(kind, levels, options, n_rows) for kind, levels in columns]
    mean = sum(tops) / len(tops)
    return None if mean > WORTH_A_WORD or value > mean + PASSED else Ceiling(value=mean, why=rule.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    of: Callable[[str, int | None, Mapping[str, Any], int], float]
    why: str


def _sap(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """A second code that knows nothing still guesses one of the values right."""
    return 1 - 1 / levels if kind == "categorical" and levels else 1.0


def _r2(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """Indicators of n values span n - 1 directions, and one code is a single one of them."""
    return 1 / (levels - 1) if kind == "categorical" and levels and levels > 2 else 1.0


def _explicitness(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """Along a line, the i-th of n values can only be told from the larger of what lies before and behind it."""
    if kind == "circular" or options.get("classifier", "one_vs_rest") != "one_vs_rest":
        return 1.0
    n = levels or int(options.get("n_bins", 20))
    area = sum(max(i, n - 1 - i) for i in range(n)) / (n * (n - 1)) if n > 1 else 1.0
    return 2 * area - 1 if options.get("normalised") else area


def _mig(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """A code cut into b bins tells at most log b of the log n that a factor of n values has."""
    n_bins = int(options.get("n_bins", 20))
    if not levels or levels <= n_bins or options.get("normalise_by", "factor") != "factor":
        return 1.0
    return math.log(n_bins) / math.log(levels)


def _infoe(kind: str, levels: int | None, options: Mapping[str, Any], n_rows: int) -> float:
    """The probe's weights are held small, so that between neighbours on one code it never becomes quite sure."""
    return _most_predicted(kind == "circular", levels, n_rows) if levels and levels > 2 and n_rows else 1.0


@lru_cache(maxsize=64)
def _most_predicted(circular: bool, levels: int, n_rows: int) -> float:
    """Fit the probe of InfoE to perfect codes: rows for each value, weighted as its share of those fitted on."""
    from sklearn.linear_model import LogisticRegression

    places = np.repeat(np.arange(levels), 2)  # twice, as one row for each value would look like a regression
    angles = 2 * np.pi * places / levels
    codes = np.stack([np.cos(angles), np.sin(angles)], axis=1) if circular else places[:, None].astype(np.float64)
    codes = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    weights = np.full(len(places), (1 - TEST_SHARE) * n_rows / len(places))
    probe = LogisticRegression(max_iter=5000, tol=1e-3).fit(codes, places, sample_weight=weights)
    sure = probe.predict_log_proba(codes)[np.arange(len(places)), places]
    return float(1 + sure.mean() / math.log(levels))


_RULES = {
    "sap": _Rule(of=_sap, why="a code that knows nothing of a category still guesses some values right"),
    "r2": _Rule(of=_r2, why="one code is a single line through the several directions that a category has"),
    "explicitness": _Rule(of=_explicitness, why="no line singles out a value that lies between others on one code"),
    "mig": _Rule(of=_mig, why="a code is cut into fewer bins than a factor has values"),
    "infomec.explicitness": _Rule(of=_infoe, why="its probe never becomes quite sure of a value between others"),
}
