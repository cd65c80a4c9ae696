"""The shell of every page: templates, style sheets, script, and the numbers that the page carries along."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unbraid._base.pages import palette
from unbraid._version import __version__
from unbraid.report.charts import style_of

MOST_DATA = 400_000
FOLDER = "templates"


def fill(template: str, context: dict[str, Any], *style_sheets: str) -> str:
    """Return a page from its template; everything is escaped but our own style sheets and script.

    ``style_sheets`` come after the one that all pages share.
    """
    environment = Environment(
        loader=PackageLoader("unbraid.report", FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style_of"] = style_of
    script = _asset("page.js")
    ours = {
        "version": __version__,
        "style": Markup("\n".join([palette(), *(_asset(name) for name in ("style.css", *style_sheets))])),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    return environment.get_template(template).render({"data": None, "code_index": None} | context | ours)


def carried(text: str) -> Any:
    """Return JSON as plain data to carry along, or ``None`` when it would make the page heavy."""
    return json.loads(text) if len(text) <= MOST_DATA else None


def _asset(name: str) -> str:
    return files("unbraid.report").joinpath(FOLDER, name).read_text(encoding="utf-8")
