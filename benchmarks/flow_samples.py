"""Flows of digits measured at samples of their prior and at encoded digits: why their spectra are not as published.

    python benchmarks/flow_samples.py                                    # 8 by 8 digits, published blocks; minutes
    python benchmarks/flow_samples.py --data MNIST --steps 300 --points 2  # 28 by 28 pixels, GIN and cINN
    python benchmarks/flow_samples.py --flows GLOW-like wavelet --steps 100 600 --core 4   # with core latents as well
    python benchmarks/flow_samples.py --data MNIST --flows GLOW-like --device cuda --recorded --steps 3000 20000
    python benchmarks/flow_samples.py --data MNIST --shrink 3 --rows 70000 --steps 600 6000 20000  # 8 by 8; an hour

The published metrics are means over samples of the prior. A flow that has not learned the digits well decodes samples
of its prior to pictures unlike digits, where couplings stretch more than they were ever trained to; at encoded digits
they stretch as trained. With --core GLOW-like flows are also trained to rebuild digits from so many latents, as the
flows of Fig. 3 are. The first line is a flow whose answer is known: a GIN without couplings, which only reorders
and rotates, and whose columns are as long as the deviations of its classes.
"""

import json

import numpy as np

from measure import keep, machine, options, parse

#: Noise of the small digits, as in the reproduction; MNIST's have less.
SMALL_NOISE, NOISE = 0.1, 0.01


def known_gin():
    """Largest error of the entropies of a GIN without couplings, against the logarithms of its deviations."""
    import torch

    from unbraid.models.flows import gin_flow
    from unbraid.reproduce.digit_flows.flows import measured_classes

    found = {}
    for as_counted in (False, True):
        flow = gin_flow(8, 10, n_blocks=(0, 0), as_counted=as_counted).double()
        with torch.no_grad():
            flow.prior.log_deviations.copy_(torch.randn(10, 64, generator=torch.Generator().manual_seed(0)))
        logs = flow.prior.log_deviations.detach().numpy().mean(axis=0)
        entropies = measured_classes(flow, 20, "cpu", 0, False).latent_entropy
        truth = 0.5 * (1 + np.log(2 * np.pi)) + logs
        found["networks see the class" if as_counted else "networks do not"] = float(np.abs(entropies - truth).max())
    return {"largest error of an entropy, nats": found}


def noise_of(flow, x, labels):
    """Return standard normal noise that the decoders of classes turn into the digits ``x``."""
    import torch

    where = next(flow.parameters()).device
    x, labels = x.to(where), labels.to(where)
    with torch.no_grad():
        z = flow.encode(x, labels)
        means = getattr(flow.prior, "means", None)
        return z if means is None else (z - means[labels]) / flow.prior.deviations[labels]


def at_points(flow, digits, labels, n_points, device):
    """Entropies and total correlation at samples of the prior and at digits, as many for each class."""
    import torch

    from unbraid.manifold import analyze

    found = {}
    for place in ("samples of the prior", "digits"):
        entropies, correlations = [], []
        for label in range(10):
            rows = np.flatnonzero(labels == label)[:n_points]
            x, y = torch.as_tensor(digits[rows]), torch.as_tensor(labels[rows])
            rng = np.random.default_rng(label)
            points = noise_of(flow, x, y).cpu().numpy() if place == "digits" else rng.normal(size=(n_points, flow.size))
            of_class = label if flow.n_classes or hasattr(flow.prior, "means") else None
            one = analyze(flow.decoder(of_class), prior=points, dtype="float64", device=device, progress=False)
            entropies.append(one.latent_entropy)
            correlations.append(one.total_correlation_per_latent)
        found[place] = np.mean(entropies, axis=0), float(np.mean(correlations))
    return found


def shrunk(images, factor):
    """Return the middle of pictures with as many pixels fewer on each side, each the mean of a square of them."""
    side = images.shape[1] // (4 * factor) * 4  # flows halve a picture twice
    cut = (images.shape[1] - side * factor) // 2
    middle = images[:, cut : cut + side * factor, cut : cut + side * factor]
    return middle.reshape(len(images), side, factor, side, factor).mean(axis=(2, 4))


