"""Seconds of scores beside the plain NumPy, SciPy and scikit-learn that neighbouring libraries compute them with.

    python benchmarks/neighbours.py               # prints, and writes benchmarks/neighbours.json; about a minute
    python benchmarks/neighbours.py --only mcc    # some rows, the others in the file kept

The plain forms are the algorithms of the libraries named, written out again, so that both sides run in one process on
the same arrays: processor seconds of the fastest of three calls each, of thirty where they are short. Ours are calls of
single metrics, without intervals and chance levels, on a Representation, whose arrays were checked when it was made, as
the panel makes it once for all metrics.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.feature_selection import mutual_info_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mutual_info_score, r2_score, roc_auc_score

import unbraid as ub
from measure import keep, machine, options, parse
from worlds import dsprites_like, ordinal

N_ROWS, N_WIDE, N_SQUARE = 10_000, 512, 2_000
REPEATS, N_FOLDS = 3, 5
#: Calls are repeated more often until they have taken this many seconds together.
SHORT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One score: our call, the plain form, the library that computes it so, inputs, and our inputs made of them."""

    ours: Callable[..., Any]
    plain: Callable[..., Any]
    library: str
    inputs: Callable[[int], tuple[np.ndarray, ...]]
    checked: Callable[..., tuple[Any, ...]] = lambda *arrays: (ub.Representation(*arrays),)


