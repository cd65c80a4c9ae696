"""How well a network of all factors reads the factors of Table 1 on orthogonality, by rows to fit on and by steps.

python benchmarks/network_rows.py                       # rows 18 and 21 of the table, a few minutes on one core
python benchmarks/network_rows.py --rows 17,19,21
"""

import json
import time

import numpy as np

from measure import keep, machine, options, parse

SIZES = ((10_000, 1000), (10_000, 4000), (40_000, 4000))


def informativeness(row, n_samples, n_steps):
    """I of networks of growing width, without importances, and the seconds it took."""
    from unbraid.data.orthogonal import orthogonal_scheme
    from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
    from unbraid.probes.capacity import MLPLadder
    from unbraid.reproduce.iwo import N_FACTORS, N_LEVELS

    drawn = orthogonal_scheme(
        row.n_codes,
        N_FACTORS,
        row.rank,
        mapping=row.mapping,
        rotate=row.rotate,
        n_levels=N_LEVELS[row.mapping],
        n_samples=n_samples,
        seed=0,
    ).representation
    started = time.perf_counter()
    ladder = MLPLadder(widths=(2, 8, 32), capacity="parameters", n_steps=n_steps, patience=20)
    curves = loss_capacity_curves(
        drawn, LossCapacityOptions(ladder=ladder, importance="permutation"), np.random.default_rng([0, 2])
    )
    return {
        "informativeness": float(np.mean(1 - curves.losses.min(axis=1))),
        "loss_by_width": curves.losses.mean(axis=0).tolist(),
        "seconds": time.perf_counter() - started,
    }


def main(arguments=None):
    from unbraid.reproduce import IWO_TABLE1

    parser = options(__doc__, __file__)
    parser.add_argument("--rows", default="18,21")
    given = parse(parser, __file__, arguments, rows="1")
    for number in map(int, given.rows.split(",")):
        row = IWO_TABLE1[number - 1]
        for n_samples, n_steps in ((300, 10),) if given.tiny else SIZES:
            name = f"row {number}, {n_samples} rows, {n_steps} steps"
            line = {"codes": row.n_codes, "paper": row.published["informativeness"]}
            line |= informativeness(row, n_samples, n_steps)
            print(json.dumps({name: line}), flush=True)
            keep(given.output, {name: {"machine": machine(), **line}}, beside_others=True)


if __name__ == "__main__":
    main()
