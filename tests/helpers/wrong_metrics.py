"""Metrics that are wrong on purpose, each in one way, and one that is right."""

import numpy as np


def constant(codes, factors):
    return 0.7


def first_column(codes, factors):
    """Reads the order of the columns: how well each code goes with the factor of the same place."""
    n = min(codes.shape[1], factors.shape[1])
    return float(np.mean([_correlation(codes[:, k], factors[:, k]) for k in range(n)]))


def best_column(codes, factors):
    """Ignores every code but the best one for each factor, so that a duplicate costs nothing."""
    table = [[_correlation(code, factor) for code in codes.T] for factor in factors.T]
    return float(np.max(table, axis=1).mean())


def gap(codes, factors):
    """Right about compactness of straight codes: the best code less the second best."""
    table = np.sort([[_correlation(code, factor) for code in codes.T] for factor in factors.T], axis=1)
    return float((table[:, -1] - table[:, -2]).mean())


def leftover(codes, factors):
    """Lower is better, without an upper end: the information that a straight line misses, in nats."""
    codes = codes[:, codes.std(axis=0) > 0]
    design = np.column_stack([np.ones(len(codes)), codes])
    fitted = design @ np.linalg.lstsq(design, factors, rcond=None)[0]
    missed = ((factors - fitted) ** 2).mean(axis=0) / factors.var(axis=0)
    return float(-np.log1p(-np.minimum(missed, 0.999)).mean())


def fragile(codes, factors):
    """Right, but not made for a code that never changes."""
    if (codes.std(axis=0) == 0).any():
        raise ZeroDivisionError("a code never changes")
    return gap(codes, factors)


def _correlation(code, factor):
    spread = code.std() * factor.std()
    return abs(np.mean((code - code.mean()) * (factor - factor.mean()))) / spread if spread > 0 else 0.0
