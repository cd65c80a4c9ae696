"""What the total correlations of the wavelet and the GLOW-like flow of digits depend on: steps, noise, blocks, digits.

    python benchmarks/wavelet_causes.py                                          # 8 by 8 digits; minutes
    python benchmarks/wavelet_causes.py --data MNIST --device cuda --steps 3000  # published sizes, on one H200

Flows are trained one after the other, on a GPU as recorded graphs, and measured at some steps on the way, where the
learning rate has not fallen yet, and at the end. The total correlation is divided into that within each set of latents
of the wavelet flow (the average and the two details) and that between the sets, in nats per latent of all.
"""

import copy
import json
import time
from dataclasses import dataclass, field

import numpy as np

from measure import keep, leave_out_the_rest, machine, options, parse

#: Deviations of the noise, in units of the deviation of all pixels. Of MNIST's pixels from 0 to 1 these are 0.0026, as
#: in the kept runs, 0.0084 and 0.026; a noise of 0.01 there is 0.0386 here.
NOISE = (0.1, 0.0325, 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A flow and how it is trained.

    Attributes:
        kind: ``"wavelet"`` or ``"GLOW-like"``.
        noise: Deviation of the noise added to pixels.
        n_blocks: Couplings of convolutions, and fully connected ones.
        n_digits: Digits to learn from at most; 0 for all.
        more: Other arguments of the builder.
    """

    kind: str
    noise: float
    n_blocks: tuple[int, int]
    n_digits: int = 0
    more: dict[str, object] = field(default_factory=dict)

    def make(self, side):
        """Return the flow, untrained."""
        from unbraid.models.flows.build import glow_flow, wavelet_flow

        build = wavelet_flow if self.kind == "wavelet" else glow_flow
        return build(side, n_blocks=self.n_blocks, **self.more)


def variants_of(given):
    """Return flows by name: both kinds at each noise, then wavelet flows of other blocks and of fewer digits."""
    share = 1 if given.blocks is None else given.blocks / 10
    few, many = max(1, round(4 * share)), max(1, round(6 * share))
    sizes = {"channels": tuple(given.channels), "width": given.width}
    found = {}
    for noise in NOISE:
        found[f"wavelet, noise {noise}"] = Variant(kind="wavelet", noise=noise, n_blocks=(many, few), more=sizes)
        found[f"GLOW-like, noise {noise}"] = Variant(
            kind="GLOW-like", noise=noise, n_blocks=(many, 2 * few), more={**sizes, "as_counted": True}
        )
    plain = {"kind": "wavelet", "noise": NOISE[-1], "more": sizes}
    found["wavelet, convolutions alone"] = Variant(n_blocks=(many + few, 0), **plain)
    found["wavelet, fewer digits"] = Variant(n_blocks=(many, few), n_digits=given.few, **plain)
    return {name: one for name, one in found.items() if not given.only or name in given.only}


def read(data):
    """Return digits less their mean, divided by the deviation of all pixels, flat, in a fixed random order."""
    from unbraid.data.mnist import mnist_digits

    if data is None:
        from sklearn.datasets import load_digits

        images = load_digits().images.reshape(-1, 64) / 16
    else:
        parts = [part.images for part in mnist_digits(data) if part is not None]
        images = np.concatenate(parts).reshape(-1, 784) / 255
    centred = images - images.mean(axis=0)
    return (centred / centred.std())[np.random.default_rng(0).permutation(len(centred))]


class Training:
    """A variant in training.

    Args:
        variant: The flow and its settings.
        x: Digits to learn from.
        unseen: Digits held out.
        given: Options of the command line.
    """

    def __init__(self, variant, x, unseen, given):
        import torch

        from unbraid.models.flows.loop import FlowLearner, FlowRun
        from unbraid.models.flows.training import initialise, negative_log_likelihood

        self.given, self.noise = given, variant.noise
        self.unseen = torch.as_tensor(unseen, device=given.device)
        self.flow = variant.make(round(x.shape[1] ** 0.5)).to(given.device).train()
        x = torch.as_tensor(x[: variant.n_digits or None], dtype=torch.float32, device=given.device)
        run = FlowRun(
            n_steps=given.steps,
            batch_size=given.batch,
            learning_rate=given.rate,
            noise=variant.noise,
            seed=0,
            check_every=given.steps,
        )
        initialise(self.flow, x, None, noise=variant.noise, seed=0)
        recorded = given.device == "cuda"
        self.learner = FlowLearner(self.flow, x, None, negative_log_likelihood, run, recorded=recorded)

    def measure(self):
        """Return likelihood, entropies and total correlations at samples of the prior and at digits."""
        import torch

        flow = copy.deepcopy(self.flow).eval().double()
        noisy = self.unseen + self.noise * torch.randn(self.unseen.shape, device=self.unseen.device).double()
        with torch.no_grad():
            nats = -float(flow.log_prob(noisy).mean()) / flow.size
            digits = flow.encode(noisy[: self.given.points]).cpu().numpy()
        line = {"steps": len(self.learner.losses), "nats_per_pixel": nats}
        line["last_loss_per_pixel"] = float(torch.stack(self.learner.losses[-50:]).mean()) / flow.size
        samples = np.random.default_rng(0).normal(size=digits.shape)
        return line | {"samples": self.correlations(flow, samples), "digits": self.correlations(flow, digits)}

    def correlations(self, flow, points):
        """Return the total correlation and its parts, per latent of all, and mean entropies of the sets."""
        from unbraid.manifold.analysis import analyze
        from unbraid.models.flows.build import wavelet_partition

        sets = wavelet_partition(round(flow.size**0.5))
        found = analyze(
            flow.decode,
            prior=points,
            partition=sets,
            dtype="float64",
            device=self.given.device,
            memory="2GiB" if self.given.device == "cpu" else "16GiB",
            progress=False,
        )
        of_sets = {
            name: float(found.latent_entropy[list(members)].sum() - found.manifold_entropy[k])
            for k, (name, members) in enumerate(sets.items())
        }
        whole = float(found.latent_entropy.sum() - found.total_entropy)
        parts = {"all": whole, "between the sets": float(found.total_correlation), **of_sets}
        return {
            "total_correlation": {name: value / flow.size for name, value in parts.items()},
            "mean_entropy": {name: float(found.latent_entropy[list(own)].mean()) for name, own in sets.items()},
        }


def lines_of(given):
    """Train one variant after the other, and yield what is measured of each."""
    x = read(given.data)
    held_out, known = x[: min(len(x) // 10, 2000)], x[len(x) // 10 :]
    looks = sorted({step for step in given.looks if step < given.steps} | {given.steps})
    for name, variant in variants_of(given).items():
        started = time.perf_counter()
        training = Training(variant, known, held_out, given)
        for look in looks:
            while len(training.learner.losses) < look:
                training.learner.advance()
            found = training.measure()
            yield {"flow": name, **found, "seconds": round(time.perf_counter() - started, 1)}


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--arrays-only", action="store_true", help="NumPy, torch and zuko are all there is")
    parser.add_argument("--steps", type=int, default=2000, help="training steps of each flow")
    parser.add_argument("--looks", type=int, nargs="*", default=[250, 1000, 3000, 6000], help="measured here too")
    parser.add_argument("--only", nargs="*", default=[], help="names of variants; all by default")
    parser.add_argument("--blocks", type=int, help="couplings of each scale in all, 10 as published without")
    parser.add_argument("--channels", type=int, nargs=2, default=[16, 64], help="of the convolutions at both scales")
    parser.add_argument("--width", type=int, default=201, help="of the fully connected networks")
    parser.add_argument("--few", type=int, default=9000, help="digits of the variant of fewer digits")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--points", type=int, default=100, help="samples, and digits, at which flows are measured")
    given = parse(
        parser, __file__, arguments, steps=2, looks=[1], blocks=2, channels=[4, 4], width=8, points=2, batch=16
    )
    if given.arrays_only:
        leave_out_the_rest()
    where = machine()
    if given.device == "cuda":
        import torch

        where |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    found = {"machine": where, "steps": given.steps, "batch": given.batch, "rate": given.rate, "lines": []}
    name = f"{'MNIST' if given.data else 'small digits'}, {given.steps} steps"
    for line in lines_of(given):
        print(json.dumps(line), flush=True)
        found["lines"].append(line)
        keep(given.output, {name: found}, beside_others=True)


if __name__ == "__main__":
    main()
