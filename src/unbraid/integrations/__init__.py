"""Bridges to scikit-learn, Lightning and experiment trackers, each imported on its own."""
