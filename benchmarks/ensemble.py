"""Images a second of many VAEs trained as one program, of every family, in the same run as a plain loop of one model.

    python benchmarks/ensemble.py                               # 8 small models on this machine's processor
    python benchmarks/ensemble.py --device cuda                 # 64 models of the published architecture on a GPU
    python benchmarks/ensemble.py --device cuda --part kernels  # losses and speed of convolutions, beside patches
    python benchmarks/ensemble.py --part rounding --models 4 --width 32 --side 64 --batch 64 --steps 300   # see below
    python benchmarks/ensemble.py --device cuda --arrays-only   # the same where only NumPy and torch are there
    python benchmarks/ensemble.py --device cuda --models 16 --model diva,vfae,dc_ign,info_gan   # with labels, and GANs

Also: the peak of memory beside what was reckoned before, and how far a member is from the same model trained alone.
Data are binary pictures, kept where the models are. "One at a time" is the same engine with an ensemble of one; the
plain loop is what one would write by hand: torch's own layers, an eager step, Adam with its defaults. The part rounding
trains models twice that differ in a rounding of their first weights to bfloat16 alone: two ways of rounding products
cannot be expected to agree better.
"""

import gc
import json
import os
import time
from dataclasses import replace
from itertools import pairwise

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import keep, leave_out_the_rest, machine, options, parse

#: Families that are timed against one model of the same engine.
WITH_LABELS = ("diva", "vfae", "dc_ign", "info_gan")
PARTS = ("families", "kernels", "rounding")
TARGETS = {"images_per_second": 800_000, "times_plain_loop": 30}


