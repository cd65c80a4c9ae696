"""Measure learned representations: how separated, compact and explicit the factors are in a model's codes."""

from typing import TYPE_CHECKING

from unbraid._version import __version__ as __version__

if TYPE_CHECKING:
    from unbraid import audit as audit
    from unbraid import data as data
    from unbraid import manifold as manifold
    from unbraid import metrics as metrics
    from unbraid import models as models
    from unbraid import similarity as similarity
    from unbraid.comparison.differences import Difference as Difference
    from unbraid.comparison.result import Comparison as Comparison
    from unbraid.comparison.result import compare as compare
    from unbraid.explorer.server import explore as explore
    from unbraid.metrics import METRICS as METRICS
    from unbraid.metrics.table.listing import list_metrics as list_metrics
    from unbraid.models import encode as encode
    from unbraid.panel.evaluation import evaluate as evaluate
    from unbraid.panel.saved import read_reports as read_reports
    from unbraid.representation.factor import Factor as Factor
    from unbraid.representation.factor import FactorKind as FactorKind
    from unbraid.representation.factor import make_factor as make_factor
    from unbraid.representation.files import load as load
    from unbraid.representation.files import save as save
    from unbraid.representation.representation import Representation as Representation
    from unbraid.results.finding import Finding as Finding
    from unbraid.results.finding import FindingKind as FindingKind
    from unbraid.results.report import Report as Report
    from unbraid.results.score import Score as Score
else:
    from unbraid._base.lazy import public_names

    __getattr__, __dir__, __all__ = public_names(__name__)
