"""D and C of mixed labels by networks, with labels as they are and all as numbers, beside the closed form.

    python benchmarks/mix_kinds.py     # three matrices, 20 000 rows of MPI3D's grid; half a minute

The closed form is that of squared errors. Three of the seven labels are categories, whose importances are of
cross-entropies.
"""

import json

import numpy as np

from measure import keep, machine, options, parse


def scores(representation, seed):
    """D and C by SAGE of the best of a linear probe and a narrow network."""
    from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
    from unbraid.metrics.prediction.dci_es import es_completeness, es_disentanglement
    from unbraid.probes.capacity import MLPLadder

    asked = LossCapacityOptions(ladder=MLPLadder(widths=(2,)), importance="sage", probe="best")
    curves = loss_capacity_curves(representation, asked, np.random.default_rng(seed))
    return {"disentanglement": es_disentanglement(curves).value, "completeness": es_completeness(curves).value}


def main(arguments=None):
    from unbraid.data import mpi3d_labels
    from unbraid.representation.representation import Representation
    from unbraid.reproduce.dci_es import closed_form

    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3, help="mixing matrices")
    given = parse(parser, __file__, arguments, rows=300, seeds=1)
    lines = []
    for seed in range(given.seeds):
        mixed = mpi3d_labels("mix", n_samples=given.rows, seed=seed)
        values = [f.labels.astype(float) if f.labels is not None else f.numbers for f in mixed.factors]
        numbers = Representation(mixed.codes, np.stack(values, axis=1), kinds=["continuous"] * len(values))
        lines.append(
            {
                "matrix": seed,
                "closed form": closed_form(seed),
                "labels as they are": scores(mixed, seed),
                "all as numbers": scores(numbers, seed),
            }
        )
        print(json.dumps(lines[-1]), flush=True)
    keep(given.output, {"machine": machine(), "rows": given.rows, "lines": lines})


if __name__ == "__main__":
    main()