def squares(n_rows, side, seed=0):
    """Binary pictures of one square each."""
    rng = np.random.default_rng(seed)
    half = rng.integers(side // 16 + 1, side // 5 + 1, size=n_rows)
    x, y = rng.integers(side // 5, side - side // 5, size=(2, n_rows))
    at = np.arange(side)
    rows = np.abs(at - y[:, None]) <= half[:, None]
    columns = np.abs(at - x[:, None]) <= half[:, None]
    return (255 * (rows[:, None, :, None] & columns[:, None, None, :])).astype(np.uint8)


class Squares:
    """Pictures with a factor, which only the conditioned VAE looks at."""

    factor_names, factor_sizes = ("number",), (4,)

    def __init__(self, n_rows, side):
        self.pictures = squares(n_rows, side)

    def __len__(self):
        return len(self.pictures)

    def observations(self, index):
        """Pictures of these rows."""
        return self.pictures[index]

    def factors(self, index):
        """The factor of these rows."""
        return np.asarray(index)[:, None] % 4


class LabelledSquares(Squares):
    """Squares of some sizes at some places, of which any two differ in a factor alone: for models with labels."""

    factor_names, factor_sizes = ("size", "across", "down"), (4, 8, 8)

    def __init__(self, side):
        size, x, y = self.factors(np.arange(4 * 8 * 8)).T
        at, half = np.arange(side), 1 + size * side // 32
        rows, columns = (np.abs(at - (place[:, None] + 1) * side / 9) <= half[:, None] for place in (y, x))
        self.pictures = (255 * (rows[:, None, :, None] & columns[:, None, None, :])).astype(np.uint8)

    def factors(self, index):
        """Size and place of these rows."""
        return np.stack(np.unravel_index(np.asarray(index), self.factor_sizes), axis=1)


def labelled_source(given, model, data):
    """Batches with the labels that a model reads, drawn as it needs them."""
    from unbraid.models.ensemble.labels import chosen_labels, label_columns
    from unbraid.models.ensemble.plan import plan_of
    from unbraid.models.ensemble.source import BatchSource
    from unbraid.models.families import ONE_FACTOR_FAMILY

    read = chosen_labels(model, data, ())
    reserved = [factor for _, factor, _ in read] if model == ONE_FACTOR_FAMILY else []
    columns = label_columns(model, data, read, 1.0) if read else None
    plan = plan_of(data, len(data), reserved, device=given.device)
    return BatchSource(data, device=given.device, labels=columns, plan=plan)


def settings_of(given, model, n_models, data):
    from unbraid.models.ensemble.labels import chosen_blocks, chosen_labels
    from unbraid.models.ensemble.settings import Settings, member_hyperparameters

    seeds, hyperparameters = member_hyperparameters(model, {}, range(n_models))
    read = chosen_labels(model, data, ())
    adversarial = model == "info_gan"
    return Settings(
        model=model,
        data="squares",
        n_rows=len(data),
        shape=data.pictures.shape[1:],
        seeds=seeds,
        hyperparameters=hyperparameters,
        places=((-3.0, -1.0, 1.0, 3.0),) if model == "conditioned_vae" else (),
        labels=read,
        blocks=chosen_blocks(model, read, {}, 10, 10)[0],
        categories=(4,) if adversarial else (),
        noise_dim=62 if adversarial else 0,
        width=given.width,
        discriminator_width=min(1000, 32 * given.width),
        batch_size=given.batch,
        precision="bfloat16" if given.device == "cuda" else "float32",
    )


def clock(device):
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def empty(device):
    """Give back the memory of earlier engines."""
    gc.collect()
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    return None


def time_engine(settings, source, given, steps):
    """Seconds of a step, after the first ones, and the losses at the end."""
    from unbraid.models.ensemble.engine import EnsembleEngine

    empty(given.device)
    started = time.perf_counter()
    engine = EnsembleEngine(settings, source, device=given.device)
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

    from unbraid.models.ensemble.networks import inner_sizes

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
    encoder, decoder = plain_network(given, given.side)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
    kept = torch.as_tensor(data.pictures, device=given.device)

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


def rates(given, seconds):
    return {
        "seconds_per_step": seconds,
        "images_per_second": given.models * given.batch / seconds,
        "gpu_seconds_per_model_of_300000_steps": 300_000 * seconds / given.models,
    }


def beside_the_plain_loop(given, data, source):
    """Many beta-VAEs, one in the same engine, and one by hand."""
    settings = settings_of(given, "beta_vae", given.models, data)
    many, start_up, losses = time_engine(settings, source, given, given.steps)
    one, _, _ = time_engine(settings.only([0]), source, given, given.steps)
    plain = time_plain(data, given, given.steps)
    return {
        "models": given.models,
        "model": "beta_vae",
        "batch": given.batch,
        "side": given.side,
        "width": given.width,
        **rates(given, many),
        "one_model_images_per_second": given.batch / one,
        "plain_loop_images_per_second": given.batch / plain,
        "times_one_model": given.models * one / many,
        "times_plain_loop": given.models * plain / many,
        "start_up_seconds": start_up,
        "losses_after": losses,
    } | ({"targets": TARGETS} if given.device == "cuda" else {})


def family(given, model, data, source):
    """Many models of one family: their rate, and their memory beside what was reckoned."""
    import torch

    from unbraid.models.ensemble.memory import member_bytes

    settings = settings_of(given, model, given.models, data)
    reckoned = given.models * member_bytes(settings)
    before = empty(given.device)
    seconds, start_up, losses = time_engine(settings, source, given, max(1, given.steps // 3))
    line = {"model": model, **rates(given, seconds), "start_up_seconds": start_up, "losses_after": losses}
    line["reckoned_gib"] = reckoned / 2**30
    if given.device == "cuda":
        peak, held = (f() - before for f in (torch.cuda.max_memory_allocated, torch.cuda.max_memory_reserved))
        line |= {"peak_gib": peak / 2**30, "held_gib": held / 2**30, "times_reckoned": peak / reckoned}
    return line


def beside_one(given, model, data):
    """Many models of one family with labels, or a GAN, and one in the same engine."""
    source = labelled_source(given, model, data)
    settings = settings_of(given, model, given.models, data)
    many, start_up, losses = time_engine(settings, source, given, given.steps)
    one, _, _ = time_engine(settings.only([0]), source, given, given.steps)
    sizes = {"models": given.models, "batch": given.batch, "side": given.side, "width": given.width}
    beside = {"one_model_images_per_second": given.batch / one, "times_one_model": given.models * one / many}
    return {
        "model": model,
        **sizes,
        **rates(given, many),
        **beside,
        "start_up_seconds": start_up,
        "losses_after": losses,
    }


def alone(given, model, precision, data, source):
    """How far the last of four members is from the same model trained alone, beside how far training moved it."""
    import torch

    from unbraid.models.ensemble.engine import EnsembleEngine

    settings = replace(settings_of(given, model, 4, data), precision=precision)
    losses, ends = [], []
    for part in (settings, settings.only([3])):
        empty(given.device)
        engine = EnsembleEngine(part, source, device=given.device)
        start = weights_of_last(engine)
        losses.append([engine.advance()[0, -1].item() for _ in range(given.alone_steps)])
        ends.append(weights_of_last(engine))
        del engine
    off, moved = ends[0] - ends[1], ends[1] - start
    apart = np.abs(np.array(losses[0]) / np.array(losses[1]) - 1)
    return {
        "model": model,
        "precision": precision,
        "loss_apart_after_1_10_and_50_steps": [float(apart[: k + 1].max()) for k in (0, 9, 49)],
        "weights_apart_by_movement": (torch.linalg.norm(off) / torch.linalg.norm(moved)).item(),
        "largest_difference_of_a_weight": off.abs().max().item(),
        "largest_movement_of_a_weight": moved.abs().max().item(),
    }


def kernels_and_patches(given, model, data, source):
    """Losses with kernels, and with patches that are written out, after some steps: means over models."""
    from unittest.mock import patch

    from unbraid.models.ensemble import products
    from unbraid.models.ensemble.engine import EnsembleEngine

    settings, found = settings_of(given, model, given.models, data), {}
    for name, there in (("kernels", products.CAN_RUN_KERNELS), ("patches", False)):
        empty(given.device)
        with patch.object(products, "CAN_RUN_KERNELS", there):
            engine = EnsembleEngine(settings, source, device=given.device)
            losses = [engine.advance()[0].mean().item() for _ in range(given.steps)]
            before = clock(given.device)
            for _ in range(given.steps):
                engine.advance()
            seconds = (clock(given.device) - before) / given.steps
        found[name] = {
            "losses": {n: losses[n - 1] for n in (1, 10, 50, 300) if n <= given.steps},
            **rates(given, seconds),
        }
        del engine
    return {"model": model, **found}


def after_one_rounding(given, model, data, source):
    """How far losses are from those of models whose first weights were rounded to bfloat16, after some steps."""
    import torch

    from unbraid.models.ensemble.engine import EnsembleEngine

    settings, found = settings_of(given, model, given.models, data), []
    for is_rounded in (False, True):
        engine = EnsembleEngine(settings, source, device=given.device)
        if is_rounded:
            with torch.no_grad():
                for parameter in engine.network.parameters():
                    parameter.copy_(parameter.bfloat16().float())
        found.append([engine.advance()[0].double().numpy() for _ in range(given.steps)])
        del engine
    as_they_are, rounded = np.array(found)
    apart = rounded / as_they_are - 1
    return {
        "model": model,
        "models": given.models,
        "by_steps": {
            n: {
                "mean_loss": float(as_they_are[n - 1].mean()),
                "mean_loss_after_rounding": float(rounded[n - 1].mean()),
                "deviation_of_relative_difference": float(np.sqrt((apart[n - 1] ** 2).mean())),
            }
            for n in (1, 10, 50, 300)
            if n <= given.steps
        },
    }


def weights_of_last(engine):
    import torch

    return torch.cat([parameter[-1].detach().flatten() for parameter in engine.network.parameters()])


def lines_of(given):
    """What is measured, by name, one after the other."""
    from unbraid.models.ensemble.source import BatchSource
    from unbraid.models.families import HYPERPARAMETERS

    data, labelled = Squares(given.rows, given.side), LabelledSquares(given.side)
    source = BatchSource(data, device=given.device)
    models = HYPERPARAMETERS if given.model == "all" else given.model.split(",")
    if given.part == "kernels":
        for model in ("beta_vae", "factor_vae"):
            yield f"kernels and patches, {model}", kernels_and_patches(given, model, data, source)
        return
    if given.part == "rounding":
        for model in ("beta_vae", "factor_vae"):
            yield f"one rounding, {model}", after_one_rounding(given, model, data, source)
        return
    if given.model == "all" or given.tiny:
        yield "beta_vae", beside_the_plain_loop(given, data, source)
        for model, precision in (("beta_vae", "float32"), ("beta_vae", "bfloat16"), ("factor_vae", "float32")):
            yield f"member against alone, {model}, {precision}", alone(given, model, precision, data, source)
    for model in models:
        if model in WITH_LABELS:
            yield f"{given.models} at once against one, {model}", beside_one(given, model, labelled)
        else:
            yield f"family {model}", family(given, model, data, source)


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--arrays-only", action="store_true", help="do not import the package, only NumPy and torch")
    parser.add_argument("--model", default="all", help="some families only, with commas between")
    parser.add_argument("--part", choices=PARTS, default="families", help="kernels: against patches")
    parser.add_argument("--models", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--side", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--alone-steps", type=int, default=50, help="steps of a member against the model alone")
    small = {"models": 2, "width": 1, "side": 16, "batch": 4, "steps": 1, "rows": 50, "alone_steps": 1}
    given = parse(parser, __file__, arguments, model="factor_vae,conditioned_vae", **small)
    defaults = {"cuda": (64, 32, 64, 64, 300), "cpu": (8, 4, 16, 16, 100)}[given.device]
    for name, value in zip(("models", "width", "side", "batch", "steps"), defaults, strict=True):
        setattr(given, name, getattr(given, name) or value)
    if given.arrays_only:
        leave_out_the_rest()
    where = machine()
    if given.device == "cuda":
        import torch

        where |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name, line in lines_of(given):
        print(json.dumps({name: line}), flush=True)
        keep(given.output, {f"{given.device}, {name}": {"machine": where, **line}}, beside_others=True)


if __name__ == "__main__":
    main()
