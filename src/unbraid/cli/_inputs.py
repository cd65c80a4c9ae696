"""Files to score: what to call each, and all of them read before any is scored."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from unbraid.representation import Representation


def distinct_names(files: Sequence[Path]) -> list[str]:
    """Return the name of each file, with as many folders before it as it takes to tell it from the others.

    Raises:
        ValueError: A file is given twice.

    Example:
        >>> distinct_names([Path("runs/a/codes.npz"), Path("runs/b/codes.npz"), Path("runs/b/other.npz")])
        ['a/codes.npz', 'b/codes.npz', 'other.npz']
    """
    places = [file.resolve() for file in files]
    twice = next((file for file, place in zip(files, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise ValueError(f"files must differ from each other, got {str(twice)!r} more than once.")
    depths = [1] * len(places)
    while True:
        names = ["/".join(place.parts[-depth:]) for place, depth in zip(places, depths, strict=True)]
        seen = Counter(names)
        if len(seen) == len(names):
            return names
        depths = [depth + (seen[name] > 1) for depth, name in zip(depths, names, strict=True)]


def check_pair(files: Sequence[Path], factors: Path | None) -> None:
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
