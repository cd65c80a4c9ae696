"""D and C of Table 1 on orthogonality by the rows of SAGE and by its background rows, beside the closed form.

    python benchmarks/sage_rows.py                    # row 18, 50 codes; two minutes on one core
    python benchmarks/sage_rows.py --rows 17,20

Networks are fitted once. In a rotated row the importance of a code for a factor is known: a factor is close to a
function of the squared length of the codes in its subspace, of which the Shapley value of a code is its squared loading
on the subspace. Importances are absolute values, so that noise counts for codes that do not matter. Noise comes from
the rows that are explained, as far as the standard errors say ("sampling noise alone": known importances with normal
noise as large), and from the few background rows that stand in for withheld codes, which are the same for all rows.
"""

import json
import time

import numpy as np

from measure import keep, machine, options, parse

N_NOISES = 20
#: Rows and background rows of SAGE.
SIZES = ((256, 16), (1024, 16), (4096, 16), (1024, 4), (1024, 64))


def scores(importance):
    """D and C of importances, codes by factors."""
    from unbraid.metrics.prediction.dci import completeness, disentanglement
    from unbraid.probes.importance import Importance

    n_factors = importance.shape[1]
    shares = Importance(
        matrix=importance / importance.sum(axis=0), informativeness=np.ones(n_factors), in_accuracy=np.zeros(n_factors)
    )
    return {"D": disentanglement(shares).value, "C": completeness(shares).value}


def fitted_networks(row, n_samples, n_steps):
    """Predictions of the best network of the reproduction, the task it was fitted to, and the known importances."""
    from dataclasses import replace

    from unbraid.data.orthogonal import orthogonal_scheme
    from unbraid.probes.capacity import CapacityTask
    from unbraid.probes.splits import capacity_split, standardise_by
    from unbraid.reproduce.iwo import LADDER, N_FACTORS, N_LEVELS

    scheme = orthogonal_scheme(
        row.n_codes,
        N_FACTORS,
        row.rank,
        mapping=row.mapping,
        rotate=row.rotate,
        n_levels=N_LEVELS[row.mapping],
        n_samples=n_samples,
        seed=0,
    )
    rep, rng = scheme.representation, np.random.default_rng([0, 2])
    split = capacity_split(rep.factors, rep.n_samples, rng=rng)
    task = CapacityTask(codes=standardise_by(rep.codes, split.train), factors=tuple(rep.factors), split=split)
    fitted = replace(LADDER, n_steps=n_steps).fit(task, rng=rng)
    known = np.stack([(axes**2).mean(axis=1) for axes in scheme.axes], axis=1)
    return fitted.probe(len(LADDER.widths)).predict, task, known


def by_rows(predict, task, known, n_rows, n_background, seed):
    """D and C by SAGE of some rows, and by the known importances with noise as large as its standard errors."""
    from unbraid.probes.sage import SageOptions, sage_values

    test, started = task.split.test, time.process_time()
    truth = np.stack([factor.numbers for factor in task.factors])[:, test]
    found = sage_values(
        predict,
        lambda said, few: np.stack([(part[:, 0] - own[few]) ** 2 for part, own in zip(said, truth, strict=True)]),
        task.codes[test],
        background=task.codes[task.split.train],
        options=SageOptions(n_background=n_background, max_rows=n_rows, tolerance=1e-6),
        rng=np.random.default_rng(seed),
    )
    # Known shares of the loss that the codes take off in all, as the values add up to it.
    values, rng = known * found.values.sum(axis=0), np.random.default_rng(1)
    noisy = [scores(np.abs(rng.normal(values, found.errors))) for _ in range(N_NOISES)]
    return {
        "sage": scores(np.abs(found.values)),
        "sampling noise alone": {name: float(np.mean([one[name] for one in noisy])) for name in ("D", "C")},
        "processor_seconds": round(time.process_time() - started, 1),
    }


def main(arguments=None):
    from unbraid.reproduce import IWO_TABLE1

    parser = options(__doc__, __file__)
    parser.add_argument("--rows", default="18")
    parser.add_argument("--draws", type=int, default=3, help="draws of background rows and orders")
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--steps", type=int, default=4000)
    given = parse(parser, __file__, arguments, rows="4", draws=1, samples=300, steps=4)
    for number in map(int, given.rows.split(",")):
        row = IWO_TABLE1[number - 1]
        paper = {"D": row.published["disentanglement"], "C": row.published["completeness"]}
        predict, task, known = fitted_networks(row, given.samples, given.steps)
        found = {"machine": machine(), "codes": row.n_codes, "paper": paper, "closed form": scores(known), "sage": {}}
        print(json.dumps({f"row {number}": {"paper": paper, "closed form": found["closed form"]}}), flush=True)
        for n_rows, n_background in ((8, 2),) if given.tiny else SIZES:
            drawn = [by_rows(predict, task, known, n_rows, n_background, seed) for seed in range(given.draws)]
            found["sage"][f"{n_rows} rows, {n_background} background rows"] = drawn
            print(json.dumps({f"{n_rows}, {n_background}": drawn}), flush=True)
            keep(given.output, {f"row {number}": found}, beside_others=True)


if __name__ == "__main__":
    main()
