"""``unbraid data``."""

from pathlib import Path

from cyclopts import App

from unbraid._base.checks import check_choice
from unbraid._base.progress import bar_or_lines
from unbraid.cli._io import say
from unbraid.cli._table import print_rows
from unbraid.data.catalogue import DATASETS, DatasetEntry, by_hand, data_folder, find_file, load_dataset
from unbraid.data.download import DataFile, fetch_file, find_fault

data = App(
    name="data",
    help=(
        "List, fetch and check data sets with known factors.\n\n"
        "Files are looked for in `--folder`, or in the folder that the environment variable `UNBRAID_DATA` names, or "
        "in `~/.cache/unbraid/data`: in a folder named after the data set, or directly. Sprites need no file."
    ),
    help_format="markdown",
    version_flags=(),
)


def show_list(*, folder: Path | None = None) -> None:
    """List the data sets, their factors' sizes, and whether their files are there.

    Examples:
        unbraid data list

        unbraid data list --folder /data

    Parameters
    ----------
    folder
        Folder with the files.
    """
    root = data_folder(folder)
    rows = [
        [entry.name, entry.title, " x ".join(map(str, entry.sizes)), _length(entry), _status(entry, root)]
        for entry in DATASETS.values()
    ]
    print_rows(["name", "what", "factors", "files", "status"], rows, wrap=("status",))
    say(f"files are looked for in {root}")


def fetch(*names: str, folder: Path | None = None) -> None:
    """Fetch the official files of some data sets.

    A file that is there is left alone. One that did not arrive in full is gone on with; it has its name only once its
    length and checksum are as published.

    Examples:
        unbraid data fetch dsprites

        unbraid data fetch shapes3d mnist --folder /data

    Parameters
    ----------
    names
        Data sets; `unbraid data list` names them.
    folder
        Where files go, in a folder for each data set.
    """
    root = data_folder(folder)
    for entry in _entries(names):
        if not entry.files:
            say(f"{entry.name}: needs no files")
        for file in entry.files:
            found = find_file(entry, file, root)
            if found is None:
                found = fetch_file(file, root / entry.folder, show=bar_or_lines(), on_wait=_note)
                say(f"wrote {found}{_unsigned(file)}")
            else:
                say(f"{found} is there")


def check(*names: str, folder: Path | None = None, memory: str | None = None) -> None:
    """Check the files of some data sets: length and checksum where published, otherwise by reading them.

    Ends with exit code 2 at the first that is missing or wrong.

    Examples:
        unbraid data check dsprites mnist

    Parameters
    ----------
    names
        Data sets; `unbraid data list` names them.
    folder
        Folder with the files.
    memory
        Memory that reading may take, such as `8G`; a file whose header states more is refused. By default what is
        available.
    """
    root = data_folder(folder)
    for entry in _entries(names):
        print(f"{entry.name}: {_checked(entry, root, memory)}")


data.command(show_list, name="list")
data.command(fetch)
data.command(check)


def _note(why: str) -> None:
    say(f"note: {why}")


def _entries(names: tuple[str, ...]) -> list[DatasetEntry]:
    if not names:
        raise ValueError("give the name of a data set; `unbraid data list` prints them.")
    for name in names:
        check_choice("dataset", name, DATASETS)
    return [DATASETS[name] for name in names]


def _checked(entry: DatasetEntry, root: Path, memory: str | None) -> str:
    if not entry.files:
        return "needs no files"
    found = {file: find_file(entry, file, root) for file in entry.files}
    if None in found.values():
        raise ValueError(
            f"{entry.name} is not complete; run `unbraid data fetch {entry.name}`, or {by_hand(entry, root)}."
        )
    compared = 0
    for file, path in found.items():
        if path is None or path.name != file.name or not (file.sha256 or file.md5):
            continue  # unpacked by hand, or nothing to compare with: what is in it decides
        fault = find_fault(file, path, show=bar_or_lines())
        if fault:
            raise ValueError(f"{str(path)!r} {fault}; delete it and run `unbraid data fetch {entry.name}`.")
        compared += 1
    if compared == len(entry.files):
        return "as published, by checksum"
    opened = load_dataset(entry.name, root, memory=memory)
    return f"can be read, {len(opened)} pictures; no checksum to compare all of it with"


def _status(entry: DatasetEntry, root: Path) -> str:
    if not entry.files:
        return "drawn in memory"
    there = sum(find_file(entry, file, root) is not None for file in entry.files)
    if there == len(entry.files):
        return "there"
    if there:
        return f"{there} of {len(entry.files)} files there"
    return "by hand, see `data fetch`" if entry.files[0].by_hand else "not there"


def _length(entry: DatasetEntry) -> str:
    lengths = [file.n_bytes for file in entry.files]
    if not lengths:
        return "none"
    known = sum(length for length in lengths if length is not None)
    return f"{known / 1e6:.0f} MB" if None not in lengths else "length not published"


def _unsigned(file: DataFile) -> str:
    return "" if file.sha256 or file.md5 else " (no checksum is published: `unbraid data check` reads it)"
