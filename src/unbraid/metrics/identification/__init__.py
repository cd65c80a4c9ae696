"""Metrics of identifiability: codes matched with factors, or with the codes of other models."""
