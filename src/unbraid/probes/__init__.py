"""Everything that is fitted to predict a factor from codes.

``splits``: rows by purpose; ``linear``: least squares, ridge, Lasso, logistic regression, whitening; ``trees``: forests
and boosting; ``network``: batched networks; ``importance``, ``black_box`` and ``sage``: how much a probe uses each code;
``capacity``: ladders of probes.
"""
