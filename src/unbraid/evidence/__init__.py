"""Evidence: the arrays that metrics are computed from, gathered once and shared between metrics."""
