"""Fill in the table of speeds in README.md from the numbers kept here; a test checks that it is up to date.

python benchmarks/readme.py    # after benchmarks/panel.py, orthogonality.py or explicitness.py
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
START, END = "<!-- speed: made by benchmarks/readme.py -->", "<!-- end of speed -->"
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


def filled(text):
    """Return README with the table in its place."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{speed_table()}\n{END}{after}"


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
