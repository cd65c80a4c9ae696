"""Decoder Jacobians."""
