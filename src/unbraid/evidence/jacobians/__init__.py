"""Jacobians of decoders, and their statistics over samples.

``sources``: Jacobians as given or of a decoder, chunk by chunk; ``decoder``: a checked torch decoder; ``autodiff``: its
derivatives; ``priors``: latents to measure at; ``budget``: memory; ``gram`` and ``statistics``: running sums.
"""
