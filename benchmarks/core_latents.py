"""Core latents of flows of digits beside as many principal components, and their total correlation.

    python benchmarks/core_latents.py --data MNIST   # seconds; the flows are those kept in docs/reproductions
    python benchmarks/core_latents.py                # principal components of scikit-learn's digits

A flow whose core is filled rebuilds more of the digits' variance from its core than as many principal components do,
and its core latents are those with the highest entropy: a knee is missing behind 100 core latents, which are not.

The total correlation is the sum of the entropies of the latents less the entropy of all, for which minus the
log-density of held-out digits stands in; beside flows trained by likelihood alone, whose own is kept, it shows how good
a stand-in this is.
"""

import json
from pathlib import Path

import numpy as np

from measure import keep, machine, options, parse

KEPT = Path(__file__).parents[1] / "docs" / "reproductions"


def lines_of(given):
    """For each number of core latents, variance rebuilt by the flow and by principal components."""
    from unbraid.reproduce import REPRODUCTIONS
    from unbraid.reproduce.digit_flows.flows import normalised, read_digits
    from unbraid.reproduce.run import load_run

    images, _ = read_digits(given.data)
    x = normalised(images[: given.rows])
    variances = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    shares = np.cumsum(variances) / variances.sum()
    flows = load_run(KEPT, REPRODUCTIONS["core-latents"]).result.flows
    for flow in (one for one in flows if one.n_core < len(shares)):
        order = np.argsort(-np.array(flow.latent_entropy, dtype=float))
        yield {
            "core_latents": flow.n_core,
            "rebuilt_by_the_flow": flow.rebuilt,
            "rebuilt_by_principal_components": float(shares[flow.n_core - 1]),
            "core_latents_among_as_many_of_highest_entropy": int((order[: flow.n_core] < flow.n_core).sum()),
        }


def correlations():
    """Total correlation, nats per latent, of kept flows with core latents and of those trained by likelihood alone."""
    from unbraid.reproduce import REPRODUCTIONS
    from unbraid.reproduce.run import load_run

    kept = [(name, load_run(KEPT, REPRODUCTIONS[name]).result) for name in ("core-latents", "digits-flows")]
    for name, flow in ((name, flow) for name, result in kept for flow in result.flows):
        entropies = np.array(flow.latent_entropy, dtype=float)
        by_density = float(entropies.mean()) - flow.held_out_nats_per_pixel
        core = name == "core-latents"
        line = {"flow": "GLOW-like" if core else flow.name, "by_density": by_density}
        yield line | ({"core_latents": flow.n_core} if core else {"kept": flow.total_correlation.ours})


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--rows", type=int, default=20_000, help="digits at most")
    given = parse(parser, __file__, arguments, rows=200)
    lines = []
    for line in lines_of(given):
        print(json.dumps(line), flush=True)
        lines.append(line)
    total = list(correlations())
    print("\n".join(map(json.dumps, total)))
    keep(given.output, {"machine": machine(), "lines": lines, "total_correlation": total})


if __name__ == "__main__":
    main()
