"""README.md and tables of other pages: every number comes from a file in the repository, or is fixed by it."""

import json
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from unbraid import METRICS, evaluate
from unbraid.audit import CASES
from unbraid.data import example
from unbraid.metrics.table.metric import Property

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "images" / "report.png"


@pytest.fixture
def filling(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "readme", raising=False)
    import readme

    return readme


def test_the_table_of_speeds_is_what_the_benchmarks_kept(filling):
    assert filling.filled(README) == README, "run `python benchmarks/readme.py`"


def test_a_number_that_drifts_is_noticed(filling):
    drifted = re.sub(r"(\| `mig` \| )([\d.]+)", r"\g<1>9\2", README)
    assert filling.filled(drifted) == README != drifted


@pytest.mark.parametrize(
    ("script", "page"), [("scaling", "benchmarks/README.md"), ("calibration", "docs/calibration.md")]
)
def test_tables_of_other_pages_are_what_the_benchmarks_kept(monkeypatch, tmp_path, script, page):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    copy = tmp_path / "page.md"
    copy.write_bytes((ROOT / page).read_bytes())
    import_module(script).main(["--page", str(copy)])
    assert copy.read_text(encoding="utf-8") == (ROOT / page).read_text(encoding="utf-8")


def prose():
    """README without code, links, addresses, names of things and the tables that are made."""
    text = re.sub(r"<!-- (speed|neighbours):.*?<!-- end of \1 -->", "", README, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


@pytest.mark.slow
def test_every_other_number_is_accounted_for():
    """Numbers in the text, each with the place in the repository that it comes from."""
    chance = evaluate(example(), metrics=["explicitness"], progress=False)["explicitness"].null
    panel = json.loads((ROOT / "benchmarks" / "panel.json").read_text(encoding="utf-8"))
    known = {
        f"{chance:.2f}",  # the demo's
        str(panel["machine"]["cores"]),
        "2",  # the exit code of bad input; tests/cli
        "1",  # TensorFlow's version
        "2.0",  # the licence's
        str(len(CASES)),
        "40",  # four structures of factors by ten encoders, docs/audit.md
    }
    found = set(re.findall(r"\d+(?:\.\d+)*", prose()))
    assert found <= known, f"say where {sorted(found - known)} come from, and compare them here"
    assert f"{chance:.2f}" in found


def test_the_oldest_python_is_that_of_the_package():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert f"Python {needed.removeprefix('>=')} or newer" in README


def test_every_family_with_a_page_is_linked():
    section = README.partition("## What is measured")[2].partition("\n## ")[0]
    missing = {m.family for m in METRICS.values()} - set(re.findall(r"docs/metrics/(\w+)\.md", section))
    assert not missing
    for prop in (Property.MODULARITY, Property.COMPACTNESS, Property.EXPLICITNESS):
        assert str(prop) in section


def test_the_picture_is_there_and_small():
    picture = PICTURE.read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) <= 200_000
