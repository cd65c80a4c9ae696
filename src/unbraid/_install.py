"""How to get an extra: the command that is true for how the package was installed."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

PACKAGE = "unbraid"
#: Where a clone has the file that says what the extras are, seen from this one.
CLONE = Path(__file__).parents[2]


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    From the clone that the code runs in, the folder or address it was installed from, or else the package index.

    Example:
        >>> pip_install("train").startswith("pip install ")
        True
    """
    if (CLONE / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{CLONE}[{extra}]')}"
    return f"pip install {shlex.quote(_what(extra, _came_from()))}"


def _came_from() -> dict[str, object]:
    """Return what pip wrote down about where the package came from (PEP 610); nothing for an index."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    found = json.loads(text or "{}")
    return found if isinstance(found, dict) else {}


def _what(extra: str, origin: dict[str, object]) -> str:
    named, url = f"{PACKAGE}[{extra}]", str(origin.get("url", ""))
    path = Path(url2pathname(urlsplit(url).path))
    if url.startswith("file:") and not path.exists():
        return named  # the folder is gone: the index is the best guess
    if "dir_info" in origin:
        return f"{path}[{extra}]"
    version = origin.get("vcs_info")
    if isinstance(version, dict):
        revision = version.get("requested_revision")
        url = f"{version.get('vcs', 'git')}+{url}" + (f"@{revision}" if revision else "")
    return f"{named} @ {url}" if url else named
