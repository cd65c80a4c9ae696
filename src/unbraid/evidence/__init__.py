"""The expensive part: what metrics are computed from, had once and shared."""
