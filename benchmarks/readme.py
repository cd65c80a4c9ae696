"""Fill in the tables of speeds in README.md from the numbers kept here; a test checks that they are up to date.

python benchmarks/readme.py    # after benchmarks/panel.py, orthogonality.py, explicitness.py or neighbours.py
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
START, END = "<!-- speed: made by benchmarks/readme.py -->", "<!-- end of speed -->"
NEIGHBOURS = "<!-- neighbours: made by benchmarks/readme.py -->", "<!-- end of neighbours -->"
SIZES = ("10000", "150000")


def speed_table():
    """Return the table: our seconds, and those of others, as kept."""
    others = json.loads((HERE / "others.json").read_text(encoding="utf-8"))
    lines = ["| seconds, at 10 000 / 150 000 rows | Unbraid | others, measured once | |", "|---|---|---|---|"]
    for row in others["rows"]:
        ours = " / ".join(_seconds(_ours(*row["ours"])[size]["seconds"]) for size in SIZES)
        theirs = " / ".join(row["theirs"][size] for size in SIZES)
        lines.append(f"| {row['what']} | {ours} | {theirs} | {row['library']} |")
    for row in others["single"]:
        ours = _seconds(_ours(*row["ours"])["seconds"])
        lines.append(f"| {row['what']}, 10 000 rows | {ours} | {row['theirs']} | {row['library']} |")
    return "\n".join(lines)


def neighbours_table():
    """Return the table of scores beside the plain NumPy of neighbouring libraries, both from one run."""
    found = json.loads((HERE / "neighbours.json").read_text(encoding="utf-8"))
    lines = ["| milliseconds, one run | codes | Unbraid | plain | as computed by |", "|---|---|---|---|---|"]
    for name, row in found.items():
        if name != "machine":
            ours, plain = (_seconds(1e3 * row[side]) for side in ("ours", "plain"))
            lines.append(f"| `{name}` | {row['shape']} | {ours} | {plain} | {row['library']} |")
    return "\n".join(lines)


def filled(text):
    """Return README with the tables in their places."""
    for (start, end), table in (((START, END), speed_table), (NEIGHBOURS, neighbours_table)):
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n{table()}\n{end}{after}"
    return text


def _ours(file, *path):
    found = json.loads((HERE / file).read_text(encoding="utf-8"))
    found = found.get("results", found)
    for part in path:
        found = found[part] if part in found else {row["name"]: row for row in found["rows"]}[part]
    return found


def _seconds(value):
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
