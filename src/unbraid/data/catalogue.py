"""Table of data sets: names, files needed, and readers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unbraid._base.checks import check_choice
from unbraid.data import download as needed
from unbraid.data.coloured import coloured_digits
from unbraid.data.dataset import FactorDataset
from unbraid.data.download import DataFile
from unbraid.data.mnist import bundled_digits, read_emnist, read_mnist
from unbraid.data.official import (
    MPI3D_COMPLEX_SIZES,
    read_cars3d,
    read_dsprites,
    read_mpi3d,
    read_shapes3d,
    read_smallnorb,
)
from unbraid.data.procedural import sprites, sprites_colour, sprites_mini, sprites_noisy, sprites_scream, sprites_square
from unbraid.data.rotated import read_rotated_mnist, rotated_digits
from unbraid.data.synthetic import SIZES as MPI3D_SIZES
from unbraid.data.tables import applicants

#: Names the data folder; without it, ``~/.cache/unbraid/data``.
FOLDER_VARIABLE = "UNBRAID_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetEntry:
    """One row of the table.

    Attributes:
        name: Name in commands.
        title: Content, in a few words.
        sizes: Values of each factor.
        read: Opens it, given where its files are; without an argument if it needs none.
        files: What must be in the data folder.
        folder: The folder within the data folder that ``unbraid data fetch`` puts them in.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    read: Callable[..., FactorDataset]
    files: tuple[DataFile, ...] = ()
    folder: str = ""


def _entry(
    name: str,
    title: str,
    sizes: tuple[int, ...],
    read: Callable[..., FactorDataset],
    *files: DataFile,
    folder: str = "",
) -> DatasetEntry:
    return DatasetEntry(name=name, title=title, sizes=sizes, read=read, files=files, folder=folder or name)


def _coloured_digits() -> FactorDataset:
    return coloured_digits(bundled_digits())


def _mini_square() -> FactorDataset:
    return sprites_square(sprites_mini())


SPRITES_SIZES, MINI_SIZES = (3, 6, 40, 32, 32), (3, 3, 8, 8, 8)
ROWS = (
    _entry("sprites", "white shapes on black, drawn in memory", SPRITES_SIZES, sprites),
    _entry("sprites_colour", "sprites of random colours", SPRITES_SIZES, sprites_colour),
    _entry("sprites_noisy", "sprites on noise", SPRITES_SIZES, sprites_noisy),
    _entry("sprites_scream", "sprites on a texture, as its negative", SPRITES_SIZES, sprites_scream),
    _entry("sprites_square", "sprites with a grey square added", SPRITES_SIZES, sprites_square),
    _entry("sprites_mini", "small sprites, for tests and demos", MINI_SIZES, sprites_mini),
    _entry("sprites_mini_square", "small sprites with a grey square added", MINI_SIZES, _mini_square),
    _entry("rotated_digits", "scikit-learn's digits at six angles", (10, 6), rotated_digits),
    _entry("coloured_digits", "scikit-learn's digits 0 to 3 in colours", (4, 2, 2), _coloured_digits),
    _entry("applicants", "a table of applicants of two groups, drawn", (2, 2), applicants),
    _entry("dsprites", "dSprites, as published", SPRITES_SIZES, read_dsprites, needed.DSPRITES),
    _entry("shapes3d", "a thing in a room", (10, 10, 10, 8, 4, 15), read_shapes3d, needed.SHAPES3D),
    _entry("cars3d", "rendered cars", (4, 24, 183), read_cars3d, needed.CARS3D),
    _entry("smallnorb", "photographs of toys", (5, 10, 9, 18, 6), read_smallnorb, *needed.SMALLNORB),
    _entry("mpi3d", "photographs of a robot arm", MPI3D_SIZES, read_mpi3d, needed.MPI3D_REAL),
    _entry("mpi3d_toy", "robot arm, simply drawn", MPI3D_SIZES, read_mpi3d, needed.MPI3D_TOY, folder="mpi3d"),
    _entry("mpi3d_realistic", "robot arm, rendered", MPI3D_SIZES, read_mpi3d, needed.MPI3D_REALISTIC, folder="mpi3d"),
    _entry(
        "mpi3d_complex",
        "robot arm with everyday things",
        MPI3D_COMPLEX_SIZES,
        partial(read_mpi3d, sizes=MPI3D_COMPLEX_SIZES),
        needed.MPI3D_COMPLEX,
        folder="mpi3d",
    ),
    _entry("mnist", "60 000 handwritten digits", (10,), read_mnist, *needed.MNIST),
    _entry(
        "rotated_mnist", "1000 of the digits at six angles", (10, 6), read_rotated_mnist, *needed.MNIST, folder="mnist"
    ),
    _entry(
        "emnist", "240 000 handwritten digits", (10,), partial(read_emnist, split="digits"), needed.emnist("digits")
    ),
    _entry(
        "emnist_letters",
        "124 800 handwritten letters",
        (26,),
        partial(read_emnist, split="letters"),
        needed.emnist("letters"),
        folder="emnist",
    ),
)
DATASETS: dict[str, DatasetEntry] = {entry.name: entry for entry in ROWS}


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the data folder: the one given, or ``UNBRAID_DATA``, or ``~/.cache/unbraid/data``."""
    chosen = folder or os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "unbraid" / "data"


def find_file(entry: DatasetEntry, file: DataFile, folder: Path) -> Path | None:
    """Return where a file of a data set is, or the same unpacked: in the set's own folder, or right in ``folder``."""
    places = (folder / entry.folder, folder)
    found = (place / name for place in places for name in (file.name, *file.instead))
    return next((path for path in found if path.exists()), None)


def load_dataset(name: str, folder: str | Path | None = None, *, memory: str | int | None = None) -> FactorDataset:
    """Open a data set by its name.

    Args:
        name: One of :data:`DATASETS`; ``unbraid data list`` prints them.
        folder: Where files are, in a folder named after the set or as they are; by default the folder in the
            environment variable ``UNBRAID_DATA``, or ``~/.cache/unbraid/data``. Sprites need none.
        memory: Memory that the data may take, such as ``"8G"``; by default what is available.

    Raises:
        TooMuchMemoryError: The file's header states more than that; nothing was read.
        ValueError: An unknown name, a file that is not there (with where to get it and where to put it), or one that
            is damaged or has another shape than published.

    Example:
        >>> load_dataset("sprites_mini").factor_names
        ('shape', 'scale', 'orientation', 'x', 'y')
    """
    check_choice("dataset", name, DATASETS)
    entry = DATASETS[name]
    if not entry.files:
        return entry.read()
    first = check_files(name, folder)[0]
    whole = len(entry.files) == 1 and (first.name == entry.files[0].name or first.is_dir())
    return entry.read(first if whole else first.parent, memory=memory)


def check_files(name: str, folder: str | Path | None = None) -> list[Path]:
    """Return the files of a data set, an empty list if it needs none; raise with instructions if files are missing."""
    entry, root = DATASETS[name], data_folder(folder)
    found = [find_file(entry, file, root) for file in entry.files]
    present = [path for path in found if path is not None]
    if entry.files and not present:
        raise ValueError(
            f"{name} is not in the data folder; run `unbraid data fetch {name}`, or {by_hand(entry, root)}."
        )
    return present


def by_hand(entry: DatasetEntry, folder: Path) -> str:
    """Return which files to put where, as the end of a sentence."""
    missing = [file for file in entry.files if find_file(entry, file, folder) is None]
    places = "; ".join(f"{file.name} from {file.url}" for file in missing)
    return f"put into {str(folder / entry.folder)!r}: {places}"
