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
#: What the converter writes and browsers draw badly, and what they draw well.
MENDED = (
    # bars that enclose: no space around them, no higher than the line
    (re.compile(r"<mo[^>]*>(&#x0007C;|&#x02016;)</mo>"), r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>'),
    # a large closing bracket with an exponent: alone under it, it would not grow
    (re.compile(r"<msup>(<mo [^>]*minsize[^>]*>[^<]*</mo>)"), r"<msup><mrow>\1<mi></mi></mrow>"),
)
MARKED = re.compile(r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Turn every formula of a page into MathML."""
    return MARKED.sub(draw, content)


def draw(match: re.Match[str]) -> str:
    """Return one formula as MathML: within a line, or on its own."""
    formula = html.unescape(match["formula"]).strip()
    for unknown, known in SPELLED_OUT.items():
        formula = formula.replace(unknown, known)
    if match["tag"] == "span":
        return mathml(formula, display="inline")
    return f'<div class="formula">{"".join(mathml(part, display="block") for part in parts(formula))}</div>'


def mathml(formula: str, *, display: str) -> str:
    """Return a formula in LaTeX as MathML that browsers draw well."""
    text = convert(formula, display=display)
    for badly, well in MENDED:
        text = badly.sub(well, text)
    return text


def parts(formula: str) -> list[str]:
    r"""Return what wide spaces (``\quad``) keep apart, so that it can go to the next line where there is no room."""
    found = [""]
    for piece in re.split(r"(\\q?quad\b)", formula):
        is_open = found[-1].count("{") > found[-1].count("}") or found[-1].count(r"\begin") > found[-1].count(r"\end")
        if not piece.startswith("\\q") or is_open:
            found[-1] += piece
        else:
            found.append("")
    return [part.strip() for part in found if part.strip()]
