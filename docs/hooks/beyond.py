"""Pages from files that live outside ``docs/``, and links from the documentation to such files."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

#: Files of the repository that are pages of the site too.
PAGES = {
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
}
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from files outside ``docs/``."""
    root = Path(config.docs_dir).parent
    for source, page in PAGES.items():
        if page not in files.src_uris:
            text = (root / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=follow_links(text, source, page, root)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Send links that leave ``docs/`` to the page that shows the file."""
    if page.file.generated_by:
        return markdown
    uri = page.file.src_uri
    return follow_links(markdown, f"docs/{uri}", uri, Path(config.docs_dir).parent)


def follow_links(markdown: str, source: str, page: str, root: Path) -> str:
    """Return text of a repository file with links that are right on a page of the site.

    A link to a file that has no page becomes its name: there is nothing to open on the site.
    """

    def follow(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (root / path).exists():
            return match[0]  # MkDocs will say so
        shown = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if shown is None:
            return match["text"]
        return f"[{match['text']}]({posixpath.relpath(shown, posixpath.dirname(page) or '.')}{anchor})"

    return LINK.sub(follow, markdown)
