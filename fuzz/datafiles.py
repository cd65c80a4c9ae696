"""Files of official data sets and checkpoints of trained models: no command reads them alone, so readers are called."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import ContractError, Format, Input
from fuzz.mutate import mutated, mutated_within
from helpers import official
from helpers.idx import random_digits, write_part
from unbraid.data import load_dataset
from unbraid.data.official import PARTS, read_mpi3d
from unbraid.models import load_models, train

MPI3D, MPI3D_SIZES = "real.npz", (2, 1, 1, 1, 1, 2, 2)
CHECKPOINT = "ensemble.pt"


def _write_mpi3d(folder: Path) -> None:
    images = np.random.default_rng(0).integers(256, size=(8, 4, 4, 3), dtype=np.uint8)
    np.savez_compressed(folder / MPI3D, images=images)


#: Writes the files of a data set into a folder, as small as its reader takes them.
WRITERS: dict[str, Callable[[Path], object]] = {
    "dsprites": lambda folder: official.write_dsprites(
        folder / "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz", (1, 2, 1, 2, 1, 2), side=4
    ),
    "shapes3d": lambda folder: official.write_shapes3d(folder / "3dshapes.h5", (2, 1, 1, 1, 2, 1), side=4),
    "cars3d": lambda folder: official.write_cars3d(
        folder / "nips2015-analogy-data.tar.gz", official.car_pictures(1, n_azimuths=2, n_elevations=1, side=8)
    ),
    "smallnorb": lambda folder: official.write_smallnorb(folder, PARTS[0], [4], side=8),
    "mpi3d": _write_mpi3d,
    "mnist": lambda folder: write_part(folder, "train", *random_digits(10, side=4), compress=True),
    "emnist": lambda folder: official.write_emnist(folder / "gzip.zip", n_samples=10),
}


@cache
def _files(name: str) -> dict[str, bytes]:
    """Return the files of a small data set."""
    with tempfile.TemporaryDirectory() as place:
        WRITERS[name](Path(place))
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


@st.composite
def _data_inputs(draw: DrawFn, name: str) -> Input:
    files = dict(_files(name))
    chosen = draw(st.sampled_from(sorted(files)))
    content = files[chosen]
    packed = content[:2] in (b"PK", b"\x1f\x8b") and draw(st.booleans())
    if draw(st.integers(0, 20)):
        files[chosen] = draw(mutated_within(content) if packed else mutated(content, list(files.values())))
    else:
        del files[chosen]
    return Input(files=files, command=(name,))


def _read(one: Input, folder: Path) -> None:
    """Open a data set and look at its first and last row."""
    (name,) = one.command
    if name == "mpi3d":
        data: Any = read_mpi3d(folder / MPI3D, sizes=MPI3D_SIZES)
    else:
        data = load_dataset(name, folder)
    rows = np.array([0, len(data) - 1])
    if len(data.observations(rows)) != 2 or data.factors(rows).shape != (2, len(data.factor_names)):
        raise ContractError("has no rows to look at")


@cache
def _checkpoint() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        pictures = np.random.default_rng(0).integers(256, size=(8, 1, 8, 8), dtype=np.uint8)
        small: dict[str, Any] = {"n_steps": 1, "n_codes": 2, "width": 1, "batch_size": 2, "progress": False}
        train("factor_vae", pictures, seeds=[0, 1], out=place, discriminator_width=2, **small)
        return (Path(place) / CHECKPOINT).read_bytes()


#: Values in place of a part of a checkpoint.
ODD_PARTS: tuple[Any, ...] = (
    *(None, 0, -1, "x", "{}", [], {}, [1, 2], torch.zeros(0), torch.zeros(3), torch.tensor(float("nan"))),
    *(torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 2, device="meta"), torch.eye(2).to_sparse(), True),
)


def _holders(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(tree.items()) if isinstance(tree, dict) else ():
        yield tree, key
        yield from _holders(value)


def _other_tensor(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return value[None], value.flatten(), value.flatten()[:1], value.double(), value * torch.nan


@st.composite
def _other_content(draw: DrawFn) -> bytes:
    """Return a checkpoint that torch reads, with other parts in it."""
    tree = torch.load(io.BytesIO(_checkpoint()), weights_only=True)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_holders(tree))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        value = holder[key]
        change = draw(st.integers(0, 3))
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(value, torch.Tensor) and value.layout == torch.strided:
            holder[key] = _other_tensor(value)[draw(st.integers(0, 4))]
        elif isinstance(value, str):
            holder[key] = draw(mutated(value.encode())).decode("utf-8", "replace")
        else:
            holder[key] = draw(st.sampled_from(ODD_PARTS))
    out = io.BytesIO()
    torch.save(tree, out)
    return out.getvalue()


@st.composite
def _checkpoint_inputs(draw: DrawFn) -> Input:
    whole = _checkpoint()
    content = draw(mutated(whole) | mutated_within(whole) | _other_content() | st.just(whole))
    return Input(files={CHECKPOINT: content}, command=("checkpoint",))


def _encode(one: Input, folder: Path) -> None:
    """Load models, and encode and decode with each of them."""
    models = load_models(folder)
    for member in range(len(models)):
        codes = models[member].encode(np.zeros((2, *models.settings.shape), dtype=np.uint8))
        models[member].decode(codes)
        if codes.shape != (1, 2, models.settings.n_codes):
            raise ContractError(f"codes have shape {codes.shape}")


FORMATS = (
    *(Format(name=name, inputs=_data_inputs(name), call=_read) for name in WRITERS),
    Format(name="checkpoint", inputs=_checkpoint_inputs(), call=_encode),
)