def lines_of(given):
    """A line for each flow and number of steps, then the gap of GIN and cINN at samples and at digits."""
    from dataclasses import replace

    from unbraid.models.flows import negative_log_likelihood, train_flow, with_reconstruction
    from unbraid.reproduce.digit_flows.flows import FULL, make_flows, normalised, parted, read_digits
    from unbraid.reproduce.flows_of_digits import rank_correlation

    images, labels = read_digits(given.data)
    images, labels = shrunk(images[: given.rows], given.shrink), np.asarray(labels[: given.rows], dtype=np.int64)
    x, (known, new) = normalised(images), parted(len(images), 0)
    settings = replace(
        FULL,
        n_blocks=(given.blocks, given.blocks + given.blocks // 3),
        channels=tuple(given.channels or FULL.channels),
        width=given.width or FULL.width,
    )
    noise = SMALL_NOISE if given.data is None or given.shrink > 1 else NOISE
    rng = np.random.default_rng(0)
    for n_steps in given.steps:
        spectra = {}
        for name, n_core in [*((name, 0) for name in given.flows), *(("GLOW-like", n) for n in given.core)]:
            trained = train_flow(
                make_flows(images.shape[1], settings, 0)[name],
                x[known],
                labels=labels[known],
                objective=with_reconstruction(range(n_core), 1.0) if n_core else negative_log_likelihood,
                n_steps=n_steps,
                batch_size=given.batch,
                learning_rate=given.rate,
                noise=noise,
                device=given.device,
                recorded=given.recorded,
                progress=False,
            )
            flow = trained.flow.double().to(given.device)
            noisy = x[new] + noise * rng.normal(size=x[new].shape)
            measured = at_points(flow, noisy, labels[new], given.points, given.device)
            line = {"flow": name, "steps": n_steps, "nats_per_pixel": float(trained.losses[-20:].mean()) / flow.size}
            line |= {"core_latents": n_core} if n_core else {}
            for place, (entropies, correlation) in measured.items():
                line[f"total correlation at {place}"] = correlation
                line[f"mean entropy at {place}"] = float(entropies.mean())
                spectra[name, place] = np.sort(entropies)
                if name == "GIN":
                    deviations = flow.prior.deviations.mean(dim=0).detach().cpu().numpy()
                    line[f"deviations and entropies at {place}"] = rank_correlation(deviations, entropies)
            yield line
        if {"GIN", "cINN"} <= set(given.flows):
            yield {"steps": n_steps} | {
                f"GIN less cINN at {place}": float(np.abs(spectra["GIN", place] - spectra["cINN", place]).mean())
                for place in measured
            }


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--flows", nargs="+", default=["GIN", "cINN"])
    parser.add_argument("--core", type=int, nargs="*", default=[], help="core latents of more GLOW-like flows")
    parser.add_argument("--steps", type=int, nargs="+", default=[250, 1000, 4000])
    parser.add_argument("--blocks", type=int, default=6, help="couplings at each scale, as published")
    parser.add_argument(
        "--channels", type=int, nargs=2, help="of the convolutions at both scales, as published without"
    )
    parser.add_argument("--width", type=int, help="of the fully connected networks, as published without")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--rows", type=int, default=10_000, help="digits at most")
    parser.add_argument("--shrink", type=int, default=1, help="pixels on each side that become one")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recorded", action="store_true", help="record training steps as CUDA graphs")
    parser.add_argument("--points", type=int, default=8, help="samples and digits of each class")
    given = parse(parser, __file__, arguments, steps=[1], blocks=1, points=2, flows=["GIN"], core=[2])
    found = {"machine": machine(), "known": known_gin(), "lines": []}
    print(json.dumps(found["known"]), flush=True)
    for line in lines_of(given):
        print(json.dumps(line), flush=True)
        found["lines"].append(line)
    name = "MNIST" if given.data else "small digits"
    name = f"{name}, shrunk {given.shrink} times" if given.shrink > 1 else name
    usual = given.flows == parser.get_default("flows")
    keep(given.output, {name if usual else f"{name}, {' and '.join(given.flows)}": found}, beside_others=True)


if __name__ == "__main__":
    main()
