"""The audit: try metrics on representations with known answers, and say which notices what."""

from unbraid.audit._candidate import Candidate
from unbraid.audit._cases import CASES, Case
from unbraid.audit._judge import Finding, Verdict
from unbraid.audit._plugin import load_plugin
from unbraid.audit._result import Audit
from unbraid.audit._run import run
from unbraid.audit._truth import Should

__all__ = ["CASES", "Audit", "Candidate", "Case", "Finding", "Should", "Verdict", "load_plugin", "run"]
