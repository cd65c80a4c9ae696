"""Every metric on the same small worlds, beside the value that follows on paper.

The factors are a full grid of 4 × 5 × 6 values, each combination ten times, so codes made from them carry exact
shares of information and variance. A pair is (expected, tolerance); fitted probes get a tolerance, counting does not.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.worlds import full_grid, standardised
from unbraid import METRICS, Representation
from unbraid.metrics import Source
from unbraid.probes.capacity import MLPLadder
from unbraid.probes.sage import SageOptions

SIZES = (4, 5, 6)
GRID = np.tile(full_grid(*SIZES), (10, 1))
UNIT = standardised(GRID.astype(float))
H = np.log(SIZES)
N = len(GRID)
EXACT, CLOSE, ROUGH = 1e-6, 0.02, 0.1
NOISE = np.random.default_rng(0).standard_normal((N, 4))
QUARTER = np.array([[1, -1], [1, 1]]) / np.sqrt(2)


def permuted() -> np.ndarray:
    return UNIT[:, [2, 0, 1]] * [-1, 2, 3]


def doubled() -> np.ndarray:
    """Every factor in two codes, one of them turned round."""
    return np.hstack([UNIT, -UNIT])


def dead_first() -> np.ndarray:
    return np.column_stack([np.full(N, 7.0), UNIT])


def rotated() -> np.ndarray:
    """First two factors turned by 45 degrees; the third untouched."""
    return np.column_stack([UNIT[:, :2] @ QUARTER, UNIT[:, 2]])


def split() -> np.ndarray:
    """The first factor's two bits in two codes."""
    return np.column_stack([GRID[:, 0] // 2, GRID[:, 0] % 2, GRID[:, 1], GRID[:, 2]]).astype(float)


def packed() -> np.ndarray:
    """First two factors as the 20 values of one code, the third in another."""
    return np.column_stack([GRID[:, 0] * 5 + GRID[:, 1], GRID[:, 2]]).astype(float)


LABEL_FREE_ZERO = {
    "total_correlation": (0, EXACT),
    "wasserstein_correlation": (0, EXACT),
    "code_mutual_information": (0, EXACT),
}
COUNTED = ["z1", "irs", "mig", "mig_sup", "jemmig", "dcimig", "modularity", "infomec.modularity", "infomec.compactness"]
MATCHED = ["z_diff", "z_min_var", "mcc", "dci_linear.disentanglement", "dci_linear.completeness"]
TREES = [name for name in METRICS if name.startswith(("dci_forest", "dci_boosting"))]
DEPENDENT = [name for name in METRICS if name.startswith("dependent.")]
PERFECT = (
    dict.fromkeys(COUNTED + MATCHED, (1, EXACT))
    | dict.fromkeys(["sap", "r2"], (1, 1e-5))
    | dict.fromkeys(["z2", "dci_linear.informativeness", *TREES, *DEPENDENT], (1, CLOSE))
)
#: Importances by SAGE of the simplest probe; the narrow networks keep it quick.
QUICK = {
    "dci_es": {"ladder": MLPLadder(widths=(4, 16), n_steps=200), "sage": SageOptions(n_background=8, max_rows=512)}
}
LADDER = dict.fromkeys(
    [f"dci_es.{name}" for name in ("disentanglement", "completeness", "informativeness")], (1, CLOSE)
)
EXPLICIT = LADDER | {"dci_es.explicitness": (1, CLOSE)}
ORTHOGONAL = {"iwo": (1, CLOSE), "iwr": (1, CLOSE), "orthogonality": (0, CLOSE)}

TRUTHS = {
    "permuted": (permuted, PERFECT | EXPLICIT | ORTHOGONAL | LABEL_FREE_ZERO | {"dci_es.size": (1, EXACT)}),
    "dead code first": (
        dead_first,
        PERFECT | EXPLICIT | ORTHOGONAL | LABEL_FREE_ZERO | {"dci_es.size": (3 / 4, EXACT)},
    ),
    "doubled": (
        doubled,
        {
            # Nothing is left for one code alone, and nothing else changes.
            "mig": (0, EXACT),
            "sap": (0, EXACT),
            "jemmig": (0.5, EXACT),  # 1 - H / (H + log B), with as many bins as values
            "infomec.compactness": ((1 / 2 - 1 / 6) / (1 - 1 / 6), EXACT),
            "mig_sup": (1, EXACT),
            "dcimig": (1, EXACT),
            "modularity": (1, EXACT),
            "infomec.modularity": (1, EXACT),
            "z_diff": (1, EXACT),
            "z_min_var": (1, EXACT),
            "z1": (1, EXACT),
            "irs": (1, EXACT),
            "mcc": (1, EXACT),
            "r2": (1, 1e-5),
            "dci_linear.disentanglement": (1, EXACT),
            "dci_forest.disentanglement": (1, CLOSE),
            "dci_boosting.disentanglement": (1, CLOSE),
            "code_mutual_information": (H.sum() / 15, EXACT),  # three pairs of fifteen share all they have
            "total_correlation": (np.inf, 0),
            "dependent.compactness": (1, CLOSE),  # one copy is as good as both
            "dependent.minimality": (1, CLOSE),
        }
        | ORTHOGONAL,
    ),
    "rotated": (
        rotated,
        ORTHOGONAL  # which is the point of them
        | {
            "sap": (1 / 3, EXACT),  # both codes explain half of either factor; the third stands alone
            "mcc": ((np.sqrt(0.5) * 2 + 1) / 3, EXACT),
            "z1": ((0.5 + 0.5 + 1) / 3, CLOSE),
            "dci_linear.disentanglement": (((1 - np.log(2) / np.log(3)) * 2 + 1) / 3, CLOSE),
            "dci_linear.completeness": (((1 - np.log(2) / np.log(3)) * 2 + 1) / 3, CLOSE),
            "dci_linear.informativeness": (1, CLOSE),
            "dci_es.disentanglement": (((1 - np.log(2) / np.log(3)) * 2 + 1) / 3, ROUGH),
            "dci_es.completeness": (((1 - np.log(2) / np.log(3)) * 2 + 1) / 3, ROUGH),
            "dci_es.informativeness": (1, CLOSE),
            "dci_es.explicitness": (1, CLOSE),  # a line reads it
            "r2": (1, 1e-5),
            "total_correlation": (0, EXACT),
            "wasserstein_correlation": (0, EXACT),
        },
    ),
    "one factor in two codes": (
        split,
        {
            "mig": ((0 + 1 + 1) / 3, EXACT),  # either bit has half of the first factor
            "mig_sup": ((0.5 + 0.5 + 1 + 1) / 4, EXACT),
            "dcimig": ((np.log(2) + H[1] + H[2]) / H.sum(), EXACT),
            "modularity": (1, EXACT),
            "infomec.modularity": (1, EXACT),
            "infomec.compactness": (((1 / 2 - 1 / 4) / (3 / 4) + 1 + 1) / 3, EXACT),
            "jemmig": (1 - (np.log(4) - np.log(2) + np.log(2)) / (np.log(4) + np.log(2)) / 3, EXACT),
            "z1": (1, EXACT),
            "r2": (1, 1e-5),
            "dci_forest.disentanglement": (1, CLOSE),
            "dci_forest.informativeness": (1, CLOSE),
            "dependent.modularity": (1, CLOSE),
            "dependent.explicitness": (1, CLOSE),
            # Values 0 to 3: a blind guess is off by 1, one that knows the upper bit by a half.
            "dependent.sufficiency": ((0.5 + 1 + 1) / 3, CLOSE),
            "dependent.compactness": ((0.5 + 1 + 1) / 3, CLOSE),
            "code_mutual_information": (0, EXACT),
        },
    ),
    "two factors in one code": (
        packed,
        {
            "mig": (1, EXACT),  # blind to it: each factor has a code, and the other code has nothing
            "infomec.compactness": (1, EXACT),
            "mig_sup": (0.5, EXACT),  # the packed code holds all of both
            "infomec.modularity": (((1 / 2 - 1 / 3) / (2 / 3) + 1) / 2, EXACT),
            "modularity": ((1 - (H[0] / H[1]) ** 2 / 2 + 1) / 2, EXACT),
            "dcimig": (((H[1] - H[0]) + H[2]) / H.sum(), EXACT),
            "jemmig": (1 - (H[1] / (H[0] + np.log(20)) + H[0] / (H[1] + np.log(20))) / 3, EXACT),
            "code_mutual_information": (0, EXACT),
            "dci_forest.completeness": (1, ROUGH),
            "dependent.compactness": (1, CLOSE),
            # 5 a + b is off by 5 on average; known a, by the 1.2 of b.
            "dependent.modularity": ((1 - 1.2 / 5 + 1) / 2, CLOSE),
            "dependent.minimality": ((1 - 1.2 / 5 + 1) / 2, CLOSE),
            "dci_es.size": (3 / 2, EXACT),
        },
    ),
    "noise": (
        lambda: NOISE,
        {
            "z_diff": (0, ROUGH),
            "z_min_var": (0, ROUGH),
            "mig": (0, CLOSE),
            "mig_sup": (0, CLOSE),
            "dcimig": (0, CLOSE),
            "sap": (0, CLOSE),
            "mcc": (0, ROUGH),
            "r2": (0, CLOSE),
            "explicitness": (0.5, ROUGH),
            "infomec.explicitness": (0, CLOSE),
            "dci_linear.informativeness": (0, CLOSE),
            "dci_forest.informativeness": (0, CLOSE),
            "dci_boosting.informativeness": (0, CLOSE),
            "dci_es.disentanglement": (0, EXACT),
            "dci_es.completeness": (0, EXACT),
            "dci_es.informativeness": (0, CLOSE),
            "dci_es.explicitness": (1, CLOSE),  # nothing to read, at any capacity
            "total_correlation": (0, ROUGH),
            "dependent.explicitness": (0, CLOSE),
            "dependent.modularity": (0, EXACT),
            "dependent.minimality": (0, EXACT),
            # A factor that cannot be found is everywhere, and so is every other.
            "iwo": (0, EXACT),
            "iwr": (0, EXACT),
            "orthogonality": (1, EXACT),
        },
    ),
}


@cache
def evidence_of(world: str, source: Source, options: Any) -> Any:
    """Gather once for all metrics that read the same evidence."""
    return source.gather(Representation(TRUTHS[world][0](), GRID), options, np.random.default_rng(0))


@pytest.mark.parametrize(("world", "name"), [(world, name) for world, (_, values) in TRUTHS.items() for name in values])
def test_score_is_what_paper_says(world, name):
    expected, tolerance = TRUTHS[world][1][name]
    metric = METRICS[name]
    options, _ = metric.split_options(QUICK.get(metric.family, {}))
    assert metric.score(evidence_of(world, metric.source, options)).value == pytest.approx(expected, abs=tolerance)


#: Families whose truths need codes, labels or options that these worlds do not have, and the tests that have them.
ELSEWHERE = {
    "test_amari.py": "amari",
    "test_blocks.py": "blocks",
    "test_d_lsbd.py": "d_lsbd",
    "test_fairness.py": "fairness",
    "test_flatness.py": "flatness linearity distances",
    "test_matching.py": "z_max_var",
    "test_omes.py": "omes",
    "test_one_vs_rest.py": "one_vs_rest med",
    "test_sparse_probes.py": "best_single sparse_probe",
    "test_spectrum.py": "rankme effective_rank stable_rank participation_ratio alpha_req",
    "test_t_mex.py": "t_mex",
    "test_unibound.py": "unibound",
}


def test_every_metric_is_in_some_world_or_has_truths_of_its_own():
    covered = {name for _, values in TRUTHS.values() for name in values}
    others = {family for families in ELSEWHERE.values() for family in families.split()}
    assert covered == {name for name, metric in METRICS.items() if metric.family not in others}
    for file, families in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert all(f"{family}(" in text for family in families.split()), file
