"""The page of a reproduced figure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unbraid._version import __version__
from unbraid.report._charts import ChartGroup
from unbraid.report._page import FOLDER, asset


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePage:
    """What the page of a figure shows.

    Attributes:
        name: What the command line calls it.
        title: Heading.
        paper: Where it was published.
        lede: What was done, in a few sentences.
        facts: Label and text.
        header: Of the table.
        rows: Of the table.
        groups: The charts.
        notes: What a reader should know.
    """

    name: str
    title: str
    paper: str
    lede: str
    facts: Sequence[tuple[str, str]]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    groups: Sequence[ChartGroup]
    notes: Sequence[str]


def render_figure_page(page: FigurePage) -> str:
    """Return one HTML page that needs nothing else."""
    environment = Environment(
        loader=PackageLoader("unbraid.report", FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = asset("page.js")
    return environment.get_template("figure.html").render(
        page=page,
        version=__version__,
        style=Markup(asset("style.css") + asset("figure.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
