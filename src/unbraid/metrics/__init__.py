"""Metrics: arrays in, a :class:`~unbraid.Score` out; of a family such as ``dci_linear``, a named tuple of them."""

from unbraid.metrics._catalogue import METRICS
from unbraid.metrics._dci import (
    DCI,
    completeness,
    dci_boosting,
    dci_forest,
    dci_linear,
    disentanglement,
    informativeness,
)
from unbraid.metrics._dci_es import (
    DCIES,
    area_under_curve,
    dci_es,
    explicitness_of_curve,
    loss_capacity,
    task_explicitness,
)
from unbraid.metrics._dependent import Dependent, dependent
from unbraid.metrics._explicitness import explicitness
from unbraid.metrics._identifiability import Identifiability, Identified, identifiability
from unbraid.metrics._infomec import InfoMEC, infomec
from unbraid.metrics._information_bottleneck import information_minimality, information_sufficiency
from unbraid.metrics._information_gaps import dcimig, jemmig, mig, mig_sup, modularity
from unbraid.metrics._interventions import z1, z2, z_diff, z_min_var
from unbraid.metrics._irs import irs
from unbraid.metrics._label_free import code_mutual_information, total_correlation, wasserstein_correlation
from unbraid.metrics._mcc import mcc
from unbraid.metrics._metric import CeilingRule, Cost, Invariance, KnownFailure, Metric, Property, Source, Trait
from unbraid.metrics._orthogonality import iwo, iwr, orthogonality
from unbraid.metrics._r2 import r2
from unbraid.metrics._sap import sap
from unbraid.metrics._udr import UDR, udr

__all__ = [
    "DCI",
    "DCIES",
    "METRICS",
    "UDR",
    "CeilingRule",
    "Cost",
    "Dependent",
    "Identifiability",
    "Identified",
    "InfoMEC",
    "Invariance",
    "KnownFailure",
    "Metric",
    "Property",
    "Source",
    "Trait",
    "area_under_curve",
    "code_mutual_information",
    "completeness",
    "dci_boosting",
    "dci_es",
    "dci_forest",
    "dci_linear",
    "dcimig",
    "dependent",
    "disentanglement",
    "explicitness",
    "explicitness_of_curve",
    "identifiability",
    "infomec",
    "information_minimality",
    "information_sufficiency",
    "informativeness",
    "irs",
    "iwo",
    "iwr",
    "jemmig",
    "loss_capacity",
    "mcc",
    "mig",
    "mig_sup",
    "modularity",
    "orthogonality",
    "r2",
    "sap",
    "task_explicitness",
    "total_correlation",
    "udr",
    "wasserstein_correlation",
    "z1",
    "z2",
    "z_diff",
    "z_min_var",
]
