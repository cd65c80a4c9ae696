"""Metrics of predictors fitted from codes to factors."""
