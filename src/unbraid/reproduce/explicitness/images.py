"""Rows of Table 1 of DCI-ES that need images, on drawn sprites in place of MPI3D: a surrogate with the same probes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import ByteArray, FloatArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.files import write_atomically, write_text
from unbraid._base.optional import require
from unbraid._base.progress import Show, track
from unbraid.data.procedural import sprites
from unbraid.probes.capacity import ForestLadder, Ladder, MLPLadder
from unbraid.probes.sage import SageOptions
from unbraid.representation.representation import Representation
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.dci_es import PART_TITLES, SCORES, TOLERANCE, Probes, SeedRun, probe_run
from unbraid.reproduce.explicitness.curves import Curve, write_curves
from unbraid.reproduce.figures import Device
from unbraid.reproduce.result import DrawnResult, Number, Row, Table, as_json, difference

ImageCodes = Literal["vae", "beta_vae", "pretrained", "pixels"]
TITLES: dict[ImageCodes, str] = {
    "vae": "VAE",
    "beta_vae": "beta-VAE",
    "pretrained": "pretrained features",
    "pixels": "raw pixels",
}
#: Rows of Table 1 that need pictures of MPI3D: D, C, I, E, S as printed.
PUBLISHED: dict[tuple[ImageCodes, Probes], tuple[float, ...]] = {
    ("vae", "mlp"): (0.15, 0.14, 0.99, 0.71, 0.7),
    ("vae", "forest"): (0.10, 0.10, 0.93, 0.65, 0.7),
    ("beta_vae", "mlp"): (0.26, 0.38, 0.74, 0.81, 0.7),
    ("beta_vae", "forest"): (0.22, 0.25, 0.72, 0.85, 0.7),
    ("pretrained", "mlp"): (0.16, 0.10, 0.99, 0.82, 0.01),
    ("pretrained", "forest"): (0.35, 0.20, 0.89, 0.78, 0.01),
    ("pixels", "mlp"): (0.22, 0.16, 0.99, 0.82, 0.001),
    ("pixels", "forest"): (0.84, 0.41, 0.96, 0.80, 0.001),
}
SMALL: tuple[ImageCodes, ...] = ("vae", "beta_vae")
LARGE: tuple[ImageCodes, ...] = ("pretrained", "pixels")
#: Factors that are predicted. Orientation is left out: squares and ellipses look the same after a part of a turn.
FACTORS = ("shape", "scale", "x", "y")
#: Pixels of a side after neighbours were averaged, and of a patch that SAGE reveals at once.
SIDE, PATCH = 32, 4
#: Channels of the pretrained network; it has so many features at each of 2 by 2 places.
CHANNELS, N_PLACES = (32, 64, 128), 4
#: Of networks on wide codes: fewer rows than by default.
SAGE = SageOptions(max_rows=512)
NOTES = (
    "A surrogate: pictures are drawn sprites of 32 by 32 pixels in place of MPI3D, so that numbers need not agree with "
    "the paper's and none counts. Factors are shape, scale, x and y.",
    "Pretrained features are those of a convolutional network that tells handwritten digits apart, 512 as the paper's "
    "ResNet18 has, which was trained on ImageNet.",
    "SAGE reveals patches of 4 by 4 pixels, or the four places of a channel, at once, and D and C of networks on wide "
    "codes are those of patches or channels. Networks are narrower than the paper's widest, which have 512 units for "
    "each factor.",
)
SURROGATE = (
    "A surrogate on purpose: sprites in place of MPI3D, and features of digits in place of ImageNet's, neither of "
    "which comes with a package, so that they cannot be had offline."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSettings:
    """Pictures, models and probes.

    Attributes:
        n_rows: Pictures that are probed, 60 % to fit on.
        n_pictures: Pictures that VAEs learn from.
        n_codes: Codes of a VAE.
        beta: Weight of the divergence of the beta-VAE; the paper has 100, with another likelihood.
        width: Channels of the first convolution of a VAE.
        n_steps: Training steps of VAEs.
        batch_size: Pictures of a step.
        learning_rate: Of Adam.
        n_feature_steps: Training steps of the network that tells digits apart.
        widths: Widths of the networks, in multiples of the number of factors.
        n_trees: Trees of each forest; the paper has 100.
    """

    n_rows: int = 4000
    n_pictures: int = 20_000
    n_codes: int = 10
    beta: float = 4.0
    width: int = 8
    n_steps: int = 5000
    batch_size: int = 64
    learning_rate: float = 1e-3
    n_feature_steps: int = 400
    widths: tuple[int, ...] = (2, 8, 32, 128)
    n_trees: int = 30

    def __post_init__(self) -> None:
        check_at_least("n_rows", self.n_rows, 200)
        check_at_least("n_steps", self.n_steps, 1)


FULL = ImageSettings()
QUICK = ImageSettings(
    n_rows=1200,
    n_pictures=4000,
    width=4,
    n_steps=600,
    learning_rate=2e-3,
    n_feature_steps=60,
    widths=(2, 8),
    n_trees=10,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRow:
    """Scores of one representation and ladder.

    Attributes:
        codes: The representation.
        probes: The ladder.
        n_codes: Columns of the representation.
        scores: The numbers, by the names in ``SCORES``.
        curve: Loss by capacity, of each seed.
        seconds: Time the probes took, all seeds together.
    """

    codes: ImageCodes
    probes: Probes
    n_codes: int
    scores: dict[str, Number]
    curve: Curve
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTable(DrawnResult):
    """Eight rows, run again on sprites.

    Attributes:
        rows: One for each representation and ladder.
        n_seeds: Seeds: 0, 1, ...
        settings: Pictures, models and probes.
        device: Where models were trained.
    """

    rows: tuple[ImageRow, ...]
    n_seeds: int
    settings: ImageSettings
    device: str

    @property
    def notes(self) -> Sequence[str]:
        """What differs from the paper."""
        return NOTES

    def tables(self) -> Sequence[Table]:
        """Return ours with the paper's in brackets."""
        letters = [score[0].upper() for score in SCORES]
        rows: list[Row] = [
            [TITLES[row.codes], row.probes, str(row.n_codes), *(row.scores[score] for score in SCORES)]
            for row in self.rows
        ]
        header = ["ours on sprites (paper's on MPI3D)", "probe", "codes", *letters]
        return [Table(header=header, rows=rows, compact=True)]

    def draw(self, path: str | Path) -> Path:
        """Write the loss-capacity curves, all representations of a ladder in one chart, as one page."""
        return write_curves(
            path,
            {
                PART_TITLES[probes]: {TITLES[row.codes]: row.curve for row in self.rows if row.probes == probes}
                for probes in PART_TITLES
            },
            name="dci-es-images",
            title="Loss by capacity of representations of pictures",
            paper="Eastwood et al. (2023), On the DCI Framework, Fig. 1; arXiv:2210.00364",
            notes=self.notes,
        )


