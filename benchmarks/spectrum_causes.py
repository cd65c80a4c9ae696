"""Why spectra of beta-VAEs differ from what the manifold paper says of them: two experiments on the same digits.

    python benchmarks/spectrum_causes.py --data MNIST   # two minutes on one core
    python benchmarks/spectrum_causes.py                # scikit-learn's digits

The first is a closed form: the best linear VAE of the digits, whose latent of variance v, in units of the noise, is
kept while v > beta and moves the picture by the root of v - beta. The second trains small VAEs and takes the total
correlation of the latents that are kept, and of those that are not, each by themselves.
"""

import json

import numpy as np

from measure import keep, machine, options, parse

BETAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 40, 50, 100)
#: Pixels whose ink varies less than this are left out of the linear VAE.
LEAST_VARIANCE = 1e-3


def linear_vae(images, n_codes):
    """Latents kept by the best linear VAE with Bernoulli pixels, expanded about the mean picture, and their entropy."""
    x = images.reshape(len(images), -1) / 255
    noise = x.mean(axis=0) * (1 - x.mean(axis=0))
    inked = noise > LEAST_VARIANCE
    variances = np.linalg.eigvalsh(np.cov((x[:, inked] / np.sqrt(noise[inked])).T))[::-1][:n_codes]
    lines = {}
    for beta in BETAS:
        left = variances[variances > beta] - beta
        mean = 0.5 * (1 + np.log(2 * np.pi)) + 0.5 * np.log(left).mean() if len(left) else None
        lines[str(beta)] = {"kept": len(left), "mean_entropy": mean}
    means = [line["mean_entropy"] for line in lines.values() if line["mean_entropy"] is not None]
    return {"largest_variance": variances[0], "times_lower": int((np.diff(means) < 0).sum()), "betas": lines}


def parts_of_total_correlation(images, given):
    """Total correlation of kept and of unused latents of small VAEs, per latent, beside that of all."""
    from unbraid.manifold import analyze
    from unbraid.models import train
    from unbraid.reproduce.vae_spectrum import n_kept

    betas = (0.5, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
    ensemble = train(
        "beta_vae",
        images[:, None],
        seeds=0,
        beta=betas,
        n_steps=given.steps,
        n_codes=given.codes,
        width=16,
        batch_size=64,
        learning_rate=1e-3,
        network="mlp",
        precision="float32",
        progress=False,
    )
    lines = {}
    for member, beta in enumerate(betas):
        decoder, shared = ensemble[member].decoder, {"latent_dim": given.codes, "n_samples": 100, "progress": False}
        whole = analyze(decoder, **shared)
        kept = n_kept(whole.sorted_entropy)
        sets = {"kept": whole.order[:kept].tolist(), "unused": whole.order[kept:].tolist()}
        lines[str(beta)] = {"kept": kept, "total_correlation_per_latent": whole.total_correlation_per_latent} | {
            f"{name}_total_correlation_per_latent": analyze(
                decoder, latents=chosen, **shared
            ).total_correlation_per_latent
            for name, chosen in sets.items()
            if len(chosen) > 1
        }
    return lines


def main(arguments=None):
    from unbraid.data.mnist import bundled_digits, mnist_digits

    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--codes", type=int, default=30)
    given = parse(parser, __file__, arguments, steps=2, codes=3)
    images = (bundled_digits() if given.data is None else mnist_digits(given.data)[0]).images
    for n_codes in (100, 10):
        line = linear_vae(images, n_codes)
        print(json.dumps({f"linear, {n_codes} latents": line}), flush=True)
        keep(given.output, {f"linear, {n_codes} latents": line}, beside_others=True)
    found = parts_of_total_correlation(images, given)
    print(json.dumps(found), flush=True)
    about = {"machine": machine(), "n_digits": len(images), "steps": given.steps, "codes": given.codes}
    keep(given.output, {"total correlation": about | {"betas": found}}, beside_others=True)


if __name__ == "__main__":
    main()
