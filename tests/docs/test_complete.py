"""Every public score has a page, rows in the audit and its table of trust, a calibration and a cost, or a reason."""

import ast
import json
import re
from pathlib import Path

import pytest

from unbraid import similarity
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL

ROOT = Path(__file__).resolve().parents[2]
DOCS, BENCHMARKS = ROOT / "docs", ROOT / "benchmarks"
AUDIT = (DOCS / "audit.md").read_text(encoding="utf-8")
SIMILARITIES = [f"similarity.{name}" for name in ("cka", "procrustes", "cca", "rsa", "dictionaries")]
FAMILIES = sorted({metric.family for metric in METRICS.values()})


def kept(name: str, key: str) -> dict[str, dict]:
    return json.loads((BENCHMARKS / name).read_text(encoding="utf-8"))[key]


def reasons(name: str) -> dict[str, str]:
    """A table of reasons of benchmarks/beside.py, read without importing the benchmark."""
    tree = ast.parse((BENCHMARKS / "beside.py").read_text(encoding="utf-8"))
    [table] = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return ast.literal_eval(table)


def drawn() -> set[str]:
    found = set()
    for file in ("calibration.json", "calibration_by_name.json"):
        found |= {name for sizes in kept(file, "worlds").values() for table in sizes.values() for name in table}
    return found


def timed() -> set[str]:
    found = set(kept("scaling.json", "results")) | set(kept("scaling_by_name.json", "results"))
    return found | ({"iwr", "orthogonality"} if "iwo" in found else set())  # of the same subspaces


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_score_is_in_the_audit_and_in_the_table_of_trust(name: str) -> None:
    card, trust = AUDIT.partition("### Score card")[2], AUDIT.partition("<!-- reliability:")[2]
    assert re.search(rf"^\| `{re.escape(name)}` \|", card, re.MULTILINE)
    assert re.search(rf"^\|[^|]*\| `{re.escape(name)}` \|", trust.partition("<!-- end")[0], re.MULTILINE)


def test_every_score_is_calibrated_or_says_why_not() -> None:
    calibrated, why = drawn(), reasons("NOT_DRAWN")
    heads = {name.partition(".")[0] for name in calibrated if not name.startswith("similarity.")}
    missing = [name for name in [*METRICS, *SIMILARITIES] if name not in calibrated and name not in why]
    missing += [name for name in BESIDE_THE_PANEL if name not in heads and name not in why]
    assert not missing
    assert not calibrated & set(why)


def test_every_score_has_a_cost_or_says_why_not() -> None:
    times, why = timed(), reasons("NOT_TIMED")
    assert not [name for name in [*FAMILIES, *SIMILARITIES, *BESIDE_THE_PANEL] if name not in times and name not in why]
    assert not times & set(why)


def test_every_function_beside_the_panel_is_on_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    named = [*BESIDE_THE_PANEL, *(name.removeprefix("similarity.") for name in SIMILARITIES)]
    assert not [name for name in named if not re.search(rf"\b{name}\b", pages)]
    assert {name.removeprefix("similarity.") for name in SIMILARITIES} <= set(similarity.__all__)
