"""Target and group read from means and from draws of the codes of VFAEs: where the trace of the group is.

python benchmarks/fair_means.py                       # 4000 steps on this processor; about two minutes
python benchmarks/fair_means.py --device cuda --steps 10000
"""

import json

import numpy as np

from measure import keep, machine, options, parse

WEIGHTS = (0.0, 1000.0, 10_000.0)


def lines_of(given):
    """Accuracies for each weight of the MMD, seed and way of encoding, on held-out rows."""
    from unbraid.data import applicants
    from unbraid.data.tables import DatasetRows
    from unbraid.models import encode_all, train
    from unbraid.reproduce.labelled import read_label
    from unbraid.reproduce.labelled.vfae import FULL

    whole, cut = applicants(given.rows), 3 * given.rows // 4
    known, new = DatasetRows(whole, np.arange(cut)), DatasetRows(whole, np.arange(cut, given.rows))
    grid = [(weight, seed) for weight in WEIGHTS for seed in range(given.seeds)]
    models = train(
        "vfae",
        known,
        seeds=[seed for _, seed in grid],
        mmd=[weight for weight, _ in grid],
        n_steps=given.steps,
        n_codes=FULL.n_codes,
        width=FULL.width,
        batch_size=FULL.batch_size,
        learning_rate=FULL.learning_rate,
        device=given.device,
        precision="float32",
        progress=False,
    )
    a, b = (data.factors(np.arange(len(data))) for data in (known, new))
    fitted = slice(0, 5000)
    for sample in (False, True):
        encoded = zip(
            grid, encode_all(models, known, sample=sample), encode_all(models, new, sample=sample), strict=True
        )
        for (weight, seed), x, z in encoded:
            target, group = (read_label(x.codes[fitted], a[fitted, k], z.codes, b[:, k], seed=0) for k in range(2))
            yield {
                "draws": sample,
                "mmd": weight,
                "seed": seed,
                "group_linear": group.linear,
                "group_forest": group.forest,
                "target_linear": target.linear,
                "spread_of_codes": x.codes.std(axis=0).round(4).tolist(),
            }


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=20_000)
    given = parse(parser, __file__, arguments, steps=1, seeds=1, rows=200)
    lines = []
    for line in lines_of(given):
        print(json.dumps(line), flush=True)
        lines.append(line)
    keep(given.output, {"machine": machine(), "steps": given.steps, "lines": lines})


if __name__ == "__main__":
    main()
