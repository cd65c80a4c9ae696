"""The audit: try metrics on representations with known answers, and say which notices what."""

from unbraid._base.user_code import load_plugin
from unbraid.audit.candidate import Candidate
from unbraid.audit.cases import CASES, Case
from unbraid.audit.result import Audit
from unbraid.audit.runner import run
from unbraid.audit.truth import Should
from unbraid.audit.verdicts import Finding, Verdict

__all__ = ["CASES", "Audit", "Candidate", "Case", "Finding", "Should", "Verdict", "load_plugin", "run"]
