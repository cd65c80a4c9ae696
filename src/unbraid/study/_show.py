"""Matrices of correlations as LaTeX and as text."""

from __future__ import annotations

import math
from io import StringIO

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

ESCAPED = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
STAR_SAYS = "A star: significant after correction."


def as_latex(r: pd.DataFrame, starred: pd.DataFrame, says: str) -> str:
    """Return a table for the package booktabs; what was done stands in a comment above it."""
    head = " & ".join(["", *(latex_text(str(name)) for name in r)])
    lines = [
        " & ".join(
            [latex_text(str(name)), *(_latex_cell(*cell) for cell in zip(r.loc[name], starred.loc[name], strict=True))]
        )
        for name in r.index
    ]
    body = "\n".join(f"{line} \\\\" for line in lines)
    columns = "l" + "r" * r.shape[1]
    return (
        f"% {says} {STAR_SAYS}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def latex_text(text: str) -> str:
    r"""Escape what LaTeX would take as a command.

    Example:
        >>> latex_text("dci_forest@50%")
        'dci\\_forest@50\\%'
    """
    return "".join(ESCAPED.get(letter, letter) for letter in text)


def as_text(r: pd.DataFrame, starred: pd.DataFrame, says: str, *, colour: bool) -> str:
    """Return a table for a terminal; columns are numbered where there are too many to name, with a key below."""
    long = sum(len(str(name)) + 2 for name in r) > 100
    heads = [str(k + 1) if long else str(name) for k, name in enumerate(r)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for head in heads:
        table.add_column(escape(head), justify="right", no_wrap=True)
    for name in r.index:
        cells = zip(r.loc[name], starred.loc[name], strict=True)
        table.add_row(escape(str(name)), *(_text_cell(value, bool(star)) for value, star in cells))
    key = [f"{head}  {name}" for head, name in zip(heads, r, strict=True)] if long else []
    file = StringIO()
    width = max(len(str(name)) for name in r.index) + sum(max(len(head), 6) + 2 for head in heads) + 4
    console = Console(file=file, force_terminal=colour, width=max(width, 80), highlight=False)
    console.print(table)
    for line in (*key, f"{says} {STAR_SAYS}"):
        console.print(escape(line))
    return file.getvalue()


def _latex_cell(value: float, star: bool) -> str:
    return "--" if math.isnan(value) else f"${value:.2f}{'^{*}' if star else ''}$".replace("-0.00", "0.00")


def _text_cell(value: float, star: bool) -> str:
    if math.isnan(value):
        return "[dim]\u2013[/] "
    text = f"{value:.2f}".replace("-0.00", "0.00") + ("*" if star else " ")
    return f"[{'blue' if value > 0 else 'red'}]{text}[/]" if star else text
