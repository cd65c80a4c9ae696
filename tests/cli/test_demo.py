import json
from html import escape
from pathlib import Path

import pytest

from helpers.small import run_cli
from unbraid import METRICS

IN_DEFAULT = [name for name, metric in METRICS.items() if metric.in_default]


@pytest.mark.slow
def test_scores_the_example_and_ends_with_the_path_of_the_page(tmp_path, capsys):
    code, out, err = run_cli(capsys, "demo", "--report", tmp_path / "demo page.html")
    lines = out.splitlines()
    assert code == 0
    assert lines[-1] == f"Report: {tmp_path / 'demo page.html'}"
    table, legend, said, found, _ = out.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == IN_DEFAULT
    assert "orthogonality ↓ " in table
    assert legend.startswith("↓: lower is better; for all others, higher.\nchance: ")
    assert said.startswith("This representation is ")
    page = Path(lines[-1].removeprefix("Report: ")).read_text()
    findings = json.loads(page.split('id="data">')[1].split("</script>")[0])["findings"]
    assert [item["kind"] for item in findings] == ["own code", "circle", "rotated", "empty code", "dead code"]
    assert found.splitlines() == [f"- {item['sentence']}" for item in findings]
    assert "failed" not in out
    assert "1 of 8 codes are constant and encode nothing: dead." in err
    assert "</html>" in page
    assert escape(said.partition(".")[0]) in page
    assert all(name in page for name in IN_DEFAULT)


def test_bad_arguments_stop_before_any_work(tmp_path, capsys):
    code, out, err = run_cli(capsys, "demo", "--report", tmp_path / "nowhere" / "demo.html")
    assert (code, out) == (2, "")
    assert err.startswith("unbraid: report ")
    assert "there is no folder" in err
    code, out, err = run_cli(capsys, "demo", "--report", tmp_path / "demo.html", "--seed", -1)
    assert (code, out, err.partition(" must ")[0]) == (2, "", "unbraid: seed")
    assert not list(tmp_path.iterdir())
