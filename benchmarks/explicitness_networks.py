"""Explicitness of Table 1 on orthogonality by networks of one factor and of all, and by a first probe learned in steps.

    python benchmarks/explicitness_networks.py                       # rows 3, 5, 9 and 17; a few minutes on one core
    python benchmarks/explicitness_networks.py --rows 13,15 --networks separate --steps 250 500 1000 4000

The text of DCI-ES has one network for all factors; its published code has one for each, and counts the parameters of
that one. E is continued to the largest published network, and given with the linear probe as the first capacity and
with the narrowest network. The linear probe is fitted exactly here; in the published code it is learned by Adam, and
after few steps it has not learned what it could: the last lines are E of the first row by the number of steps.
"""

import json
import time
from itertools import product

import numpy as np

from measure import keep, machine, options, parse

WIDTHS = {"shared": (2, 4, 8, 16, 32), "separate": (2, 4, 8, 16)}
#: Learning rate and batch of the published code.
RATE, BATCH = 2e-4, 128


def drawn(row, n_samples):
    """The representation of a row of the table."""
    from unbraid.data.orthogonal import orthogonal_scheme
    from unbraid.reproduce.iwo import N_FACTORS, N_LEVELS

    return orthogonal_scheme(
        row.n_codes,
        N_FACTORS,
        row.rank,
        mapping=row.mapping,
        rotate=row.rotate,
        n_levels=N_LEVELS[row.mapping],
        n_samples=n_samples,
        seed=0,
    ).representation


def largest(n_codes, networks):
    """Logarithm of the parameters of the largest published network, with the linear probe that ours are added to."""
    from unbraid.reproduce.iwo import LARGEST_WIDTH, N_FACTORS

    width, outputs = LARGEST_WIDTH * N_FACTORS, N_FACTORS if networks == "shared" else 1
    return np.log((n_codes + 1) * (width + outputs) + width * (width + 1) + width * outputs)


def explicitness(capacities, losses, last, first=0):
    """Mean E of curves from capacity number ``first`` on, continued at their lowest loss to the capacity ``last``."""
    from unbraid.metrics.prediction.dci_es import explicitness_of_curve

    curves = zip(capacities[:, first:], losses[:, first:], strict=True)
    scores = [explicitness_of_curve(np.append(at, last), np.append(y, y.min()), baseline=1.0) for at, y in curves]
    return float(np.mean(scores))


def by_networks(row, networks, n_samples, n_steps, widths):
    """Losses and E of one kind of networks on a row."""
    from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
    from unbraid.probes.capacity import MLPLadder

    started = time.process_time()
    ladder = MLPLadder(widths=widths, networks=networks, capacity="parameters", n_steps=n_steps, patience=20)
    asked = LossCapacityOptions(ladder=ladder, importance="none")
    curves = loss_capacity_curves(drawn(row, n_samples), asked, np.random.default_rng([0, 2]))
    last = largest(row.n_codes, networks)
    return {
        "paper": row.published["explicitness"],
        "from the linear probe": explicitness(curves.capacities, curves.losses, last),
        "from the narrowest network": explicitness(curves.capacities, curves.losses, last, first=1),
        "loss_by_width": curves.losses.mean(axis=0).tolist(),
        "processor_seconds": round(time.process_time() - started, 1),
    }


def linear_by_steps(rep, n_steps):
    """Losses of linear probes that Adam has learned for each number of steps, as the published code learns them."""
    import torch

    x = rep.codes[: int(0.6 * len(rep.codes))]
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), np.stack([f.numbers for f in rep.factors], axis=1)[: len(x)]
    torch.manual_seed(0)
    probe = torch.nn.Linear(x.shape[1], y.shape[1])
    optimiser, inputs, targets = torch.optim.Adam(probe.parameters(), lr=RATE), torch.tensor(x), torch.tensor(y)
    probe.double()
    found = {}
    for step in range(1, max(n_steps) + 1):
        rows = torch.randint(len(x), (BATCH,))
        optimiser.zero_grad()
        ((probe(inputs[rows]) - targets[rows]) ** 2).mean().backward()
        optimiser.step()
        if step in n_steps:
            residual = ((probe(inputs) - targets) ** 2).mean(dim=0).detach().numpy()
            found[step] = np.minimum(residual / y.var(axis=0), 1.0)
    return found


def first_row(row, n_samples, n_steps):
    """E of the first row whose linear probe was learned for some steps, and whose networks leave no loss."""
    from unbraid.probes.capacity import MLPLadder

    ladder = MLPLadder(widths=WIDTHS["separate"], networks="separate", capacity="parameters")
    at = ladder._capacities(row.n_codes, [1] * 5)
    last = largest(row.n_codes, "separate")
    for step, losses in linear_by_steps(drawn(row, n_samples), n_steps).items():
        curve = np.zeros_like(at)
        curve[:, 0] = losses
        yield step, {"linear loss": float(losses.mean()), "explicitness": explicitness(at, curve, last)}


def main(arguments=None):
    from unbraid.reproduce import IWO_TABLE1

    parser = options(__doc__, __file__)
    parser.add_argument("--rows", default="3,5,9,17")
    parser.add_argument("--networks", nargs="+", default=["separate", "shared"])
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--steps", type=int, nargs="+", default=[4000])
    parser.add_argument("--linear-steps", type=int, nargs="+", default=[1000, 2000, 2700, 4000, 8000])
    given = parse(parser, __file__, arguments, rows="3", samples=300, steps=[10], linear_steps=[2])
    by_steps = dict(first_row(IWO_TABLE1[0], given.samples, given.linear_steps))
    found = {"row 1, linear probe by steps": {"machine": machine(), "paper": 0.9, "steps": by_steps}}
    print(json.dumps(found), flush=True)
    keep(given.output, found, beside_others=True)
    asked = product(map(int, given.rows.split(",")), given.networks, given.steps)
    for number, networks, n_steps in asked:
        widths = (2,) if given.tiny else WIDTHS[networks]
        line = by_networks(IWO_TABLE1[number - 1], networks, given.samples, n_steps, widths)
        name = f"row {number}, {networks} networks, {n_steps} steps"
        print(json.dumps({name: line}), flush=True)
        keep(given.output, {name: {"machine": machine(), "samples": given.samples, **line}}, beside_others=True)


if __name__ == "__main__":
    main()
