"""Experiments with models that read labels: DIVA, VFAE and DC-IGN."""