def nearest_neighbour_information(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Mutual information of every code and factor by nearest neighbours, one call for each factor."""
    return np.stack([mutual_info_regression(codes, v, n_neighbors=3, random_state=0) for v in factors.T], axis=1)


def binned_information(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Mutual information of every code and factor in twenty bins, one call for each pair."""
    bins = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    return np.array([[mutual_info_score(v, z) for v in factors.T] for z in bins])


def one_code_regressions(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """R² of one regression for each code and factor, on 30 % of the rows."""
    cut = int(0.7 * len(codes))
    scores = np.empty((codes.shape[1], factors.shape[1]))
    for j, z in enumerate(codes.T):
        for k, v in enumerate(factors.T):
            model = LinearRegression().fit(z[:cut, None], v[:cut])
            scores[j, k] = r2_score(v[cut:], model.predict(z[cut:, None]))
    return scores


def gaussian_total_correlation(codes: np.ndarray) -> float:
    """Variances against the determinant of the covariance."""
    return float(0.5 * np.log(np.prod(np.var(codes, axis=0)) / np.linalg.det(np.cov(codes.T))))


def matched_correlations(codes: np.ndarray, factors: np.ndarray) -> float:
    """Correlation matrix of all columns, and an assignment."""
    size = np.abs(np.corrcoef(codes.T, factors.T)[: codes.shape[1], codes.shape[1] :])
    return float(size[linear_sum_assignment(-size)].mean())


def cross_fitted_correlations(codes: np.ndarray, factors: np.ndarray) -> float:
    """Assignment and signs from all folds but one, correlations of that one."""
    folds = np.array_split(np.random.default_rng(0).permutation(len(codes)), N_FOLDS)
    scores = []
    for test in folds:
        train = np.setdiff1d(np.arange(len(codes)), test)
        found = [np.corrcoef(codes[r].T, factors[r].T)[: codes.shape[1], codes.shape[1] :] for r in (train, test)]
        places = linear_sum_assignment(-np.abs(found[0]))
        scores.append(np.mean(np.sign(found[0][places]) * found[1][places]))
    return float(np.mean(scores))


def rank_correlations(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Spearman correlation of every code with every class, one call for each pair."""
    return np.array([[spearmanr(z, classes == value).statistic for value in np.unique(classes)] for z in codes.T])


def areas(codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of every code for every threshold of a factor, on the training rows of five folds."""
    folds = np.array_split(np.random.default_rng(0).permutation(len(codes)), N_FOLDS)
    found = []
    for test in folds:
        rows = np.setdiff1d(np.arange(len(codes)), test)
        concepts = [v[rows] >= value for v in factors.T for value in np.unique(v)[1:]]
        found.append([[roc_auc_score(concept, z) for concept in concepts] for z in codes[rows].T])
    return np.array(found)


def probes(codes: np.ndarray, factors: np.ndarray) -> list[float]:
    """One logistic regression of the five best codes, by the difference of means, for every fold and threshold."""
    folds = np.array_split(np.random.default_rng(0).permutation(len(codes)), N_FOLDS)
    found = []
    for test in folds:
        train = np.setdiff1d(np.arange(len(codes)), test)
        for concept in (v >= value for v in factors.T for value in np.unique(v)[1:]):
            inside = concept[train]
            lead = codes[train][inside].mean(axis=0) - codes[train][~inside].mean(axis=0)
            for k in (1, 2, 5):
                best = np.argsort(-np.abs(lead))[:k]
                model = LogisticRegression(max_iter=1000).fit(codes[np.ix_(train, best)], inside)
                found.append(roc_auc_score(concept[test], model.decision_function(codes[np.ix_(test, best)])))
    return found


def largest_variance_votes(codes: np.ndarray, factors: np.ndarray) -> float:
    """Groups of 200 rows that agree in all factors but one, found anew for each vote."""
    rng, n_factors, scale = np.random.default_rng(0), factors.shape[1], codes.var(axis=0)
    votes = np.empty((1600, 2), dtype=int)
    for vote in range(1600):
        k = rng.integers(n_factors)
        others = np.delete(factors, k, axis=1)
        rows = np.flatnonzero((others == others[rng.integers(len(factors))]).all(axis=1))
        votes[vote] = np.argmax(codes[rng.choice(rows, 200)].var(axis=0) / scale), k
    table = np.zeros((codes.shape[1], n_factors))
    np.add.at(table, tuple(votes[:800].T), 1)
    return float((table.argmax(axis=1)[votes[800:, 0]] == votes[800:, 1]).mean())


def singular_entropy(codes: np.ndarray) -> float:
    """Exponential of the entropy of the singular values, from a singular value decomposition."""
    share = np.linalg.svd(codes, compute_uv=False)
    share = share / share.sum() + 1e-7
    return float(np.exp(-(share * np.log(share)).sum()))


def gram_alignment(a: np.ndarray, b: np.ndarray) -> float:
    """Unbiased CKA from Gram matrices of all pairs of rows."""

    def centred(codes: np.ndarray) -> np.ndarray:
        gram = codes @ codes.T
        np.fill_diagonal(gram, 0.0)
        mean = gram.sum(axis=0) / (len(gram) - 2)
        mean -= mean.sum() / (2 * (len(gram) - 1))
        gram -= mean[:, None] + mean
        np.fill_diagonal(gram, 0.0)
        return gram

    k, m = centred(a), centred(b)
    return float((k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum()))


def labelled(n_rows: int) -> tuple[np.ndarray, ...]:
    return dsprites_like(n_rows)


def codes_only(n_rows: int) -> tuple[np.ndarray, ...]:
    return dsprites_like(n_rows)[:1]


def few_values(n_rows: int) -> tuple[np.ndarray, ...]:
    return ordinal(n_rows, 0)


def classes(n_rows: int) -> tuple[np.ndarray, ...]:
    codes, factors = dsprites_like(n_rows)
    return codes, factors[:, 2].astype(str)


def wide(n_rows: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n_rows, N_WIDE)) * np.arange(1, N_WIDE + 1) ** -0.5,)


def two_wide(n_rows: int) -> tuple[np.ndarray, ...]:
    [a] = wide(min(n_rows, N_SQUARE))
    return a, np.tanh(a) + 0.1


ALONE = {"interval": False, "chance": False}
PAIRS = {
    "med": Pair(
        ours=ub.metrics.med,
        plain=nearest_neighbour_information,
        library="latentverse, which calls it DCI, by nearest neighbours",
        inputs=labelled,
    ),
    "med, the same bins": Pair(
        ours=lambda rep: ub.metrics.med(rep, binning="uniform"),
        plain=binned_information,
        library="disentanglement_lib_med",
        inputs=labelled,
    ),
    "sap": Pair(ours=ub.metrics.sap, plain=one_code_regressions, library="latentverse", inputs=labelled),
    "total_correlation": Pair(
        ours=ub.metrics.total_correlation, plain=gaussian_total_correlation, library="latentverse", inputs=codes_only
    ),
    "mcc": Pair(ours=ub.metrics.mcc, plain=matched_correlations, library="identifiability-guard", inputs=labelled),
    "mcc(cross_fit=True)": Pair(
        ours=lambda rep: ub.metrics.mcc(rep, cross_fit=True),
        plain=cross_fitted_correlations,
        library="identifiability-guard",
        inputs=labelled,
    ),
    "one_vs_rest(by='spearman')": Pair(
        ours=lambda rep: ub.metrics.one_vs_rest(rep, by="spearman"),
        plain=rank_correlations,
        library="drvi-py",
        inputs=classes,
    ),
    "best_single": Pair(
        ours=ub.metrics.best_single, plain=areas, library="scikit-learn, code by code", inputs=few_values
    ),
    "sparse_probe": Pair(
        ours=ub.metrics.sparse_probe, plain=probes, library="SAEBench, probe by probe", inputs=few_values
    ),
    "z_max_var": Pair(
        ours=ub.metrics.z_max_var, plain=largest_variance_votes, library="Zaidi et al.", inputs=few_values
    ),
    "rankme": Pair(ours=ub.metrics.rankme, plain=singular_entropy, library="embedding-quality, reptrix", inputs=wide),
    "cka": Pair(
        ours=lambda a, b: ub.similarity.cka(a, b, **ALONE),
        plain=gram_alignment,
        library="thingsvision",
        inputs=two_wide,
        checked=lambda *arrays: arrays,
    ),
}


def fastest(work: Callable[..., Any], make: Callable[[], tuple[Any, ...]], repeats: int) -> float:
    """Processor seconds of the fastest of some calls on fresh inputs; other work on the machine hardly changes them."""
    seconds: list[float] = []
    while len(seconds) < repeats or (repeats > 1 and sum(seconds) < SHORT and len(seconds) < 10 * repeats):
        inputs = make()
        begun = process_time()
        work(*inputs)
        seconds.append(process_time() - begun)
    return min(seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--only", default="", help="names of rows, with commas between them")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    given = parse(parser, __file__, arguments, only="mcc,med", rows=200)
    chosen = [name for name in PAIRS if not given.only or name in given.only.split(",")]
    found = {}
    print(f"{'':30s}{'unbraid':>10s}{'plain':>10s}{'ratio':>8s}")
    for name in chosen:
        pair = PAIRS[name]
        inputs = pair.inputs(given.rows)
        repeats = 1 if given.tiny else REPEATS
        ours = fastest(pair.ours, partial(pair.checked, *inputs), repeats)
        plain = fastest(pair.plain, partial(pair.inputs, given.rows), repeats)
        shape = " x ".join(str(size) for size in inputs[0].shape)
        found[name] = {"ours": ours, "plain": plain, "library": pair.library, "shape": shape}
        print(f"{name:30s}{ours:9.4f}s{plain:9.4f}s{plain / ours:7.1f}x  {shape}, {pair.library}", flush=True)
    keep(given.output, {"machine": machine()} | found, beside_others=bool(given.only))


if __name__ == "__main__":
    main()