def dci_es_images(
    *,
    codes: Iterable[str] = get_args(ImageCodes),
    probes: Iterable[str] = get_args(Probes),
    n_seeds: int = 3,
    settings: ImageSettings = FULL,
    device: Device = "cpu",
    store: str | Path | None = None,
    progress: Show = None,
) -> ImageTable:
    """Run the rows of Table 1 of DCI-ES (arXiv:2210.00364) that need images, with drawn sprites in place of MPI3D.

    VAEs and beta-VAEs learn sprites, a network learns to tell handwritten digits apart; networks of growing width and
    forests of growing depth then predict shape, scale and position from the codes of the VAEs, from the features of
    the network, and from the pixels. The table shows our mean and standard deviation over seeds, with the paper's
    numbers for MPI3D in brackets. Needs torch.

    Args:
        codes: Representations: ``vae``, ``beta_vae``, ``pretrained``, ``pixels``.
        probes: Ladders: ``mlp``, ``forest``.
        n_seeds: Runs of each row, with seeds 0, 1, ...: rows, models and probes.
        settings: Pictures, models and probes.
        device: Where models are trained: ``cpu`` or ``cuda``.
        store: Folder that keeps models' codes and every row and seed, where the next run finds them: a long run can be
            done in pieces, also by processes beside each other once the codes are there.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Raises:
        ValueError: An unknown representation or probe, fewer than one seed, or torch is not installed.
    """
    require("unbraid reproduce dci-es-images", "torch", extra="torch")
    check_at_least("n_seeds", n_seeds, 1)
    chosen = [(kind, probe) for kind, probe in PUBLISHED if kind in set(codes) and probe in set(probes)]
    for name, given, known in (("codes", codes, get_args(ImageCodes)), ("probes", probes, get_args(Probes))):
        for value in given:
            check_choice(name, value, known)
    if not chosen:
        raise ValueError("codes and probes must each name at least one, got none.")
    folder = None if store is None else Path(store)
    needed = {kind for kind, _ in chosen}
    rows = []
    with threadpool_limits(1):
        by_kind = {kind: _codes(kind, n_seeds, settings, device, folder, progress) for kind in TITLES if kind in needed}
        factors = [_factors(settings, seed) for seed in range(n_seeds)]
        with track(len(chosen) * n_seeds, progress, doing="probing") as bar:
            for kind, probe in chosen:
                runs = []
                for seed in range(n_seeds):
                    runs.append(_kept_or_run(kind, probe, by_kind[kind][seed], factors[seed], settings, seed, folder))
                    bar.advance()
                rows.append(_image_row(kind, probe, by_kind[kind][0].shape[1], runs))
    return ImageTable(rows=tuple(rows), n_seeds=n_seeds, settings=settings, device=device)


