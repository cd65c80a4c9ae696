"""Metrics of directions and subspaces of the codes."""
