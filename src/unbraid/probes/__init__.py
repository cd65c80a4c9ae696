"""Probes: models fitted to predict factors from codes.

``splits``: rows by purpose; ``linear``: least squares, ridge, Lasso, logistic regression, whitening; ``trees``: forests
and boosting; ``network``: batched networks; ``importance``, ``black_box`` and ``sage``: the codes that a probe uses;
``capacity``: ladders of probes.
"""
