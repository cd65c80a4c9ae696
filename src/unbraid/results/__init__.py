"""Results: scores, notes, findings, evidence and reports; independent of the panel and of HTML."""
