"""The table of metrics: one row each, read by the panel, the command line, the report, the docs and the tests."""

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
from unbraid.metrics._dcimig import dcimig, dcimig_score
from unbraid.metrics._explicitness import explicitness, explicitness_score
from unbraid.metrics._infomec import infoc_score, infoe_score, infom_score, infomec
from unbraid.metrics._irs import irs, irs_score
from unbraid.metrics._jemmig import jemmig, jemmig_score
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
from unbraid.metrics._mig import mig, mig_score
from unbraid.metrics._mig_sup import mig_sup, mig_sup_score
from unbraid.metrics._modularity import modularity, modularity_score
from unbraid.metrics._r2 import r2, r2_score
from unbraid.metrics._sap import sap, sap_score
from unbraid.metrics._z_diff import z_diff, z_diff_score
from unbraid.metrics._z_min_var import z_min_var, z_min_var_score
from unbraid.metrics._z_scores import z1, z1_score, z2, z2_score

MODULARITY, COMPACTNESS, EXPLICITNESS, INDEPENDENCE = Property
PERMUTATION, SCALING, WARPING, ROTATION = Invariance
AXES = frozenset({PERMUTATION, SCALING})


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


_ROWS = [
    Metric(
        name="z_diff",
        title="Z-diff (beta-VAE metric)",
        function=z_diff,
        source=sources.DIFFERENCES,
        score=z_diff_score,
        measures=(MODULARITY,),
        invariant_to=AXES,
        tolerance=0.02,
        min_factors=2,
        cost=Cost.QUICK,
        summary="Can a line tell which factor two observations share?",
        reference="Higgins et al. (2017), openreview Sy2fzU9gl",
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
    *_dci("dci_linear", dci_linear, sources.LINEAR, "linear", invariant_to=AXES, tolerance=1e-6, cost=Cost.QUICK),
    *_dci("dci_forest", dci_forest, sources.FOREST, "forest", invariant_to=AXES, tolerance=0.03, cost=Cost.SECONDS),
    *_dci(
        "dci_boosting", dci_boosting, sources.BOOSTING, "boosting", invariant_to=AXES, tolerance=0.03, cost=Cost.SECONDS
    ),
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
    ),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}
