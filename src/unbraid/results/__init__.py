"""Results: scores, notes, findings, evidence and reports; nothing here knows the panel or HTML."""
