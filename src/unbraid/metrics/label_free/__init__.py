"""Metrics of codes alone, without factors."""
