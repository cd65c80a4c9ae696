"""How a text table separates its columns, and writes its numbers."""

import re
from pathlib import Path

LOOKED_AT = 65_536
DECIMAL_COMMA = re.compile(r"(?:^|;)\s*-?\d+,\d+(?:[eE][-+]?\d+)?\s*(?=;|$)", re.MULTILINE)


def table_format(source: Path) -> tuple[str, str]:
    """Return what stands between columns, and what before the decimals of a number.

    Commas, unless the first line has none and has semicolons or tabs: a table of one column has no use here. Numbers
    such as 0,5 between semicolons have a decimal comma, as spreadsheets of many countries write them.
    """
    with source.open("rb") as file:
        text = file.read(LOOKED_AT).decode("utf-8", errors="replace").replace("\r", "\n")
    header, _, body = text.partition("\n")
    if "," in header:
        return ",", "."
    if ";" in header:
        return ";", "," if DECIMAL_COMMA.search(body) else "."
    return ("\t" if "\t" in header else ","), "."
