"""Checks on where results go, made before the work starts."""

import os
from collections.abc import Sequence
from pathlib import Path

PAGES = (".html", ".htm")


def check_writable(argument: str, path: Path) -> None:
    """Raise unless a file can be put at ``path``, which is the name of a web page where it is for a report."""
    folder = path.parent
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


def check_outputs(inputs: Sequence[Path], json: str | None, csv: Path | None, report: Path | None) -> None:
    """Raise unless every result has a file of its own to go to."""
    taken = [path.resolve() for path in inputs]
    for argument, path in (("report", report), ("csv", csv), ("json", json_file(json))):
        if path is not None:
            if path.resolve() in taken:
                raise ValueError(f"{argument} {str(path)!r} would overwrite the input or another output; give another.")
            check_writable(argument, path)
            taken.append(path.resolve())


def json_file(json: str | None) -> Path | None:
    """Return the file that ``--json`` names, or None where it names none: not given, or standard output."""
    if json is None or json == "-":
        return None
    if json.startswith("-"):
        raise ValueError(f"json must be a file or -, got {json!r}.")
    return Path(json)
