"""How the entropy of the latents that a linear beta-VAE keeps changes with beta, in closed form, on digits.

    python benchmarks/linear_vae.py                 # scikit-learn's digits
    python benchmarks/linear_vae.py --data mnist    # a folder with MNIST

In a linear VAE with noise of variance s, the latent of a principal component of variance v is kept while v > beta s,
and moves the data by the root of v - beta s. So the entropy of every latent falls as beta grows, and the mean over the
latents kept grows only because weak latents leave. It falls where none leaves, and where the last ones are close to
their end. The noise is chosen so that the last latent leaves at the beta given by --collapse.
"""

import json
from itertools import pairwise

import numpy as np

from measure import keep, machine, options, parse
from unbraid.data.mnist import bundled_digits, mnist_digits
from unbraid.reproduce.vae_spectrum import FULL, TESTED_SHARE


def spectrum(variances, n_codes, collapse):
    """Latents kept and their mean entropy, for each beta below the collapse."""
    noise = variances[0] / collapse
    found = []
    for beta in FULL.betas:
        left = variances[:n_codes] - beta * noise
        left = left[left > 0]
        if beta <= TESTED_SHARE * collapse and len(left):
            mean = float(np.mean(0.5 * np.log(2 * np.pi * np.e * left)))
            found.append({"beta": beta, "kept": len(left), "mean_entropy": round(mean, 3)})
    return found


def main(arguments=None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="a folder with MNIST")
    parser.add_argument("--collapse", type=float, default=30.0, help="the beta at which the last latent leaves")
    given = parse(parser, __file__, arguments)
    digits = bundled_digits() if given.data is None else mnist_digits(given.data)[0]
    rows = digits.images.reshape(len(digits.images), -1) / 255
    variances = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    for n_codes in FULL.n_codes:
        found = spectrum(variances, n_codes, given.collapse)
        falls = sum(later["mean_entropy"] < earlier["mean_entropy"] for earlier, later in pairwise(found))
        line = {"n_digits": len(rows), "n_falls": falls, "of": len(found) - 1, "by_beta": found}
        print(
            f"{n_codes} latents: the mean entropy falls at {falls} of {len(found) - 1} steps of beta", json.dumps(found)
        )
        keep(given.output, {f"{n_codes} latents": {"machine": machine(), **line}}, beside_others=True)


if __name__ == "__main__":
    main()
