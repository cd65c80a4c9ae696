"""Factor subspaces."""