def image_checks(result: ImageTable) -> Sequence[Part]:
    """Hold the numbers against those for MPI3D, and E of larger codes against that of smaller ones; none counts."""
    numbers = [
        Check.of(f"{TITLES[row.codes]}, {row.probes}, {score}", row.scores[score], tolerance=TOLERANCE)
        for row in result.rows
        for score in SCORES[:4]
    ]
    explicit = {(row.codes, row.probes): row.scores["explicitness"].ours for row in result.rows}
    words = [
        Check(
            what=f"E of {TITLES[large]} less that of {TITLES[small]}, {probes}",
            ours=difference(explicit[large, probes], explicit[small, probes]),
            claim="larger representations tend to be more explicit",
            at_least=0,
        )
        for probes, large, small in product(PART_TITLES, LARGE, SMALL)
        if {(large, probes), (small, probes)} <= set(explicit)
    ]
    return [
        Part(where="Table 1, rows that need images", checks=numbers, surrogate=SURROGATE),
        Part(where="Sec. 6, finding (iii)", checks=words, surrogate=SURROGATE),
    ]


def _image_row(kind: ImageCodes, probe: Probes, n_codes: int, runs: Sequence[SeedRun]) -> ImageRow:
    published = dict(zip(SCORES, PUBLISHED[kind, probe], strict=True))
    return ImageRow(
        codes=kind,
        probes=probe,
        n_codes=n_codes,
        scores={
            score: Number.over_seeds([run.scores[score] for run in runs], paper=published[score]) for score in SCORES
        },
        curve=Curve.joined([run.curve for run in runs]),
        seconds=round(sum(run.seconds for run in runs), 1),
    )


def _kept_or_run(
    kind: ImageCodes,
    probe: Probes,
    codes: FloatArray,
    factors: Mapping[str, FloatArray],
    settings: ImageSettings,
    seed: int,
    store: Path | None,
) -> SeedRun:
    """Probe one representation with one seed, or read what an earlier run kept of it."""
    path = None if store is None else store / f"{kind}-{probe}-seed{seed}-{_digest(settings)}.json"
    if path is not None and path.exists():
        return msgspec.json.decode(path.read_bytes(), type=SeedRun)
    ladder: Ladder = (
        MLPLadder(widths=settings.widths)
        if probe == "mlp"
        else ForestLadder(n_trees=settings.n_trees, codes_tried="scikit-learn")
    )
    kinds = {"shape": "categorical", "scale": "ordinal", "x": "ordinal", "y": "ordinal"}
    grouped = _groups(kind) if probe == "mlp" else None
    options: dict[str, Any] = {} if grouped is None else {"groups": grouped, "sage": SAGE}
    found = probe_run(Representation(codes, factors, kinds=kinds), ladder, seed=seed, name=TITLES[kind], **options)
    if grouped is not None:
        # Columns are what a user of the representation stores, whatever is revealed at once.
        found = replace(found, scores=found.scores | {"size": len(factors) / codes.shape[1]})
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, as_json(found) + "\n")
    return found


