"""Time and memory of manifold entropies: many latents on a processor, flows and large decoders on a GPU.

    python benchmarks/manifold.py                               # 784 latents, 64 samples, on this machine's processor
    python benchmarks/manifold.py --device cuda --arrays-only   # a GPU, where only NumPy and torch are there

The pairwise mutual information of all latents is compared with what the paper does, a 2 x 2 determinant for every pair:
of those only some pairs are run, and the time of all follows by their number.
"""

import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from torch import nn

from measure import keep, leave_out_the_rest, machine, options, parse

PUBLISHED = {"pairs": 78.0, "flow": 10.0}


class Coupling(nn.Module):
    """An affine coupling: half of the channels scale and shift the other half, then all are shuffled."""

    def __init__(self, channels, hidden, convolution):
        super().__init__()
        kept, moved = channels // 2, channels - channels // 2
        layer = (lambda a, b: nn.Conv2d(a, b, 3, padding=1)) if convolution else nn.Linear
        self.kept = kept
        self.net = nn.Sequential(
            layer(kept, hidden), nn.ReLU(), layer(hidden, hidden), nn.ReLU(), layer(hidden, 2 * moved)
        )
        self.register_buffer("shuffle", torch.randperm(channels))

    def forward(self, x):
        """From latents towards data."""
        first, second = x[:, : self.kept], x[:, self.kept :]
        scale, shift = self.net(first).chunk(2, dim=1)
        return torch.cat([first, second * torch.exp(torch.tanh(scale)) + shift], dim=1)[:, self.shuffle]


