"""Images a second of many VAEs trained as one program, against one model at a time in a plain loop, in the same run.

    python benchmarks/ensemble.py                               # 8 small models on this machine's processor
    python benchmarks/ensemble.py --device cuda                 # 64 models of the published architecture on a GPU
    python benchmarks/ensemble.py --device cuda --arrays-only   # the same where only NumPy and torch are there

Data are binary pictures, kept where the models are. "One at a time" is the same engine with an ensemble of one; the
plain loop is what one would write by hand: torch's own layers, an eager step, Adam with its defaults.
"""

import argparse
import json
import os
import sys
import time
import types
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import machine

HERE = Path(__file__).parent
TARGETS = {"images_per_second": 400_000, "times_plain_loop": 30}


def squares(n_rows, side, seed=0):
    """Binary pictures of one square each."""
    rng = np.random.default_rng(seed)
    half = rng.integers(side // 16 + 1, side // 5 + 1, size=n_rows)
    x, y = rng.integers(side // 5, side - side // 5, size=(2, n_rows))
    at = np.arange(side)
    rows = np.abs(at - y[:, None]) <= half[:, None]
    columns = np.abs(at - x[:, None]) <= half[:, None]
    return (255 * (rows[:, None, :, None] & columns[:, None, None, :])).astype(np.uint8)


def settings_of(given, n_models, data):
    from unbraid.models.ensemble._settings import Settings, member_strengths

    seeds, strengths = member_strengths(given.model, {}, range(n_models))
    return Settings(
        model=given.model,
        data="squares",
        n_rows=len(data),
        shape=data.shape[1:],
        seeds=seeds,
        strengths=strengths,
        width=given.width,
        judge_width=min(1000, 32 * given.width),
        batch_size=given.batch,
        precision="bfloat16" if given.device == "cuda" else "float32",
    )


def clock(device):
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def time_engine(settings, source, given, steps):
    """Seconds of a step, after the first ones, and the losses at the end."""
    from unbraid.models.ensemble._engine import Engine

    started = time.perf_counter()
    engine = Engine(settings, source, device=given.device)
    engine.advance()
    clock(given.device)
    start_up = time.perf_counter() - started
    times = []
    for _ in range(3):
        before = clock(given.device)
        for _ in range(steps):
            losses = engine.advance()
        times.append((clock(given.device) - before) / steps)
    return sorted(times)[1], start_up, losses.mean(dim=1).tolist()


def plain_network(given, side, n_codes=10):
    """The published architecture in torch's own layers, with as many halvings as the picture allows."""
    from torch import nn

    from unbraid.models.ensemble._networks import inner_sizes

    width = given.width
    channels, (height, breadth) = inner_sizes((1, side, side), width)
    layers = []
    for before, after in pairwise((1, *channels)):
        layers += [nn.Conv2d(before, after, 4, 2, 1), nn.ReLU()]
    flat = channels[-1] * height * breadth
    encoder = nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(flat, 8 * width), nn.ReLU(), nn.Linear(8 * width, 2 * n_codes)
    )
    layers = [nn.Linear(n_codes, 8 * width), nn.ReLU(), nn.Linear(8 * width, flat), nn.ReLU()]
    layers.append(nn.Unflatten(1, (channels[-1], height, breadth)))
    outwards = (*channels[::-1], 1)
    for before, after in pairwise(outwards):
        layers += [nn.ConvTranspose2d(before, after, 4, 2, 1), nn.ReLU()]
    return encoder.to(given.device), nn.Sequential(*layers[:-1]).to(given.device)


def time_plain(data, given, steps):
    """Seconds of a step of one beta-VAE, written by hand."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    torch.manual_seed(0)
    encoder, decoder = plain_network(given, data.shape[-1])
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
    kept = torch.as_tensor(data, device=given.device)

    def step():
        x = kept[torch.randint(len(kept), (given.batch,), device=given.device)].float() / 255
        mean, log_variance = encoder(x).chunk(2, dim=1)
        z = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        distortion = binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / given.batch
        rate = (mean.square() + log_variance.exp() - log_variance - 1).sum() / 2 / given.batch
        optimizer.zero_grad()
        (distortion + 4 * rate).backward()
        optimizer.step()

    for _ in range(min(steps, 20)):
        step()
    times = []
    for _ in range(3):
        before = clock(given.device)
        for _ in range(steps):
            step()
        times.append((clock(given.device) - before) / steps)
    return sorted(times)[1]


def leave_out_the_rest():
    """Let modules of the package be imported by their files, without what the package itself imports."""
    package = types.ModuleType("unbraid")
    package.__path__ = [str(HERE.parent / "src" / "unbraid")]
    sys.modules["unbraid"] = package


def run(given):
    import torch

    from unbraid.models.ensemble._source import Source

    data = squares(given.rows, given.side)
    source = Source(data, device=given.device)
    settings = settings_of(given, given.models, data)
    many, start_up, losses = time_engine(settings, source, given, given.steps)
    peak = torch.cuda.max_memory_allocated() / 2**30 if given.device == "cuda" else None
    alone = replace(settings, seeds=settings.seeds[:1], strengths=tuple((n, v[:1]) for n, v in settings.strengths))
    one, _, _ = time_engine(alone, source, given, given.steps)
    plain = time_plain(data, given, given.steps)
    each = given.models * given.batch
    return {
        "models": given.models,
        "model": given.model,
        "batch": given.batch,
        "side": given.side,
        "width": given.width,
        "seconds_per_step": many,
        "images_per_second": each / many,
        "one_model_images_per_second": given.batch / one,
        "plain_loop_images_per_second": given.batch / plain,
        "times_one_model": given.models * one / many,
        "times_plain_loop": given.models * plain / many,
        "gpu_seconds_per_model_of_300000_steps": 300_000 * many / given.models,
        "start_up_seconds": start_up,
        "peak_gib": peak,
        "losses_after": losses,
    } | ({"targets": TARGETS} if given.device == "cuda" else {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--arrays-only", action="store_true", help="do not import the package, only NumPy and torch")
    parser.add_argument("--model", default="beta_vae")
    parser.add_argument("--models", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--side", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=HERE / "ensemble.json")
    given = parser.parse_args()
    defaults = {"cuda": (64, 32, 64, 64, 300), "cpu": (8, 4, 16, 16, 100)}[given.device]
    for name, value in zip(("models", "width", "side", "batch", "steps"), defaults, strict=True):
        setattr(given, name, getattr(given, name) or value)
    if given.arrays_only:
        leave_out_the_rest()
    line = run(given)
    print(json.dumps(line, indent=1), flush=True)
    where = machine()
    if given.device == "cuda":
        import torch

        where |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    known = json.loads(given.output.read_text()) if given.output.exists() else {}
    known[f"{given.device}, {given.model}"] = {"machine": where, **line}
    given.output.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
