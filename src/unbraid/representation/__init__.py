"""Representation, Factor, load, save."""
