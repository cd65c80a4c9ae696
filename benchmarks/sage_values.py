"""Time of our SAGE estimator against the library of the paper that defined it, on one network with ten codes.

    python benchmarks/sage_values.py

The network is an MLP of scikit-learn with two hidden layers, fitted to a bent function of ten Gaussian codes. Both walk
through orders of the codes with the same 32 background rows, until the largest standard error is below
5 % of the range of the values. Times are of the processor, on one thread.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import sage
from sklearn.neural_network import MLPRegressor

from measure import keep, machine, options, parse
from unbraid.probes.sage import SageOptions, sage_values

N_CODES, N_BACKGROUND = 10, 32
TARGET = 5.0


def world(n_tasks, n_rows):
    """Codes, targets of several tasks, and a network that predicts them all."""
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((n_rows, N_CODES))
    columns = [codes[:, k] * codes[:, (k + 1) % N_CODES] + 0.5 * codes[:, (k + 2) % N_CODES] for k in range(n_tasks)]
    targets = np.stack(columns, axis=1)
    model = MLPRegressor(hidden_layer_sizes=(70, 70), early_stopping=True, random_state=0).fit(codes, targets.squeeze())
    return codes, targets, lambda x: model.predict(x).reshape(len(x), -1)


def timed(work):
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def ours(codes, targets, predict, tolerance):
    """All tasks in one walk."""
    return sage_values(
        lambda x: list(predict(x).T[:, :, None]),
        lambda said, rows: np.stack([(part[:, 0] - targets[rows, k]) ** 2 for k, part in enumerate(said)]),
        codes,
        background=codes[:N_BACKGROUND],
        options=SageOptions(n_background=N_BACKGROUND, tolerance=tolerance, max_rows=100_000),
        rng=np.random.default_rng(0),
    )


def library(codes, targets, predict, task, tolerance):
    """One task: the library explains one loss."""
    imputer = sage.MarginalImputer(lambda x: predict(x)[:, [task]], codes[:N_BACKGROUND])
    estimator = sage.PermutationEstimator(imputer, "mse", random_state=0)
    return estimator(codes, targets[:, [task]], batch_size=64, thresh=tolerance, bar=False)


def compare(n_tasks, n_rows, tolerance):
    codes, targets, predict = world(n_tasks, n_rows)
    mine, our_seconds = timed(lambda: ours(codes, targets, predict, tolerance))
    theirs, library_seconds = timed(lambda: [library(codes, targets, predict, k, tolerance) for k in range(n_tasks)])
    values, errors = (np.stack([getattr(one, name) for one in theirs], axis=1) for name in ("values", "std"))
    return {
        "tasks": n_tasks,
        "seconds": our_seconds,
        "library_seconds": library_seconds,
        "times_faster": library_seconds / our_seconds,
        "largest_error_share": float((mine.errors.max(axis=0) / np.ptp(mine.values, axis=0)).max()),
        "library_largest_error_share": float((errors.max(axis=0) / np.ptp(values, axis=0)).max()),
        "largest_difference_in_errors": float((np.abs(mine.values - values) / np.hypot(mine.errors, errors)).max()),
        "target_seconds": TARGET,
    }


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 7])
    parser.add_argument("--tolerance", type=float, default=0.05, help="standard error over the range of the values")
    given = parse(parser, __file__, arguments, rows=300, tasks=[1], tolerance=0.5)
    rows = [compare(n_tasks, given.rows, given.tolerance) for n_tasks in given.tasks]
    for row in rows:
        print(
            f"{row['tasks']} task(s): ours {row['seconds']:.2f} s, library {row['library_seconds']:.2f} s, "
            f"{row['times_faster']:.1f} times faster; largest difference {row['largest_difference_in_errors']:.1f} "
            "standard errors"
        )
    keep(given.output, {"machine": machine(), "library": "sage-importance 0.0.6", "rows": rows})


if __name__ == "__main__":
    main()
