"""Every public score has a page, tests of its truth, invariances and peers, audit rows, a calibration and a cost."""

import ast
import json
import re
from pathlib import Path

import pytest

from golden.proofs import PROOFS, Proof
from unbraid import similarity
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL

ROOT = Path(__file__).resolve().parents[2]
DOCS, BENCHMARKS = ROOT / "docs", ROOT / "benchmarks"
AUDIT = (DOCS / "audit.md").read_text(encoding="utf-8")
SIMILARITIES = [f"similarity.{name}" for name in ("cka", "procrustes", "cca", "rsa", "dictionaries")]
FAMILIES = sorted({metric.family for metric in METRICS.values()})
TESTS = ROOT / "tests"
#: Families outside the default panel that were there before the scores by name, with tests in files of their own.
OWN_FILES = {"dependent": "metrics/test_dependent.py", "dci_es": "metrics/test_dci_es.py"}
#: Functions beside the panel with tests in files of their own.
OWN_FUNCTIONS = ("udr", "task_explicitness", "loss_capacity", "shared_explicitness", "identifiability")
#: Test of a value known on paper: equality, or a tolerance no larger than this.
TRUTH = 1e-6


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


def source_of(name: str) -> str:
    """The text of a test by the name of its file and its own."""
    file, _, test = name.partition("::")
    text = (TESTS / file).read_text(encoding="utf-8")
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    [found] = [ast.get_source_segment(text, node) or "" for node in functions if node.name == test]
    return found


def test_every_score_by_name_and_every_function_has_its_proofs() -> None:
    named = {metric.family for metric in METRICS.values() if not metric.in_default} - set(OWN_FILES)
    assert set(PROOFS) == named | set(SIMILARITIES) | (set(BESIDE_THE_PANEL) - set(OWN_FUNCTIONS))


@pytest.mark.parametrize(("name", "proof"), PROOFS.items(), ids=PROOFS)
def test_the_proofs_of_a_score_are_there(name: str, proof: Proof) -> None:
    tolerances = [float(number) for number in re.findall(r"(?:abs|atol)=(\d*\.?\d+(?:e-\d+)?)", source_of(proof.truth))]
    exact = re.search(r"== \(?-?[\d[]|== pytest\.approx|< 1e-\d", source_of(proof.truth))
    assert exact or (tolerances and min(tolerances) <= TRUTH)
    assert "assert" in source_of(proof.invariance)
    assert bool(proof.agrees) != bool(proof.reason)
    if proof.agrees:
        assert re.search(r"assert", source_of(proof.agrees))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_page_says_when_the_score_lies_and_how_it_differs_from_public_code(family: str) -> None:
    text = (DOCS / "metrics" / f"{family}.md").read_text(encoding="utf-8")
    for heading in ("Differences from published code", "When it lies", "Invariances"):
        section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
        assert len(section.split()) >= 5, heading
    lies = text.partition("## When it lies\n")[2].partition("\n## ")[0]
    assert re.search(r"\d", lies)


def test_the_page_of_similarity_says_when_it_lies() -> None:
    assert "## When it lies" in (DOCS / "similarity.md").read_text(encoding="utf-8")
