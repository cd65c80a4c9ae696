"""Audit a metric of your own on representations whose right answers are known."""

import numpy as np

import unbraid


def best_correlation(codes, factors):
    """How well the best single code follows each factor, on average."""
    n_codes = codes.shape[1]
    table = np.abs(np.corrcoef(codes.T, factors.T))[:n_codes, n_codes:]
    return float(np.nan_to_num(table).max(axis=0).mean())


found = unbraid.audit.run(
    best_correlation, measures="compactness", cases="independent/rotated,independent/duplicated", n_seeds=2, n_rows=300
)
passed, judged = found.count("best_correlation")
print(f"passed {passed} of {judged} cases")
for finding in found.failures("best_correlation"):
    print(f"  {finding.case}: should {finding.should}")
