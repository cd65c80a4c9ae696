"""Docstrings as Markdown: formulas and references that are written the way of Sphinx."""

import re
import textwrap
from pathlib import Path
from typing import Any

from griffe import Extension, Object

FORMULA = re.compile(
    r"^(?P<indent> *)\.\. math::(?P<first>[^\n]*)\n(?P<more>(?:(?P=indent) +\S[^\n]*\n|[ ]*\n)*)", re.MULTILINE
)
ROLE = re.compile(r":(?P<role>[a-z]+):`(?P<text>[^`]+)`")
#: Packages with a page of their own.
PACKAGES = {page.stem for page in (Path(__file__).parents[1] / "api").glob("*.md")} - {"unbraid"}
SOURCE = Path(__file__).parents[2] / "src" / "unbraid"
#: Sections that Griffe would put into boxes: plain paragraphs read better.
ASIDE = re.compile(r"^(?P<title>Note|References):\n(?P<body>(?:    [^\n]*\n|[ ]*\n)*)", re.MULTILINE)


class SphinxMarks(Extension):
    """Turn Sphinx's marks into Markdown, before Griffe divides a docstring into sections."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value, obj.path)


def as_markdown(text: str, path: str) -> str:
    """Return the docstring of the object at ``path`` with formulas between dollars and references as links."""
    text = FORMULA.sub(_formula, text + "\n")
    text = ROLE.sub(lambda match: _role(match["role"], match["text"], path), text)
    text = ASIDE.sub(_aside, text)
    return re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE).rstrip("\n")


def _formula(match: re.Match[str]) -> str:
    formula = f"{match['first'].strip()}\n{textwrap.dedent(match['more'])}".strip()
    return "\n" + textwrap.indent(f"$$\n{formula}\n$$", match["indent"]) + "\n\n"


def _aside(match: re.Match[str]) -> str:
    return f"**{match['title']}:** {textwrap.dedent(match['body']).strip()}\n\n"


def _role(role: str, text: str, path: str) -> str:
    if role == "math":
        return f"${text}$"
    shown = text.rpartition(".")[2] if text.startswith("~") else text
    return f'<autoref optional identifier="{target(role, text.lstrip("~"), path)}"><code>{shown}</code></autoref>'


def target(role: str, name: str, path: str) -> str:
    """Return what a reference in the docstring at ``path`` points to, by the name it is documented under."""
    if name.startswith("unbraid."):
        return public(name)
    if role in ("meth", "attr") and "." not in name:
        around = next((part for part in reversed(path.split(".")) if part[:1].isupper()), "")
        return f"{package(path)}.{around}.{name}"
    return f"{package(path)}.{name}"


def package(path: str) -> str:
    """Return the public package that an object is written in."""
    parts = public(path).split(".")
    return ".".join(parts[: 2 if len(parts) > 2 and parts[1] in PACKAGES else 1])


def public(name: str) -> str:
    """Return a name without the modules, and the packages that have no page, that it is written in."""
    folder, kept = SOURCE, ["unbraid"]
    for part in name.split(".")[1:]:
        if (folder / part).is_dir():
            kept += [part] if folder != SOURCE or part in PACKAGES else []
            folder = folder / part
        elif not (folder / f"{part}.py").is_file():
            kept.append(part)
    return ".".join(kept)
