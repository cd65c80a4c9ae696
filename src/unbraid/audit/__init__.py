"""The audit: metrics tried on representations for which the right behaviour is known."""

from unbraid.audit.candidate import Candidate, load_plugin
from unbraid.audit.cases import CASES, Case
from unbraid.audit.result import Audit
from unbraid.audit.runner import run
from unbraid.audit.truth import Should
from unbraid.audit.verdicts import Finding, Verdict

__all__ = ["CASES", "Audit", "Candidate", "Case", "Finding", "Should", "Verdict", "load_plugin", "run"]
