"""Metrics: arrays in, a :class:`~unbraid.Score` out; of a family such as ``dci_linear``, a named tuple of them."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import public_names

# One statement for each file of metrics, in the order of every listing: the public names of the file, and by the order
# of the files the place of their rows in METRICS. No other place names the file.
# isort: off
from unbraid.metrics.interventions.z_scores import z1 as z1, z2 as z2, z_diff as z_diff, z_min_var as z_min_var
from unbraid.metrics.interventions.z_max_var import z_max_var as z_max_var
from unbraid.metrics.interventions.irs import irs as irs, irs_of as irs_of
from unbraid.metrics.interventions.omes import omes as omes
from unbraid.metrics.information.gaps import (
    mig as mig,
    mig_sup as mig_sup,
    dcimig as dcimig,
    jemmig as jemmig,
    modularity as modularity,
)
from unbraid.metrics.information.unified import unified_scores as unified_scores
from unbraid.metrics.information.med import med as med
from unbraid.metrics.information.one_vs_rest import one_vs_rest as one_vs_rest
from unbraid.metrics.information.infomec import InfoMEC as InfoMEC, infomec as infomec
from unbraid.metrics.information.unibound import unibound as unibound
from unbraid.metrics.prediction.sap import sap as sap
from unbraid.metrics.prediction.explicitness import explicitness as explicitness
from unbraid.metrics.prediction.dci import (
    DCI as DCI,
    dci_linear as dci_linear,
    dci_forest as dci_forest,
    dci_boosting as dci_boosting,
    disentanglement as disentanglement,
    completeness as completeness,
    informativeness as informativeness,
)
from unbraid.metrics.prediction.sparse import best_single as best_single, sparse_probe as sparse_probe
from unbraid.metrics.prediction.absorption import absorption as absorption
from unbraid.metrics.identification.mcc import mcc as mcc
from unbraid.metrics.identification.amari import amari as amari, amari_distance as amari_distance
from unbraid.metrics.identification.t_mex import t_mex as t_mex
from unbraid.metrics.prediction.r2 import r2 as r2
from unbraid.metrics.prediction.blocks import (
    blocks as blocks,
    block_leakage as block_leakage,
    block_identifiability as block_identifiability,
)
from unbraid.metrics.geometry.orthogonality import iwo as iwo, iwr as iwr, orthogonality as orthogonality
from unbraid.metrics.geometry.flatness import (
    Distances as Distances,
    Linearity as Linearity,
    distances as distances,
    flatness as flatness,
    linearity as linearity,
)
from unbraid.metrics.geometry.d_lsbd import d_lsbd as d_lsbd
from unbraid.metrics.prediction.dependent import Dependent as Dependent, dependent as dependent
from unbraid.metrics.prediction.fairness import Fairness as Fairness, fairness as fairness
from unbraid.metrics.identification.udr import UDR as UDR, udr as udr
from unbraid.metrics.prediction.dci_es import (
    DCIES as DCIES,
    dci_es as dci_es,
    area_under_curve as area_under_curve,
    explicitness_of_curve as explicitness_of_curve,
    loss_capacity as loss_capacity,
    task_explicitness as task_explicitness,
)
from unbraid.metrics.prediction.shared_axis import shared_explicitness as shared_explicitness
from unbraid.metrics.identification.identifiability import (
    Identifiability as Identifiability,
    Identified as Identified,
    identifiability as identifiability,
)
from unbraid.metrics.label_free.codes import (
    code_mutual_information as code_mutual_information,
    total_correlation as total_correlation,
    wasserstein_correlation as wasserstein_correlation,
)
from unbraid.metrics.label_free.spectrum import (
    alpha_req as alpha_req,
    effective_rank as effective_rank,
    participation_ratio as participation_ratio,
    rankme as rankme,
    stable_rank as stable_rank,
)
from unbraid.metrics.information.bottleneck import (
    information_minimality as information_minimality,
    information_sufficiency as information_sufficiency,
)
from unbraid.metrics.geometry.controllability import (
    Controllability as Controllability,
    controllability as controllability,
)
from unbraid.metrics.information.posteriors import SEPIN as SEPIN, rmig as rmig, sepin as sepin

# isort: on
from unbraid.metrics.table.catalogue import METRICS as METRICS
from unbraid.metrics.table.metric import CeilingRule as CeilingRule
from unbraid.metrics.table.metric import Cost as Cost
from unbraid.metrics.table.metric import Invariance as Invariance
from unbraid.metrics.table.metric import KnownFailure as KnownFailure
from unbraid.metrics.table.metric import Metric as Metric
from unbraid.metrics.table.metric import Preset as Preset
from unbraid.metrics.table.metric import Property as Property
from unbraid.metrics.table.metric import Source as Source
from unbraid.metrics.table.metric import Trait as Trait

if not TYPE_CHECKING:  # a type checker reads the imports above, and is told of no other name
    __getattr__, __dir__, __all__ = public_names(__name__)
