"""Finish the navigation of ``mkdocs.yml``: list the pages of folders, leave out pages that are not written yet."""

from pathlib import Path
from typing import Any

from unbraid.metrics import METRICS

#: Made from files outside ``docs/``; see ``beyond.py``.
MADE = {"benchmarks.md", "contributing.md", "changelog.md", "security.md"}


def on_config(config: Any) -> Any:
    """Finish the navigation before MkDocs reads it."""
    config.nav = finish(config.nav, Path(config.docs_dir))
    return config


def finish(entries: list[Any], docs: Path) -> list[Any]:
    """Return navigation without missing pages and empty sections, and with folders such as ``metrics/`` spelled out."""
    finished: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("/"):
            finished += [{name: f"{entry}{name}.md"} for name in names(docs / entry)]
        elif isinstance(entry, dict) and isinstance(inside := next(iter(entry.values())), list):
            if kept := finish(inside, docs):
                finished.append({next(iter(entry)): kept})
        elif exists(entry if isinstance(entry, str) else next(iter(entry.values())), docs):
            finished.append(entry)
    return finished


def families() -> list[str]:
    """Return the families of metrics, each of which has a page, in the order of the table."""
    return list(dict.fromkeys(metric.family for metric in METRICS.values()))


def names(folder: Path) -> list[str]:
    """Return the names of a folder's pages: metrics in the order of their table, others by name."""
    found = {page.stem for page in folder.glob("*.md")}
    first = [family for family in families() if family in found] if folder.name == "metrics" else []
    return [*first, *sorted(found.difference(first))]


def exists(page: str, docs: Path) -> bool:
    """Return whether a page is there, or is made during the build."""
    return page in MADE or (docs / page).is_file()
