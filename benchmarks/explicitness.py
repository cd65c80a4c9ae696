"""Time of the probe ladders behind DCI-ES, and of training the same networks one by one.

    python benchmarks/explicitness.py                  # ladders on 10 000 rows, 10 codes, 7 factors; then images
    python benchmarks/explicitness.py --only forest    # mlp, one-by-one, forest, fourier, linear, images

The codes are a smooth, bent mix of the seven factors of MPI3D, so that every width and depth has something to gain.
``one-by-one`` trains a plain two-hidden-layer torch network for each width and factor, with the published batch
size of 128 and torch's Adam, for as many passes over the rows as the ladder allows that width; the widest are timed for
a few steps and scaled up, since the arithmetic of a step does not change.
"""

import json
import os
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import keep, machine, measure, options, parse
from unbraid.data import mpi3d_labels
from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
from unbraid.metrics.prediction.dci_es import es_explicitness, es_informativeness
from unbraid.probes.capacity import CapacityTask, MLPLadder
from unbraid.probes.splits import capacity_split
from unbraid.representation.representation import Representation

N_CODES, BATCH = 10, 128
TIMED_STEPS = 6
#: Seconds of the published code on two cores: 12 depths of a forest, 6 widths of a network.
PUBLISHED = {"forest": 113.0, "mlp": 62.0}


def bent_mix(n_rows: int, n_codes: int = N_CODES, seed: int = 0) -> Representation:
    """Codes that only a wide network reads well."""
    rng = np.random.default_rng(seed)
    labels = mpi3d_labels(n_samples=n_rows, seed=seed)
    hidden = np.tanh(((labels.codes - 0.5) * 3.4) @ rng.normal(size=(7, 32)) * 2 / np.sqrt(7))
    codes = np.tanh(hidden @ rng.normal(size=(32, n_codes)) * 2 / np.sqrt(32))
    factors = np.stack([factor.numbers for factor in labels.factors], axis=1)
    return Representation(codes, factors, names=labels.factor_names, kinds=[str(f.kind) for f in labels.factors])


def time_ladder(ladder: object, n_rows: int) -> dict[str, float]:
    """Seconds for curves and importances with a ladder, and what it found."""
    rep, options = bent_mix(n_rows), LossCapacityOptions(ladder=ladder)
    started, used = time.perf_counter(), time.process_time()
    curves = loss_capacity_curves(rep, options, np.random.default_rng(0))
    return {
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - used,
        "explicitness": es_explicitness(curves).value,
        "informativeness": es_informativeness(curves).value,
        "chosen_rung": curves.chosen,
    }


def time_fit(ladder: MLPLadder, n_rows: int) -> dict[str, float]:
    """Seconds for the networks alone, without importances."""
    rep, rng = bent_mix(n_rows), np.random.default_rng(0)
    task = CapacityTask(codes=rep.codes, factors=tuple(rep.factors), split=capacity_split(rep.factors, n_rows, rng=rng))
    started, used = time.perf_counter(), time.process_time()
    ladder.fit(task, rng=rng)
    return {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - used}


def time_one_by_one(ladder: MLPLadder, n_rows: int) -> dict[str, float]:
    """Seconds to train every width for every factor on its own, for the same passes over the rows."""
    import torch

    from unbraid.probes.network import n_steps_at

    rep = bent_mix(n_rows)
    n_train = int(0.6 * n_rows)
    x = torch.as_tensor(rep.codes[:n_train], dtype=torch.float32)
    seconds = 0.0
    for multiple in (0, *ladder.widths):
        width = multiple * rep.n_factors
        passes = n_steps_at(ladder, max(width, 1)) * ladder.batch_size / n_train
        for factor in rep.factors:
            seconds += _seconds_of_step(torch, factor, x, width) * passes * n_train / BATCH
    return {"seconds": seconds}


def _seconds_of_step(torch, factor, x, width: int) -> float:
    n_out = 1 if factor.is_numeric else len(factor.levels)
    layers = [torch.nn.Linear(N_CODES, n_out)]
    if width:
        wide = torch.nn.Linear(width, width)
        layers = [
            torch.nn.Linear(N_CODES, width),
            torch.nn.ReLU(),
            wide,
            torch.nn.ReLU(),
            torch.nn.Linear(width, n_out),
        ]
    model = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters())
    labels = factor.numbers[: len(x)]
    y = torch.as_tensor(labels.astype(np.float32)) if factor.is_numeric else torch.as_tensor(labels.astype(int))
    times = []
    for step in range(TIMED_STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        started = time.perf_counter()
        out = model(x[rows])
        loss = (
            ((out[:, 0] - y[rows]) ** 2).mean()
            if factor.is_numeric
            else torch.nn.functional.cross_entropy(out, y[rows])
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def image_codes(n_rows: int, n_codes: int):
    """Codes as large as 64 x 64 colour images, and two factors that they hold."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (n_rows, 2))
    codes = rng.normal(size=(n_rows, n_codes))
    codes[:, :200] += factors[:, :1]
    codes[:, 200:400] += factors[:, 1:]
    return (Representation(codes, factors, kinds=["categorical", "ordinal"]),)


def score_images(rep: Representation) -> None:
    for name in ("linear", "forest"):
        loss_capacity_curves(rep, LossCapacityOptions(ladder=name), np.random.default_rng(0))


def main(arguments=None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--only", nargs="*", default=["mlp", "one-by-one", "forest", "fourier", "linear", "images"])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument(
        "--images", type=int, nargs=2, default=[20_000, 12_288], help="rows and codes as large as images"
    )
    given = parse(parser, __file__, arguments, only=["one-by-one", "linear", "images"], rows=200, images=[60, 50])
    mlp = MLPLadder(widths=(1,), n_steps=5) if given.tiny else MLPLadder()
    found: dict[str, object] = {"machine": machine()}
    for name in given.only:
        if name == "images":
            peak = measure(score_images, image_codes, tuple(given.images), here=given.tiny)
            found[name] = {"seconds": peak.seconds, "process_gib": peak.process_mib / 1024}
        elif name == "one-by-one":
            found["mlp-alone"] = time_fit(mlp, given.rows)
            found[name] = time_one_by_one(mlp, given.rows)
            found["one-by-one-over-mlp"] = found[name]["seconds"] / found["mlp-alone"]["seconds"]
        else:
            found[name] = time_ladder(mlp if name == "mlp" else name, given.rows)
            if name in PUBLISHED:
                found[name]["published_seconds"] = PUBLISHED[name]
        print(name, json.dumps(found[name]), flush=True)
    keep(given.output, found, beside_others=True)


if __name__ == "__main__":
    main()
