"""Input and output files of commands: names that differ, readable inputs, writable outputs."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from unbraid._base.text import file_name, printable
from unbraid.representation.representation import Representation
from unbraid.results.report import CODES_BESIDE


def say(sentence: str) -> None:
    """Print a line about a command to standard error; names and paths in it cannot steer the terminal."""
    print(printable(sentence), file=sys.stderr)


def distinct_names(files: Sequence[Path]) -> list[str]:
    """Return the name of each file, with as many folders before it as it takes to tell it from the others.

    Raises:
        ValueError: A file is given twice.

    Example:
        >>> distinct_names([Path("runs/a/codes.npz"), Path("runs/b/codes.npz"), Path("runs/b/other.npz")])
        ['a/codes.npz', 'b/codes.npz', 'other.npz']
    """
    places = [Path(os.path.realpath(file)) for file in files]
    twice = next((file for file, place in zip(files, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise ValueError(f"files must differ from each other, got {str(twice)!r} more than once.")
    depths = [1] * len(places)
    while True:
        names = [file_name("/".join(place.parts[-depth:])) for place, depth in zip(places, depths, strict=True)]
        seen = Counter(names)
        if len(seen) == len(names):
            return names
        depths = [depth + (seen[name] > 1) for depth, name in zip(depths, names, strict=True)]


def check_pair(files: Sequence[Path], factors: str | None) -> None:
    """Raise where two `.npy` files are given, which may be codes and their labels, without saying which are labels."""
    if factors is None and len(files) == 2 and all(file.suffix.lower() == ".npy" for file in files):
        codes, labels = files
        raise ValueError(
            f"factors must be given when codes come from {codes.name!r}: if {labels.name!r} holds them, "
            f"`unbraid score {codes} --factors {labels}`."
        )


def read_all(files: Sequence[Path], read: Callable[[Path], Representation]) -> list[Representation]:
    """Read every file; where there are several, a complaint says which one it is about."""
    if len(files) == 1:
        return [read(files[0])]
    found = []
    for file in files:
        try:
            found.append(read(file))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file}: {error}") from error
    return found


PAGES = (".html", ".htm")


def check_writable(argument: str, path: Path) -> None:
    """Raise unless a file can be put at ``path``, which is the name of a web page where it is for a report."""
    folder = path.parent
    if path.is_symlink() and Path(os.path.realpath(path)).is_symlink():
        raise ValueError(f"{argument} {str(path)!r} cannot be written: it is a link that leads back to itself.")
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "device"
        raise ValueError(f"{argument} must be a file to write, got the {kind} {str(path)!r}.")
    if not folder.is_dir():
        raise ValueError(
            f"{argument} {str(path)!r} cannot be written: there is no folder {str(folder)!r}; make it first."
        )
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{argument} {str(path)!r} cannot be written: no permission in {str(folder)!r}.")
    if argument == "report" and path.suffix.lower() not in PAGES:
        raise ValueError(f"report must end in .html, as it is a web page, got {str(path)!r}; print the page for a PDF.")


def check_outputs(
    inputs: Sequence[Path],
    json: str | None,
    csv: Path | None = None,
    report: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Raise unless every result has a file of its own to go to."""
    taken = [os.path.realpath(path) for path in inputs]
    for argument, path in (("report", report), ("csv", csv), ("markdown", markdown), ("json", json_file(json))):
        if path is not None:
            if os.path.realpath(path) in taken:
                raise ValueError(f"{argument} {str(path)!r} would overwrite the input or another output; give another.")
            check_writable(argument, path)
            taken.append(os.path.realpath(path))
    beside = None if report is None else report.with_suffix(CODES_BESIDE)
    if beside is not None and os.path.realpath(beside) in taken:
        raise ValueError(
            f"report {str(report)!r} may come with a table of codes in {str(beside)!r}, which is the input or another "
            "output; give another name."
        )


def json_file(json: str | None) -> Path | None:
    """Return the file that ``--json`` names, or None where it names none: not given, or standard output."""
    if json is None or json == "-":
        return None
    if json.startswith("-"):
        raise ValueError(f"json must be a file or -, got {json!r}.")
    return Path(json)


def read_pairs(argument: str, text: str | None) -> dict[str, str] | None:
    """Read ``a=b,c=d``, or nothing where nothing was given."""
    if text is None:
        return None
    pairs = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise ValueError(f"{argument} must be name=value separated by commas, got {part.strip()!r}.")
        pairs[name] = value
    return pairs


def read_groups(argument: str, text: str | None) -> dict[str, list[str]]:
    """Read ``position=x+y,pose=yaw+pitch``, groups of names by a name; empty where nothing was given."""
    pairs = read_pairs(argument, text) or {}
    return {name.strip(): [one.strip() for one in several.split("+")] for name, several in pairs.items()}


def read_shape(text: str) -> tuple[int, ...]:
    """Read the shape of an image, such as ``28x28``."""
    try:
        return tuple(int(part) for part in text.lower().split("x"))
    except ValueError as error:
        raise ValueError(f"image must be a shape such as 28x28 or 3x64x64, got {text!r}.") from error
