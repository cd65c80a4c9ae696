r"""Formulas as MathML, which browsers draw themselves: no script, no fonts from elsewhere.

The Markdown extension ``arithmatex`` finds formulas, in pages and docstrings alike, and marks them ``\(...\)`` and
``\[...\]``; this turns what it marked into MathML.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

#: What the converter does not know, in words that it does.
SPELLED_OUT = {r"\arg": r"\operatorname{arg}"}
MARKED = re.compile(r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Turn every formula of a page into MathML."""
    return MARKED.sub(draw, content)


def draw(match: re.Match[str]) -> str:
    """Return one formula as MathML."""
    block = match["tag"] == "div"
    formula = html.unescape(match["formula"]).strip()
    for unknown, known in SPELLED_OUT.items():
        formula = formula.replace(unknown, known)
    mathml = convert(formula, display="block" if block else "inline")
    return f'<div class="formula">{mathml}</div>' if block else mathml
