"""Scores of cosines of factors that compare two blind predictions, by the settings of the forests.

    python benchmarks/cosine_forests.py     # 4000 rows, three draws; four minutes of one core

No code of Cos2I holds the third factor, and half of the third code of CosNuis3D is a nuisance. The paper gives no
settings of its forests; it prints a compactness of 0.9305 for Cos2I, and modularities of 0.679 and 0.784 for the second
and third code of CosNuis3D.
"""

import json

import numpy as np

from measure import keep, machine, options, parse

#: Fewest rows in a leaf, and which rows are predicted; the first are those of the reproduction.
SETTINGS = [(5, "cross_fitted"), (1, "cross_fitted"), (20, "cross_fitted"), (100, "cross_fitted"), (5, "in_sample")]


def scores(n_rows, seed, min_leaf, predictions, n_trees):
    """Compactness of Cos2I and of its third factor, and modularity of codes of CosNuis3D."""
    from unbraid.data import cosine_dependence
    from unbraid.metrics import dependent

    asked = {"scaling": "range", "min_leaf": min_leaf, "predictions": predictions, "n_trees": n_trees, "rng": seed}
    independent = dependent(cosine_dependence("Cos2I", n_samples=n_rows, seed=seed), **asked).compactness
    mixed = dependent(cosine_dependence("CosNuis3D", n_samples=n_rows, seed=seed), **asked).modularity
    return [independent.value, independent.per_factor[2], mixed.per_code[1], mixed.per_code[2]]


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3, help="draws of each scenario")
    parser.add_argument("--trees", type=int, default=30)
    given = parse(parser, __file__, arguments, rows=200, seeds=1, trees=2)
    names = ["Cos2I, compactness", "Cos2I, compactness of y3", "CosNuis3D, modularity of z2", "CosNuis3D, of z3"]
    lines = []
    for min_leaf, predictions in SETTINGS:
        found = np.array(
            [scores(given.rows, seed, min_leaf, predictions, given.trees) for seed in range(given.seeds)], dtype=float
        )
        line = {name: [round(float(value), 4) for value in column] for name, column in zip(names, found.T, strict=True)}
        lines.append({"rows in a leaf": min_leaf, "predictions": predictions, **line})
        print(json.dumps(lines[-1]), flush=True)
    keep(given.output, {"machine": machine(), "rows": given.rows, "trees": given.trees, "lines": lines})


if __name__ == "__main__":
    main()
