"""Comparison of representations: differences, tests and a verdict."""
