"""Interpretation: from results to findings, verdicts and sentences, without HTML."""
