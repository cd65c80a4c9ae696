"""The audit as Markdown and as a page, and the tables that the documentation shows."""

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers import wrong_metrics as plugins
from unbraid import METRICS, audit
from unbraid.audit import CASES, CaseVerdict
from unbraid.audit.result import BEGIN, END, cell, read_cells, with_earlier
from unbraid.report import render_audit
from unbraid.report.audit import did, heading, lede

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit.md"
FAST = ("mig", "jemmig", "modularity", "sap", "r2", "total_correlation")
SMALL = {"n_seeds": 2, "n_rows": 300, "n_jobs": 1, "progress": False}
REMAKE = "run `unbraid audit --markdown docs/audit.md`"


@cache
def written():
    """Return the cells of the tables in the documentation, by metric and case."""
    found = {}
    metrics: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [part.strip() for part in line.strip("|").split(" | ")]
        if cells[0].strip() == "Case" and not cells[1].startswith("What"):
            metrics = [part.strip("` ") for part in cells[1:]]
        elif not line.startswith("|"):
            metrics = []
        elif metrics and cells[0].startswith("`"):
            found |= {(metric, cells[0].strip("`")): text for metric, text in zip(metrics, cells[1:], strict=True)}
    return found


def parts(text):
    """Split a cell into whether it failed, its mark and its number."""
    match = re.fullmatch(r"(\*\*✗ )?([▲=↓▼·]) (\S+?)(?:\*\*)?", text)
    assert match, text
    number = {"∞": float("inf"), "refused": None}.get(match[3], match[3])
    return bool(match[1]), match[2], None if number is None else float(number)


def test_documentation_has_every_metric_and_case():
    assert set(written()) == {(metric, case) for metric in METRICS for case in CASES}, REMAKE


@pytest.mark.slow
def test_documentation_agrees_with_a_run_of_today():
    found = audit.run(FAST, progress=False, n_jobs=1)
    for (metric, case), finding in found.findings.items():
        failed, mark, value = parts(written()[metric, case])
        now_failed, now_mark, now_value = parts(cell(finding))
        assert (failed, mark) == (now_failed, now_mark), f"{metric} in {case}: {REMAKE}"
        assert value == (None if now_value is None else pytest.approx(now_value, abs=0.02)), f"{metric} in {case}"


def test_documentation_counts_what_its_tables_show():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for metric in METRICS:
        [line] = [line for line in lines if line.startswith(f"| `{metric}` | ") and " of " in line]
        passed, with_verdict = (int(part) for part in re.search(r"\| (\d+) of (\d+) \|", line).groups())
        cells = [parts(text) for (name, _), text in written().items() if name == metric]
        assert sum(failed for failed, _, _ in cells) == with_verdict - passed
        assert line.count("`") // 2 - 1 == with_verdict - passed


@pytest.fixture(scope="module")
def small():
    return audit.run("mig,total_correlation", cases=["correlated/identity", "independent/duplicated"], **SMALL)


def test_tables_go_between_the_marks_and_nowhere_else(small, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    small.to_markdown(page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "| `correlated/identity` | **✗ = " in text
    new = tmp_path / "new.md"
    small.to_markdown(new)
    assert new.read_text(encoding="utf-8").startswith(BEGIN)
    other = tmp_path / "other.md"
    other.write_text("my notes", encoding="utf-8")
    with pytest.raises(ValueError, match="has no lines"):
        small.to_markdown(other)
    assert other.read_text(encoding="utf-8") == "my notes"


def test_cells_of_earlier_runs_are_kept_where_asked(small, tmp_path):
    page = tmp_path / "page.md"
    known = {(name, case): small["mig", "correlated/identity"] for name in ("mig", "sap") for case in CASES}
    whole = with_earlier(small, {key: replace(one, metric=key[0], case=key[1]) for key, one in known.items()})
    assert [one.name for one in whole.candidates] == ["mig", "sap"]
    whole.to_markdown(page)
    read = read_cells(page.read_text(encoding="utf-8"))
    assert set(read) == set(known)
    assert cell(read["sap", "few_rows/identity"]) == cell(small["mig", "correlated/identity"])
    assert cell(read["mig", "independent/duplicated"]) == cell(small["mig", "independent/duplicated"])
    again = small.to_markdown(page, keep=True)
    assert f"{2 * len(CASES) - len(small.cases)} cells are kept from earlier runs" in again
    assert read_cells(page.read_text(encoding="utf-8")).keys() == read.keys()


def test_cells_show_what_should_be_and_what_is(small):
    assert re.fullmatch(r"\*\*✗ = 0\.[6-9]\d\*\*", cell(small["mig", "correlated/identity"]))
    assert cell(small["mig", "independent/duplicated"]) == "↓ 0.00"
    assert cell(small["total_correlation", "independent/duplicated"]) == "↓ ∞"


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_page_needs_nothing_else_and_shows_every_finding(small):
    page = Tags(render_audit(small))
    assert not [
        tag for tag, values in page.tags if "src" in values or (tag in ("link", "iframe") and values["rel"] != "icon")
    ]
    cells = [values for tag, values in page.tags if tag == "td" and values.get("class") in ("pass", "fail", "open")]
    assert len(cells) == len(small.findings)
    failed = sum(finding.verdict is CaseVerdict.FAIL for finding in small.findings.values())
    assert sum(values["class"] == "fail" for values in cells) == failed > 0
    anchors = {values["href"][1:] for tag, values in page.tags if tag == "a" and values["href"].startswith("#")}
    assert anchors <= {values.get("id") for _, values in page.tags}
    assert "takes dependence between factors for entanglement" in page.text
    assert "Which metric notices what?" in page.text
    assert lede(small).split(" of ")[0] in page.text


def test_page_of_ones_own_metric_escapes_what_it_says():
    def raises(codes, factors):
        if codes.shape[1] == 6:
            raise ValueError("<script>alert(1)</script>")
        return plugins.gap(codes, factors)

    found = audit.run(raises, measures="compactness", name="<b>mine</b>", cases="independent/duplicated", **SMALL)
    html = render_audit(found)
    assert "<b>mine" not in html
    page = Tags(html)
    assert sum(tag == "script" for tag, _ in page.tags) == 2  # the data and ours
    assert heading(found) == "Does <b>mine</b> notice what it should?"
    assert heading(found) in page.text
    assert did(found["<b>mine</b>", "independent/duplicated"]) == "refused: <script>alert(1)</script>"
    assert "It failed in independent/duplicated." in page.text
