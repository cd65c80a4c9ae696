"""Scores that are called by a function of their own, or with an option, on draws of the worlds of :mod:`worlds`.

A case takes codes and factors, and makes of them what its function needs: a second representation of the same rows,
posteriors, concepts, or a decoder.
"""

from collections.abc import Callable

import numpy as np

import unbraid as ub
from unbraid import similarity
from unbraid.metrics import absorption, controllability, rmig, sepin
from unbraid.results.score import Score

Case = Callable[[np.ndarray, np.ndarray, int], dict[str, Score]]


#: Codes that are turned among each other; turning thousands would take longer than what is timed.
TURNED_TOGETHER = 256


def second(codes: np.ndarray, seed: int) -> np.ndarray:
    """Another representation of the same rows: codes turned and bent by one map for all draws, beside noise."""
    parts = np.split(codes, range(TURNED_TOGETHER, codes.shape[1], TURNED_TOGETHER), axis=1)
    turns = [np.linalg.qr(np.random.default_rng(11).normal(size=(part.shape[1],) * 2))[0] for part in parts]
    turned = np.concatenate([part @ turn for part, turn in zip(parts, turns, strict=True)], axis=1)
    return np.tanh(2 * turned) + 0.5 * np.random.default_rng([seed, 2]).normal(size=codes.shape)


def concepts(factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A concept that holds for the upper half of the first factor, and one that holds in half of its rows."""
    parent = factors[:, 0] > np.median(factors[:, 0])
    return parent, parent & (factors[:, 1] > np.median(factors[:, 1]))


def variances(codes: np.ndarray) -> np.ndarray:
    """Variances of posteriors: wide where the code is far from 0."""
    return 0.05 + 0.1 * codes**2


def attribute(codes: np.ndarray) -> np.ndarray:
    """An attribute of what is decoded: it rises with the first code, and wavers by the second."""
    return codes[:, 0] + 0.8 * np.sin(3 * codes[:, 0] + codes[:, 1])


def _similarity(name: str, **options: object) -> Case:
    measure = getattr(similarity, name)

    def run(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
        return {f"similarity.{name}": measure(codes, second(codes, seed), rng=seed, **options)}

    return run


def _matched(name: str, **options: object) -> Case:
    def run(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
        report = ub.evaluate(
            codes,
            factors,
            metrics=["mcc"],
            options={"mcc": options},
            seed=seed,
            nulls=False,
            n_jobs=1,
            progress=False,
        )
        return {name: report.scores["mcc"]}

    return run


def _absorption(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
    return {"absorption": absorption(codes, *concepts(factors), rng=seed)}


def _rmig(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
    return {"rmig": rmig(codes, factors, code_variances=variances(codes))}


def _sepin(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
    found = sepin(codes, code_variances=variances(codes), rng=seed)
    return {"sepin.wsepin": found.wsepin, "sepin.windin": found.windin}


def _controllability(codes: np.ndarray, factors: np.ndarray, seed: int) -> dict[str, Score]:
    found = controllability(attribute, codes, code=0, rng=seed)
    return {"controllability.smoothness": found.smoothness, "controllability.monotonicity": found.monotonicity}


#: Function and option, as calibration.py and scaling.py take them in place of the name of a metric.
BESIDE: dict[str, Case] = {
    "similarity.cka": _similarity("cka"),
    "similarity.procrustes": _similarity("procrustes"),
    "similarity.cca": _similarity("cca"),
    "similarity.rsa": _similarity("rsa"),
    "similarity.dictionaries": _similarity("dictionaries"),
    "mcc(cross_fit)": _matched("mcc(cross_fit)", cross_fit=True),
    "mcc(rdc)": _matched("mcc(rdc)", correlation="rdc"),
    "absorption": _absorption,
    "rmig": _rmig,
    "sepin": _sepin,
    "controllability": _controllability,
}

#: Scores that calibration.py does not draw, and functions that scaling.py does not time, each with the reason.
NOT_DRAWN = {
    "dependent.modularity": "forests of all codes and factors: an hour of a core for 100 draws",
    "dependent.compactness": "the same",
    "dependent.explicitness": "the same",
    "dependent.minimality": "the same",
    "dependent.sufficiency": "the same",
    "dci_es.disentanglement": "ladders of probes: an hour of a core for 100 draws",
    "dci_es.completeness": "the same",
    "dci_es.informativeness": "the same",
    "dci_es.explicitness": "the same",
    "dci_es.size": "the numbers of codes and factors, exact on any number of rows",
    "amari_distance": "of a matrix that is given, not estimated",
    "unified_scores": "a table of combinations of scores that are drawn, without intervals",
    "irs_of": "`irs` of groups of codes, which is drawn",
    "udr": "of several models, not of one draw of rows",
    "task_explicitness": "ladders of probes, as `dci_es`",
    "loss_capacity": "a curve, not a score",
    "shared_explicitness": "several curves of `loss_capacity` on one axis",
    "identifiability": "of several models, not of one draw of rows",
}
NOT_TIMED = {
    "amari_distance": "of a matrix that is given",
    "unified_scores": "what `mig`, `sap` and `dci_boosting` take together",
    "irs_of": "what `irs` takes",
    "udr": "pairs of models; benchmarks/downstream.py times it",
    "task_explicitness": "one factor of `dci_es`",
    "loss_capacity": "benchmarks/explicitness.py times its ladders",
    "shared_explicitness": "benchmarks/explicitness.py times its ladders",
    "identifiability": "what `mcc` and `r2` take for each pair of models",
}
