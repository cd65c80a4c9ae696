"""Comparing representations."""
