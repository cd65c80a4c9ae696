"""Metrics that hold one factor fixed, or vary it alone."""
