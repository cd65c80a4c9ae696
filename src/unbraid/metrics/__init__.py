"""Metrics: arrays in, a :class:`~unbraid.Score` out; of a family such as ``dci_linear``, a named tuple of them."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import public_names

# One statement for each file of metrics, in the order of every listing: the public names of the file, and by the order
# of the files the place of their rows in METRICS. No other place names the file.
# isort: off
from unbraid.metrics._interventions import z1 as z1, z2 as z2, z_diff as z_diff, z_min_var as z_min_var
from unbraid.metrics._irs import irs as irs
from unbraid.metrics._information_gaps import (
    mig as mig,
    mig_sup as mig_sup,
    dcimig as dcimig,
    jemmig as jemmig,
    modularity as modularity,
)
from unbraid.metrics._infomec import InfoMEC as InfoMEC, infomec as infomec
from unbraid.metrics._sap import sap as sap
from unbraid.metrics._explicitness import explicitness as explicitness
from unbraid.metrics._dci import (
    DCI as DCI,
    dci_linear as dci_linear,
    dci_forest as dci_forest,
    dci_boosting as dci_boosting,
    disentanglement as disentanglement,
    completeness as completeness,
    informativeness as informativeness,
)
from unbraid.metrics._mcc import mcc as mcc
from unbraid.metrics._r2 import r2 as r2
from unbraid.metrics._orthogonality import iwo as iwo, iwr as iwr, orthogonality as orthogonality
from unbraid.metrics._dependent import Dependent as Dependent, dependent as dependent
from unbraid.metrics._udr import UDR as UDR, udr as udr
from unbraid.metrics._dci_es import (
    DCIES as DCIES,
    dci_es as dci_es,
    area_under_curve as area_under_curve,
    explicitness_of_curve as explicitness_of_curve,
    loss_capacity as loss_capacity,
    task_explicitness as task_explicitness,
)
from unbraid.metrics._identifiability import (
    Identifiability as Identifiability,
    Identified as Identified,
    identifiability as identifiability,
)
from unbraid.metrics._label_free import (
    code_mutual_information as code_mutual_information,
    total_correlation as total_correlation,
    wasserstein_correlation as wasserstein_correlation,
)
from unbraid.metrics._information_bottleneck import (
    information_minimality as information_minimality,
    information_sufficiency as information_sufficiency,
)

# isort: on
from unbraid.metrics._catalogue import METRICS as METRICS
from unbraid.metrics._metric import CeilingRule as CeilingRule
from unbraid.metrics._metric import Cost as Cost
from unbraid.metrics._metric import Invariance as Invariance
from unbraid.metrics._metric import KnownFailure as KnownFailure
from unbraid.metrics._metric import Metric as Metric
from unbraid.metrics._metric import Property as Property
from unbraid.metrics._metric import Source as Source
from unbraid.metrics._metric import Trait as Trait

if not TYPE_CHECKING:  # a type checker reads the imports above, and is told of no other name
    __getattr__, __dir__, __all__ = public_names(__name__)