def glow(side):
    """A decoder from latents to images, with the layers of Table E.1: 8 dense couplings, then 6 and 6 convolutional."""
    pixels = side * side
    dense = [Coupling(pixels, 201, False) for _ in range(8)]
    coarse = [Coupling(16, 64, True) for _ in range(6)]
    fine = [Coupling(4, 16, True) for _ in range(6)]
    shape = nn.Unflatten(1, (16, side // 4, side // 4))
    return nn.Sequential(*dense, shape, *coarse, nn.PixelShuffle(2), *fine, nn.PixelShuffle(2)).eval()


def image_decoder(latents=128, channels=512, doublings=6):
    """From latents to 3 x 256 x 256 by convolutions and doublings, like the generator of a GAN."""
    layers = [nn.Linear(latents, channels * 16), nn.Unflatten(1, (channels, 4, 4))]
    for _ in range(doublings):
        narrower = max(channels // 2, 32)
        layers += [nn.Upsample(scale_factor=2), nn.Conv2d(channels, narrower, 3, padding=1), nn.ReLU()]
        channels = narrower
    return nn.Sequential(*layers, nn.Conv2d(channels, 3, 3, padding=1), nn.Tanh()).eval()


def timed(work, device, repeats=1):
    """Result, and seconds of the fastest run: of the clock on a GPU, of the processor, on one thread, elsewhere.

    The latter hardly depend on what else the machine is doing.
    """
    clock = time.process_time if device == "cpu" else time.perf_counter
    best = float("inf")
    for _ in range(repeats):
        synchronise(device)
        started = clock()
        result = work()
        synchronise(device)
        best = min(best, clock() - started)
    return result, best


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def pairs_from_gram(gram):
    """The matrix of mutual information and its standard error."""
    from unbraid.evidence.jacobians import gram as grams
    from unbraid.evidence.jacobians.gram import Moments

    lengths = grams.column_lengths(gram)
    moments = Moments()
    moments.add(grams.pair_information(grams.cosines(gram, lengths, lengths)))
    return moments.mean(), moments.standard_error()


def by_determinants(columns, pairs):
    """What the paper does: for each pair, the volumes of two columns, known, and of both together."""
    alone = columns.norm(dim=2).log()
    found = []
    for i, j in pairs:
        both = columns[:, [i, j]]
        together = 0.5 * torch.logdet(both @ both.mT)
        found.append((alone[:, i] + alone[:, j] - together).mean())
    return torch.stack(found)


def measure_pairs(device, latents, n_samples, n_pairs):
    """Ours on all pairs against determinants on some, from the same Jacobians."""
    from unbraid.evidence.jacobians.gram import gram_of

    generator = torch.Generator(device).manual_seed(0)
    jacobian = torch.randn(n_samples, latents, latents, generator=generator, device=device)
    ready = jacobian.numpy() if device == "cpu" else jacobian
    pairs_from_gram(gram_of(ready[:2]))  # starting the libraries is not what is timed
    gram, gram_seconds = timed(lambda: gram_of(ready), device, repeats=2)
    (matrix, _), seconds = timed(lambda: pairs_from_gram(gram), device, repeats=3)
    chosen = np.random.default_rng(0).choice(latents, (n_pairs, 2))
    chosen = chosen[chosen[:, 0] != chosen[:, 1]]
    columns = jacobian.mT.contiguous()
    by_determinants(columns, chosen[:2].tolist())
    expected, slow = timed(lambda: by_determinants(columns, chosen.tolist()), device)
    error = np.abs(matrix[chosen[:, 0], chosen[:, 1]] - expected.double().cpu().numpy()).max()
    all_pairs = latents * (latents - 1) // 2
    slow_all = slow / len(chosen) * all_pairs
    return {
        "name": f"pairwise mutual information, {latents} latents, {n_samples} samples, {device}",
        "seconds_from_gram": seconds,
        "seconds_from_jacobians": seconds + gram_seconds,
        "determinants_run": len(chosen),
        "determinants_in_all": all_pairs,
        "seconds_by_determinants_extrapolated": slow_all,
        "times_faster": slow_all / (seconds + gram_seconds),
        "largest_difference": float(error),
    }


def analyze(decoder, latent_dim, n_samples, device, memory):
    """Everything that ``unbraid.manifold.analyze`` finds, without what it needs pandas for."""
    from unbraid.evidence.jacobians.priors import draw_latents
    from unbraid.evidence.jacobians.sources import decoder_jacobians
    from unbraid.evidence.jacobians.statistics import collect

    latents = draw_latents(None, n_samples, latent_dim, np.random.default_rng(0))
    source = decoder_jacobians(decoder, latents, memory=memory)
    return source, collect(source, [np.array([i]) for i in range(latent_dim)])


def measure_everything(latents, n_samples, memory):
    """All numbers from Jacobians that are there already."""
    from unbraid.evidence.jacobians.sources import precomputed
    from unbraid.evidence.jacobians.statistics import collect

    jacobian = np.random.default_rng(0).standard_normal((n_samples, latents, latents), dtype=np.float32)
    sets = [np.array([i]) for i in range(latents)]
    _, seconds = timed(lambda: collect(precomputed(jacobian, memory=memory), sets), "cpu")
    return {"name": f"everything from Jacobians, {latents} latents, {n_samples} samples, cpu", "seconds": seconds}


def measure_flow(device, side, n_samples, memory):
    """Jacobians, entropies, total correlation and all pairs of a flow on images of 28 x 28."""
    torch.manual_seed(0)
    decoder, latents = glow(side).to(device), side * side
    analyze(decoder, latents, 2, device, memory)
    reset_peak(device)
    (source, found), seconds = timed(lambda: analyze(decoder, latents, n_samples, device, memory), device)
    _, jacobian_seconds = timed(lambda: [chunk.start for chunk in source.chunks()], device)
    return {
        "name": f"flow, {latents} latents, {n_samples} samples, {device}, memory={memory}",
        "parameters": sum(p.numel() for p in decoder.parameters()),
        "seconds": seconds,
        "seconds_of_jacobians_alone": jacobian_seconds,
        "chunk": source.chunk_size,
        "gib": peak_gib(device),
        "total_correlation_per_latent": float((found.log_lengths.sum(axis=1) - found.log_volumes).mean() / latents),
    }


def measure_large(device, n_samples, memory, doublings, channels):
    """A decoder with many outputs: what is needed beyond its own forward-mode passes."""
    torch.manual_seed(0)
    decoder = image_decoder(channels=channels, doublings=doublings).to(device)
    analyze(decoder, 128, 2, device, memory)
    reset_peak(device)
    (source, _), seconds = timed(lambda: analyze(decoder, 128, n_samples, device, memory), device)
    gib = peak_gib(device)
    _, passes = timed(lambda: forward_passes(source), device)
    return {
        "name": f"128 latents to {source.decoder.data_dim} outputs, {n_samples} samples, {device}, memory={memory}",
        "seconds": seconds,
        "seconds_of_forward_passes": passes,
        "seconds_beyond": seconds - passes,
        "chunk": source.chunk_size,
        "gib": gib,
    }


def forward_passes(source):
    """The same passes of the decoder with nothing kept."""
    from unbraid.evidence.jacobians.autodiff import _push_shared
    from unbraid.evidence.jacobians.budget import rows_at_once

    decoder, latent_dim = source.decoder, source.latent_dim
    directions = max(1, rows_at_once(source.memory, decoder.row_bytes) // source.chunk_size)
    identity = torch.eye(latent_dim, dtype=decoder.dtype, device=decoder.device)
    for start in range(0, source.n_samples, source.chunk_size):
        z = torch.as_tensor(source.latents.z[start : start + source.chunk_size]).to(decoder.device, decoder.dtype)
        for first in range(0, latent_dim, directions):
            block = identity[first : first + directions]
            _push_shared(decoder.call, z, block)


def reset_peak(device):
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_gib(device):
    return torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--arrays-only", action="store_true", help="do not import the package, only NumPy and torch")
    parser.add_argument("--parts", default="", help="pairs, everything, flow, large; by default what the device is for")
    parser.add_argument("--side", type=int, default=28, help="of the images of the flow, whose pixels are the latents")
    parser.add_argument("--samples", type=int, help="64 on a processor, 1000 on a GPU")
    parser.add_argument("--large-samples", type=int, default=64, help="samples of the large decoder")
    parser.add_argument("--channels", type=int, default=512, help="of the large decoder, at 4 pixels")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs to find by determinants")
    parser.add_argument("--doublings", type=int, default=6, help="of the side of the large decoder, from 4 pixels")
    parser.add_argument(
        "--memory", default="2GiB,16GiB,8GiB", help="budgets: processor, flow and large decoder on a GPU"
    )
    small = {"side": 8, "samples": 3, "large_samples": 2, "channels": 8, "pairs": 20, "doublings": 2}
    given = parse(parser, __file__, arguments, parts="pairs,everything,flow,large", **small)
    if given.arrays_only:
        leave_out_the_rest()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    device = given.device
    on_cpu, flow_memory, large_memory = given.memory.split(",")
    samples, latents = given.samples or (64 if device == "cpu" else 1000), given.side**2
    work = {
        "pairs": lambda: measure_pairs(device, latents, samples, given.pairs),
        "everything": lambda: measure_everything(latents, samples, on_cpu),
        "flow": lambda: measure_flow(device, given.side, samples, flow_memory),
        "large": lambda: measure_large(device, given.large_samples, large_memory, given.doublings, given.channels),
    }
    lines = []
    for part in (given.parts or ("pairs,everything" if device == "cpu" else "pairs,flow,large")).split(","):
        lines.append(work[part]())
        print(json.dumps(lines[-1], indent=1), flush=True)
    where = machine() | {"torch": torch.__version__, "published_seconds_rtx_4090": PUBLISHED}
    if device == "cuda":
        where["gpu"] = torch.cuda.get_device_name()
    keep(given.output, {device: {"machine": where, "rows": lines}}, beside_others=True)


if __name__ == "__main__":
    main()