def _groups(kind: ImageCodes) -> list[list[int]] | None:
    """Return the columns that SAGE reveals at once: patches of pixels, or the places of a channel."""
    if kind == "pixels":
        at = np.arange(SIDE**2).reshape(SIDE // PATCH, PATCH, SIDE // PATCH, PATCH)
        return [at[i, :, j].ravel().tolist() for i in range(SIDE // PATCH) for j in range(SIDE // PATCH)]
    if kind == "pretrained":
        return np.arange(CHANNELS[-1] * N_PLACES).reshape(CHANNELS[-1], N_PLACES).tolist()
    return None


def _digest(settings: ImageSettings) -> str:
    """Return a name for settings, so that those of another run are not taken for these."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:8]


def _rows(settings: ImageSettings, seed: int) -> Any:
    """Return the numbers of the pictures that are probed with a seed."""
    return np.random.default_rng(1000 + seed).choice(len(sprites()), settings.n_rows, replace=False)


def _pictures(index: Any) -> ByteArray:
    """Return sprites, drawn as 0 and 1, with 2 by 2 pixels averaged, ``(n, 1, 32, 32)``."""
    parts = []
    for start in range(0, len(index), 5000):
        x = np.asarray(sprites().observations(index[start : start + 5000]), dtype=np.float32)
        n, _, height, _ = x.shape
        halves = x.reshape(n, 1, SIDE, height // SIDE, SIDE, height // SIDE)
        parts.append(np.round(255 * halves.mean(axis=(3, 5))).astype(np.uint8))
    return np.concatenate(parts)


def _factors(settings: ImageSettings, seed: int) -> dict[str, FloatArray]:
    data = sprites()
    values = data.factors(_rows(settings, seed))
    return {name: values[:, data.factor_names.index(name)].astype(float) for name in FACTORS}


def _codes(
    kind: ImageCodes, n_seeds: int, settings: ImageSettings, device: str, store: Path | None, progress: Show
) -> list[FloatArray]:
    """Return the codes of the pictures of each seed; from the store where they are there."""
    path = None if store is None else store / f"codes-{kind}-{n_seeds}-{_digest(settings)}.npz"
    if path is not None and path.exists():
        with np.load(path) as kept:
            return [kept[f"seed{seed}"].astype(float) for seed in range(n_seeds)]
    pictures = [_pictures(_rows(settings, seed)) for seed in range(n_seeds)]
    if kind == "pixels":
        return [one.reshape(len(one), -1) / 255 for one in pictures]
    if kind == "pretrained":
        found = [_features(one, settings, seed) for seed, one in enumerate(pictures)]
    else:
        found = _encoded(kind, pictures, settings, device, progress)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {f"seed{seed}": one.astype(np.float32) for seed, one in enumerate(found)}
        write_atomically(path, lambda file: np.savez_compressed(file, **arrays))
        return [one.astype(float) for one in arrays.values()]
    return found


def _encoded(
    kind: ImageCodes, pictures: Sequence[ByteArray], settings: ImageSettings, device: str, progress: Show
) -> list[FloatArray]:
    """Train VAEs of every seed as one ensemble, and encode the pictures of each seed by its own."""
    from unbraid.models import train

    shown = np.random.default_rng(0).choice(len(sprites()), settings.n_pictures, replace=False)
    ensemble = train(
        "beta_vae",
        _pictures(shown),
        seeds=range(len(pictures)),
        beta=1.0 if kind == "vae" else settings.beta,
        n_steps=settings.n_steps,
        n_codes=settings.n_codes,
        width=settings.width,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        device=device,
        progress=progress,
    )
    return [np.asarray(ensemble[seed].encode(one)[0], dtype=float) for seed, one in enumerate(pictures)]


def _features(pictures: ByteArray, settings: ImageSettings, seed: int) -> FloatArray:
    """Return features of a convolutional network that was trained to tell handwritten digits apart."""
    import torch
    from torch import nn

    from unbraid.data.mnist import bundled_digits

    digits = bundled_digits()
    margin = (SIDE - digits.images.shape[1]) // 2
    framed = np.pad(digits.images, ((0, 0), (margin, margin), (margin, margin)))
    x = torch.as_tensor(framed[:, None] / 255.0, dtype=torch.float32)
    y = torch.as_tensor(digits.labels)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for before, after in zip((1, *CHANNELS[:-1]), CHANNELS, strict=True):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
        trunk = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten())
        head = nn.Linear(CHANNELS[-1] * N_PLACES, 10)
        optimiser = torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=1e-3)
        for _ in range(settings.n_feature_steps):
            batch = torch.randint(len(x), (settings.batch_size,))
            loss = nn.functional.cross_entropy(head(trunk(x[batch])), y[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    with torch.no_grad():
        parts = [torch.as_tensor(pictures[start : start + 1000]) / 255 for start in range(0, len(pictures), 1000)]
        return np.asarray(torch.cat([trunk(part) for part in parts]).double().numpy())
