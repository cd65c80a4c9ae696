"""Rows of the families that have several scores from one fit: DCI by probe, DCI-ES, dependent factors."""

import math
from typing import Any

from unbraid.metrics import _sources as sources
from unbraid.metrics._dci import (
    completeness,
    dci_boosting,
    dci_forest,
    dci_linear,
    disentanglement,
    informativeness,
)
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
from unbraid.metrics._metric import Cost, Invariance, Metric, Property, Source
from unbraid.metrics._row_words import AXES, COMPACTNESS, DIVIDED, EXPLICITNESS, MODULARITY, ROTATION, WARPING


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
