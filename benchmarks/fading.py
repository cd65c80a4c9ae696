"""Disentanglement by DCI where the signal fades into noise, and of codes that are nothing but noise.

    python benchmarks/fading.py --jobs 2               # prints, and writes benchmarks/fading.json

Five factors of ten values are rotated, scaled by the signal, and added to noise of variance 1; DCI is scored by the
default panel with each of its three probes. As the signal fades, D must not rise beyond chance: its confidence interval
must not lie above D of a stronger signal. Codes of noise have ten factors of six values to be predicted, in 20 seeds.
"""

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import fill_in, keep, machine, options, parse
from unbraid import evaluate

PROBES = ("dci_linear", "dci_forest", "dci_boosting")
SIGNALS = (3.0, 1.0, 0.5, 0.3, 0.2, 0.1)


def faded(signal, n_rows, seed):
    """Return rotated codes under noise, and their factors."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 10, (n_rows, 5))
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(5, 5)))[0]
    return signal * (factors - 4.5) / 2.87 @ turn + rng.normal(size=(n_rows, 5)), factors


def noise(n_rows, seed):
    """Return codes that know nothing of the factors, and ten factors."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 5)), rng.integers(0, 6, (n_rows, 10))


def scored(codes, factors, probe):
    """Return D, its interval, and whether the panel calls D better than chance."""
    warnings.simplefilter("ignore")
    name = f"{probe}.disentanglement"
    found = evaluate(codes, factors, metrics=[name], n_jobs=1, progress=False)[name]
    return {"value": found.value, "low": found.low, "high": found.high, "beats_chance": found.beats_chance}


def fade(probe, signal, n_rows, seed):
    """Score codes under noise."""
    return scored(*faded(signal, n_rows, seed), probe)


def of_noise(probe, n_rows, seed):
    """Score codes of noise."""
    return scored(*noise(n_rows, seed), probe)


def rises(curve):
    """Count pairs of signals of which the weaker has an interval above D of the stronger."""
    return sum(weaker["low"] > one["value"] for k, one in enumerate(curve) for weaker in curve[k + 1 :])


def as_markdown(found):
    """Return a table for a page: D by signal, and the largest D of noise."""
    signals, seeds = found["signals"], len(found["noise"][PROBES[0]])
    lines = [
        f"| Probe | {' | '.join(f'signal {signal:g}' for signal in signals)} | noise, {seeds} seeds: largest |",
        "|---" * (len(signals) + 2) + "|",
    ]
    for probe in PROBES:
        cells = [f"{one['value']:.3f} [{one['low']:.2f}, {one['high']:.2f}]" for one in found["fading"][probe]]
        lines.append(f"| `{probe}` | {' | '.join(cells)} | {max(one['value'] for one in found['noise'][probe]):.3f} |")
    return "\n".join(lines)


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise-seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", type=Path, help="a page whose marked block is written anew")
    given = parse(parser, __file__, arguments, rows=120, noise_seeds=1)
    with ProcessPoolExecutor(given.jobs) as pool:
        fading = {p: [pool.submit(fade, p, signal, given.rows, given.seed) for signal in SIGNALS] for p in PROBES}
        noisy = {p: [pool.submit(of_noise, p, given.rows, seed) for seed in range(given.noise_seeds)] for p in PROBES}
        found = {"signals": SIGNALS}
        for name, waiting in (("fading", fading), ("noise", noisy)):
            found[name] = {probe: [one.result() for one in rows] for probe, rows in waiting.items()}
    for probe in PROBES:
        print(probe)
        for signal, one in zip(SIGNALS, found["fading"][probe], strict=True):
            chance = "beats chance" if one["beats_chance"] else "not beyond chance"
            print(f"    signal {signal:<4g} D {one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}], {chance}")
        values = np.array([one["value"] for one in found["noise"][probe]])
        print(f"    rises beyond chance: {rises(found['fading'][probe])} pairs")
        print(f"    codes of noise: largest D {values.max():.3f} of {len(values)}, above 0.1: {(values > 0.1).sum()}")
    fill_in(given.page, "fading", as_markdown(found))
    keep(given.output, {"machine": machine(), "rows": given.rows, **found})


if __name__ == "__main__":
    main()
