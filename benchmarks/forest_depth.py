"""How the importances of a forest depend on its depth: D, C and I of noisy labels, depth by depth.

    python benchmarks/forest_depth.py                # 20 000 rows of MPI3D's grid, 100 trees
    python benchmarks/forest_depth.py 80000 --trees 30

Informativeness hardly moves between depths 8 and 32, while disentanglement falls by a fifth: a printed D of a forest
means little without the depth it belongs to.
"""

import json

import numpy as np

from measure import keep, machine, options, parse
from unbraid.data import mpi3d_labels
from unbraid.evidence.loss_capacity import row_losses
from unbraid.metrics import completeness, disentanglement
from unbraid.probes.capacity import CapacityTask, ForestLadder
from unbraid.probes.importance import Importance
from unbraid.probes.splits import capacity_split


def main(arguments=None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parse(parser, __file__, arguments, rows=300, trees=2)
    rep, rng = mpi3d_labels("noisy", n_samples=given.rows), np.random.default_rng(0)
    split = capacity_split(rep.factors, rep.n_samples, rng=rng)
    ladder = ForestLadder(n_trees=given.trees, codes_tried="scikit-learn")
    fitted = ladder.fit(CapacityTask(codes=rep.codes, factors=tuple(rep.factors), split=split), rng=rng)
    found = []
    for level, depth in enumerate(ladder.depths):
        losses = [row_losses(f, split.test, fitted.test[k], "error").values[level] for k, f in enumerate(rep.factors)]
        weights = fitted.probe(level).weights
        importance = Importance(matrix=weights, informativeness=1 - np.array(losses), in_accuracy=np.zeros(len(losses)))
        found.append(
            {
                "depth": depth,
                "disentanglement": round(disentanglement(importance).value, 3),
                "completeness": round(completeness(importance).value, 3),
                "informativeness": round(1 - float(np.mean(losses)), 3),
            }
        )
        print(json.dumps(found[-1]), flush=True)
    keep(given.output, {"machine": machine(), "rows": given.rows, "trees": given.trees, "depths": found})


if __name__ == "__main__":
    main()
