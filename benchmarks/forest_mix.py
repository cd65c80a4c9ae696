"""Explicitness of a mix of labels by forests: by mixing matrix, number of trees, codes tried at a split, and axis.

    python benchmarks/forest_mix.py                     # six matrices, 20 000 rows of MPI3D's grid; a few minutes
    python benchmarks/forest_mix.py --rows 80000 --trees 10 --matrices   # matrices alone

The paper prints E = 0.72 with D = 0.17 and C = 0.21 of the one matrix that it drew. The closed forms of D and C say how
uniform a matrix mixes, whatever the probe.
"""

import json

import numpy as np

from measure import keep, machine, options, parse

PAPER = {"explicitness": 0.72, "disentanglement": 0.17, "completeness": 0.21}


def curves_of(seed, n_rows, ladder, loss):
    """Depths, losses by factor and depth, and baselines of a mix."""
    from unbraid.data import mpi3d_labels
    from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves

    asked = LossCapacityOptions(ladder=ladder, importance="gini", probe="best", loss=loss)
    return loss_capacity_curves(mpi3d_labels("mix", n_samples=n_rows, seed=seed), asked, np.random.default_rng(seed))


def explicitness(curves, axis=lambda depth: depth, levels=slice(None)):
    """Mean E over factors on another axis, or of some depths."""
    from unbraid.metrics.prediction.dci_es import explicitness_of_curve

    columns = zip(curves.capacities, curves.losses, curves.baselines, strict=True)
    return float(
        np.mean([explicitness_of_curve(axis(at)[levels], y[levels], baseline=float(blind)) for at, y, blind in columns])
    )


def with_blind_guess(curves):
    """Mean E of curves that begin at depth 0, with the loss of a guess."""
    from unbraid.metrics.prediction.dci_es import explicitness_of_curve

    columns = zip(curves.capacities, curves.losses, curves.baselines, strict=True)
    return float(
        np.mean([explicitness_of_curve(np.append(0, at), np.append(b, y), baseline=float(b)) for at, y, b in columns])
    )


def line_of(seed, n_rows, ladder, loss="error"):
    """Scores of one matrix, beside the closed forms of D and C."""
    from unbraid.metrics.prediction.dci_es import es_completeness, es_disentanglement, es_informativeness
    from unbraid.reproduce.dci_es import closed_form

    curves = curves_of(seed, n_rows, ladder, loss)
    return {
        "explicitness": explicitness(curves),
        "on a logarithmic axis": explicitness(curves, axis=np.log),
        "from depth 2": explicitness(curves, levels=slice(1, None)),
        "from a blind guess": with_blind_guess(curves),
        "up to depth 20": explicitness(curves, levels=slice(None, -1)),
        "informativeness": es_informativeness(curves).value,
        "disentanglement": es_disentanglement(curves).value,
        "completeness": es_completeness(curves).value,
        "closed form": closed_form(seed),
    }


def main(arguments=None):
    from unbraid.probes.capacity import ForestLadder

    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=6, help="mixing matrices")
    parser.add_argument("--matrices", action="store_true", help="leave out other settings of forests")
    given = parse(parser, __file__, arguments, rows=300, trees=2, seeds=1)
    usual = ForestLadder(n_trees=given.trees, codes_tried="scikit-learn")
    ladders = {
        f"{5 * given.trees} trees": ForestLadder(n_trees=5 * given.trees, codes_tried="scikit-learn"),
        "all codes tried": ForestLadder(n_trees=given.trees, codes_tried="all"),
        "leaves of five rows": ForestLadder(n_trees=given.trees, codes_tried="scikit-learn", min_leaf=5),
    }
    asked = {f"matrix {seed}": (seed, usual) for seed in range(given.seeds)}
    asked |= {} if given.matrices else {f"matrix 0, {name}": (0, ladder) for name, ladder in ladders.items()}
    lines = {}
    for name, (seed, ladder) in asked.items():
        lines[name] = line_of(seed, given.rows, ladder)
        print(json.dumps({name: lines[name]}), flush=True)
    if not given.matrices:
        lines["matrix 0, cross-entropy"] = line_of(0, given.rows, usual, loss="cross_entropy")
        print(json.dumps({"matrix 0, cross-entropy": lines["matrix 0, cross-entropy"]}), flush=True)
    found = {"machine": machine(), "trees": given.trees, "paper": PAPER, "lines": lines}
    keep(given.output, {f"{given.rows} rows": found}, beside_others=True)


if __name__ == "__main__":
    main()
