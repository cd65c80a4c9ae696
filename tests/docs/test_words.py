"""Architecture, findings and glossary: tables that must name what the source has, and no more."""

import re
from functools import cache
from pathlib import Path

import pytest

from test_layers import ALLOWED
from unbraid.results.finding import FindingKind

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "unbraid"
NAME = re.compile(r"`([^`]+)`")


@cache
def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def rows(name, heading):
    """Return the cells of the first table under a heading, without its head."""
    lines = page(name).partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    found = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[2:]]


@pytest.fixture
def walks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import walk

    return walk


def test_the_rooms_and_their_imports_are_those_of_the_fence():
    table = rows("architecture", "The rooms")
    named = {NAME.findall(room)[0].rstrip("/"): set(NAME.findall(imports)) for room, _, imports in table}
    assert {room: imports - {"unbraid"} for room, imports in named.items()} == ALLOWED


def test_every_file_of_the_walks_is_there():
    named = [name for name in NAME.findall(page("architecture")) if "/" in name and " " not in name]
    paths = [name for name in named if name.partition("/")[0] in ALLOWED]
    assert len(paths) > 50
    assert [name for name in paths if not (SOURCE / name).exists()] == []


def test_every_kind_of_finding_has_a_rule_and_a_definition():
    for table in (rows("findings", "The table of kinds"), rows("glossary", "Findings")):
        assert sorted(NAME.findall(kind)[0] for kind, *_ in table) == sorted(map(str, FindingKind))


def test_every_term_is_defined_once_and_in_one_sentence():
    tables = [rows("glossary", heading) for heading in re.findall(r"^## (.+)$", page("glossary"), re.MULTILINE)]
    terms = [row[0] for table in tables for row in table]
    assert len(terms) == len(set(terms)) > 70
    for row in (row for table in tables for row in table):
        assert row[1].endswith("."), row


@pytest.mark.slow
def test_score_passes_through_few_files_and_never_goes_in_a_circle(walks, capsys):
    found = walks.walk("score {npz} --jobs 1 --metrics mig,dci_linear --report {html}", n_rows=120)
    path = walks.on_the_way(found.files)
    assert {"cli/_score.py", "panel/evaluation.py", "report/scores.py"} <= set(path)
    assert len(path) <= 40
    assert walks.called_back(found.turns) == []


def test_a_circle_and_a_return_are_noticed(walks):
    assert walks.called_back({("report", "cli"), ("evidence", "probes")}) == ["cli"]
    assert walks.reentered(["cli/a.py", "panel/b.py", "cli/c.py", "report/d.py"]) == ["cli"]
    assert walks.reentered(["cli/a.py", "cli/c.py", "report/d.py"]) == []


def test_the_page_has_the_marks_that_the_script_fills(walks):
    assert walks.written(page("architecture"), "new").count("new\n<!-- end of walk -->") == 1
