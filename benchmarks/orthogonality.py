"""Time and error of the solvers behind IWO and IWR, on codes whose subspaces are known.

    python benchmarks/orthogonality.py                              # both solvers on this machine's processor
    python benchmarks/orthogonality.py --steps 500                  # fewer steps of the nested networks
    python benchmarks/orthogonality.py --device cuda                # 60 representations at once on a GPU
    python benchmarks/orthogonality.py --device cuda --arrays-only  # the same where only NumPy and torch are there

Codes are Gaussian and turned at random; a factor is the root mean square of some successive axes, clipped, rescaled and
rounded to 40 steps, so that with R axes of which s are shared IWR = 1 - log R / log L and IWO = 1 - s / R.
"""

import os
import time
from itertools import combinations

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import keep, leave_out_the_rest, machine, options, parse

MAX_RANK = 10
# Representations, factors, codes and rank of the run on a GPU, and the seconds to reach.
MANY = (60, 4, 10, 4)
MANY_TARGET = 20.0


def known_world(n_rows, n_codes, n_factors, rank, seed):
    """Codes, factors, and which axes each factor uses."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal((n_rows, n_codes))
    first = np.round(np.arange(n_factors) * n_codes / n_factors).astype(int)
    axes = (first[:, None] - rank // 2 + np.arange(rank)) % n_codes
    z = np.sqrt(np.stack([(c[:, used] ** 2).mean(axis=1) for used in axes], axis=1))
    low, high = np.percentile(z, [1, 99], axis=0)
    z = np.round((np.clip(z, low, high) - low) / (high - low) * 40) / 40
    return c, z, axes


def turned(codes, seed):
    size = codes.shape[1]
    return codes @ np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def true_scores(n_codes, axes):
    """IWO and IWR that a perfect measurement would find."""
    rank = axes.shape[1]
    shared = [len(np.intersect1d(axes[j], axes[k])) for j, k in combinations(range(len(axes)), 2)]
    return 1 - np.mean(shared) / rank, 1 - np.log(rank) / np.log(n_codes)


def scores(bases, losses):
    """IWO and IWR with the weights of Eq. 2, in NumPy alone."""
    drops = [-np.diff(one) for one in losses]
    weights = [one / one.sum() if one.sum() > 0 else np.full(len(one), 1 / len(one)) for one in drops]
    overlaps = [
        np.sqrt(weights[j]) @ (bases[j].T @ bases[k]) ** 2 @ np.sqrt(weights[k])
        for j, k in combinations(range(len(bases)), 2)
    ]
    entropies = [-(one[one > 0] * np.log(one[one > 0])).sum() for one in weights]
    return 1 - np.mean(overlaps), 1 - np.mean(entropies) / np.log(len(bases[0]))


def run_solver(solver, n_rows, n_codes, n_factors, rank, steps):
    """One representation through the library, and seconds."""
    import unbraid as ub
    from unbraid.evidence.subspaces.options import SubspaceOptions, weigh
    from unbraid.evidence.subspaces.solve import factor_subspaces
    from unbraid.metrics.geometry.orthogonality import iwo_score, iwr_score

    codes, factors, axes = known_world(n_rows, n_codes, n_factors, rank, seed=0)
    rep = ub.Representation(turned(codes, 1), factors)
    options = SubspaceOptions(solver=solver, max_rank=MAX_RANK)
    rng = np.random.default_rng(0)
    if solver == "nested":
        from unbraid.evidence.subspaces.nested import nested_subspaces_many
        from unbraid.evidence.subspaces.options import NestedTraining

        training = NestedTraining() if steps is None else NestedTraining(n_steps=steps)
        steps = training.n_steps
        started = time.perf_counter()
        (subspaces,) = nested_subspaces_many(rep.codes[None], rep.factors, options, rng, training=training)
        found = weigh(subspaces, options, n_codes)
    else:
        steps = None
        started = time.perf_counter()
        found = factor_subspaces(rep, options, rng)
    seconds = time.perf_counter() - started
    measured = float(iwo_score(found)), float(iwr_score(found))
    name = f"{solver}, L={n_codes}, K={n_factors}, R={rank}" + (f", {steps} steps" if steps else "")
    return row(name, seconds, [measured], true_scores(n_codes, axes))


def run_many(device, n_rows, arrays_only, steps, sizes):
    """Many representations at once."""
    n_representations, n_factors, n_codes, rank = sizes
    codes, factors, axes = known_world(n_rows, n_codes, n_factors, rank, seed=0)
    stack = np.stack([turned(codes, seed) for seed in range(n_representations)])
    if arrays_only:
        leave_out_the_rest()
    from unbraid.evidence.subspaces import geometry as geometry
    from unbraid.evidence.subspaces import nested

    training = nested.NestedTraining() if steps is None else nested.NestedTraining(n_steps=steps)
    targets = [geometry.HeadTarget(values=values[:, None]) for values in factors.T]

    def fit(stack, training):
        return nested.fit_nested(
            stack, targets, max_rank=MAX_RANK, device=device, rng=np.random.default_rng(0), training=training
        )

    fit(stack[:1], nested.NestedTraining(n_steps=3))  # starting the device is not what is timed
    started = time.perf_counter()
    fits = fit(stack, training)
    measured = [scores([f.basis for f in one], [geometry.settled_losses(f.losses) for f in one]) for one in fits]
    seconds = time.perf_counter() - started
    name = f"nested on {device}, {n_representations} x L={n_codes}, K={n_factors}, R={rank}, {training.n_steps} steps"
    return row(name, seconds, measured, true_scores(n_codes, axes)) | {"target": MANY_TARGET}


def row(name, seconds, measured, truth):
    errors = np.abs(np.array(measured) - truth)
    return {
        "name": name,
        "seconds": seconds,
        "iwo": float(np.mean([one[0] for one in measured])),
        "true_iwo": float(truth[0]),
        "iwo_error": float(errors[:, 0].mean()),
        "worst_iwo_error": float(errors[:, 0].max()),
        "iwr": float(np.mean([one[1] for one in measured])),
        "true_iwr": float(truth[1]),
        "iwr_error": float(errors[:, 1].mean()),
        "worst_iwr_error": float(errors[:, 1].max()),
    }


def show(line):
    print(
        f"{line['name']:<62}{line['seconds']:8.2f} s   "
        f"IWO {line['iwo']:.4f} (true {line['true_iwo']:.4f}, mean error {line['iwo_error']:.4f})   "
        f"IWR {line['iwr']:.4f} (true {line['true_iwr']:.4f}, mean error {line['iwr_error']:.4f})",
        flush=True,
    )


def where(device):
    if device == "cpu":
        return machine()
    import torch

    return machine() | {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--arrays-only", action="store_true", help="do not import the package, only NumPy and torch")
    parser.add_argument("--steps", type=int, help="steps of the nested networks; fewer are faster and less exact")
    parser.add_argument("--representations", type=int, default=MANY[0])
    parser.add_argument("--ranks", default="2,5", help="ranks to measure on the processor")
    parser.add_argument("--solvers", default="fast,nested")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--most-codes", type=int, default=250, help="codes of the largest representation")
    given = parse(parser, __file__, arguments, steps=3, representations=2, ranks="2", rows=300, most_codes=12)

    lines = []
    if given.device == "cpu" and not given.arrays_only:
        for solver in given.solvers.split(","):
            sizes = [(10, 5, int(rank)) for rank in given.ranks.split(",")]
            for size in [*sizes, (given.most_codes, 5, 5)] if solver == "fast" else sizes:
                lines.append(run_solver(solver, given.rows, *size, given.steps))
                show(lines[-1])
    else:
        sizes = (given.representations, *MANY[1:])
        lines.append(run_many(given.device, given.rows, given.arrays_only, given.steps, sizes))
        show(lines[-1])
    keep(given.output, {given.device: {"machine": where(given.device), "rows": lines}}, beside_others=True)


if __name__ == "__main__":
    main()
