"""The audit: metrics tried on representations for which the right behaviour is known."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import public_names
from unbraid.audit.candidate import Candidate, load_plugin
from unbraid.audit.cases import CASES, Case
from unbraid.audit.reliability import reliability
from unbraid.audit.result import Audit
from unbraid.audit.runner import run
from unbraid.audit.truth import Should
from unbraid.audit.verdicts import CaseFinding, CaseVerdict

__all__ = [
    "CASES",
    "Audit",
    "Candidate",
    "Case",
    "CaseFinding",
    "CaseVerdict",
    "Should",
    "load_plugin",
    "reliability",
    "run",
]

if not TYPE_CHECKING:
    __getattr__, _, _ = public_names(__name__, renamed={"Finding": "CaseFinding", "Verdict": "CaseVerdict"})
