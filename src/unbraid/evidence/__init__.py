"""Evidence: what metrics are computed from, gathered once and shared between them."""
