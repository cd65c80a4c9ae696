"""Single scores of small data beside plain NumPy that computes the same: milliseconds of one thread, and ratios.

    python benchmarks/overhead.py        # prints, and writes benchmarks/overhead.json

Ours are the functions of the metrics: arrays are checked and kinds of factors inferred in every call. The plain code
checks nothing, and takes the simplest way to the same number; where ours is cross-fitted and the usual plain code is
not, both kinds of plain code are timed. Times are the least of many calls, of the processor, so that other work on the
machine counts as little as possible; calls of both sides take turns.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.optimize
import scipy.stats

from measure import keep, machine, options, parse
from unbraid.metrics import METRICS
from unbraid.representation.representation import Representation

N_LEVELS, STRENGTH, N_FOLDS, TEST_SHARE = 10, 0.02, 3, 0.3


def draw(n_rows, n_codes, n_factors):
    """Codes of one factor each with noise, and codes of noise; factors of ten whole numbers."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, N_LEVELS, (n_rows, n_factors))
    codes = rng.standard_normal((n_rows, n_codes))
    codes[:, :n_factors] += (factors - factors.mean(axis=0)) / factors.std(axis=0)
    return codes, factors


def correlation(codes, factors):
    """Absolute correlation of every code with every factor."""
    return np.abs(np.corrcoef(codes.T, factors.T)[: codes.shape[1], codes.shape[1] :])


def matched(table):
    """Mean of the best one-to-one match."""
    return table[scipy.optimize.linear_sum_assignment(-table)].mean()


def plain_mcc(codes, factors):
    return matched(correlation(codes, factors))


def plain_spearman(codes, factors):
    table = scipy.stats.spearmanr(codes, factors)[0]
    return matched(np.abs(table[: codes.shape[1], codes.shape[1] :]))


def plain_sap(codes, factors):
    best = np.sort(correlation(codes, factors) ** 2, axis=0)
    return (best[-1] - best[-2]).mean()


def explained(codes, factors, train, test):
    """Share of the variance of the factors on test rows that a regression on training rows explains."""
    design = np.hstack([codes, np.ones((len(codes), 1))])
    weights = np.linalg.lstsq(design[train], factors[train], rcond=None)[0]
    wanted = factors[test]
    return 1 - ((wanted - design[test] @ weights) ** 2).sum(axis=0) / ((wanted - wanted.mean(axis=0)) ** 2).sum(axis=0)


def plain_r2(codes, factors):
    return explained(codes, factors, slice(None), slice(None)).mean()


def plain_cross_fitted_r2(codes, factors):
    """Folds of each factor of its own, values in proportion, as ours are."""
    rng, found = np.random.default_rng(0), []
    for k in range(factors.shape[1]):
        rows = rng.permutation(len(factors))
        fold = np.empty(len(rows), dtype=int)
        fold[rows[np.argsort(factors[rows, k], kind="stable")]] = np.arange(len(rows)) % N_FOLDS
        own = factors[:, k : k + 1]
        found.append(np.mean([explained(codes, own, fold != j, fold == j) for j in range(N_FOLDS)]))
    return np.mean(found)


def plain_lasso_dci(codes, factors):
    """DCI by scikit-learn's Lasso on standardised codes, tested on other rows, as published code has it."""
    from sklearn.linear_model import Lasso

    rng, importances, informativeness = np.random.default_rng(0), [], []
    for values in factors.T:
        rows = rng.permutation(len(codes))
        test, train = np.split(rows, [int(TEST_SHARE * len(rows))])
        centre, spread = codes[train].mean(axis=0), codes[train].std(axis=0)
        level, size = values[train].mean(), values[train].std()
        model = Lasso(alpha=STRENGTH).fit((codes[train] - centre) / spread, (values[train] - level) / size)
        importances.append(np.abs(model.coef_))
        informativeness.append(model.score((codes[test] - centre) / spread, (values[test] - level) / size))
    table = np.stack(importances, axis=1) / np.sum(importances, axis=1)
    by_code, by_factor = (table / np.maximum(table.sum(axis=axis, keepdims=True), 1e-12) for axis in (1, 0))
    weights = table.sum(axis=1) / table.sum()
    disentanglement = weights @ (1 - scipy.stats.entropy(by_code, axis=1, base=table.shape[1], nan_policy="omit"))
    return disentanglement, 1 - scipy.stats.entropy(by_factor, base=len(table)).mean(), np.mean(informativeness)


def plain_total_correlation(codes, factors):
    covariance = np.cov(codes.T)
    return 0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1])


def ours(name, **given):
    """Return a call of a metric's function on codes and factors."""
    return lambda codes, factors: METRICS[name].function(codes, factors, **given)


LINES = {
    "mcc": (ours("mcc"), plain_mcc),
    "mcc, Spearman": (ours("mcc", correlation="spearman"), plain_spearman),
    "sap by R²": (ours("sap"), plain_sap),
    "r2, plain code not cross-fitted": (ours("r2"), plain_r2),
    "r2, plain code cross-fitted": (ours("r2"), plain_cross_fitted_r2),
    "dci_linear by Lasso": (ours("dci_linear.disentanglement", strength=STRENGTH), plain_lasso_dci),
    "total_correlation": (
        lambda codes, factors: METRICS["total_correlation"].function(codes),
        plain_total_correlation,
    ),
    "checks of the input alone": (Representation, None),
}


def least_milliseconds(calls, arguments, repeats):
    """Least processor time of each call; calls take turns."""
    found = [float("inf")] * len(calls)
    for _ in range(repeats + 1):
        for place, call in enumerate(calls):
            started = time.process_time()
            call(*arguments)
            found[place] = min(found[place], 1e3 * (time.process_time() - started))
    return found


def main(arguments=None):
    """Measure and print."""
    parser = options(__doc__, __file__)
    parser.add_argument("--size", default="10000x10x5", help="rows, codes and factors")
    parser.add_argument("--repeats", type=int, default=40)
    given = parse(parser, __file__, arguments, size="300x4x2", repeats=1)
    data = draw(*(int(part) for part in given.size.split("x")))
    lines = []
    for name, calls in LINES.items():
        taken = least_milliseconds([call for call in calls if call is not None], data, given.repeats)
        line = {"score": name, "milliseconds": round(taken[0], 3)}
        text = f"{name:<34}{taken[0]:8.2f} ms"
        if len(taken) > 1:
            line |= {"plain_milliseconds": round(taken[1], 3), "ratio": round(taken[0] / taken[1], 2)}
            text += f"   plain {taken[1]:8.2f} ms   ratio {taken[0] / taken[1]:5.2f}"
        lines.append(line)
        print(text, flush=True)
    keep(given.output, {"machine": machine(), "size": given.size, "lines": lines})


if __name__ == "__main__":
    main()
