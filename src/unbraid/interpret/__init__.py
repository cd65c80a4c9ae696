"""From results to findings and sentences; no HTML."""
