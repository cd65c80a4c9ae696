import json
from pathlib import Path

import pytest

from helpers import wrong_metrics
from helpers.small import run_cli
from unbraid.audit import CASES

PLUGINS = Path(wrong_metrics.__file__)
QUICK = ("--seeds", 2, "--rows", 300, "--jobs", 1, "--cases", "independent/duplicated")


def test_one_metric_is_shown_case_by_case(capsys):
    code, out, err = run_cli(capsys, "audit", "--metric", "mig", *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "mig: passed 4 of 4 cases"
    assert lines[1].split() == ["case", "should", "baseline", "score", "verdict", "behaviour"]
    doubled = next(line for line in lines if line.startswith("independent/duplicated"))
    assert "get worse" in doubled
    assert " 0.000 " in doubled
    assert " pass " in doubled


def test_many_metrics_are_shown_as_a_score_card(capsys):
    code, out, _ = run_cli(capsys, "audit", "--metric", "mig,mcc,sap,r2", *QUICK)
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("mcc "))
    assert row.split()[-1] == "independent/duplicated"


def test_everything_is_written_that_is_asked_for(capsys, tmp_path):
    files = {
        option: tmp_path / f"audit.{end}" for option, end in (("json", "json"), ("report", "html"), ("markdown", "md"))
    }
    options = [part for option, path in files.items() for part in (f"--{option}", path)]
    code, _, err = run_cli(capsys, "audit", "--metric", "mig", *QUICK, *options)
    assert code == 0
    assert sorted(err.splitlines()) == sorted(f"wrote {path}" for path in files.values())
    data = json.loads(files["json"].read_text())
    assert data["metrics"]["mig"]["passed"] == 4
    assert files["report"].read_text().startswith("<!doctype html>")
    assert "| `mig` | compactness, explicitness | 4 of 4 | nowhere |" in files["markdown"].read_text()
    code, out, _ = run_cli(capsys, "audit", "--metric", "mig", *QUICK, "--json", "-")
    assert json.loads(out)["findings"] == data["findings"]


def test_a_plugin_by_file_and_name(capsys, tmp_path):
    code, out, _ = run_cli(capsys, "audit", "--plugin", f"{PLUGINS}:best_column", "--measures", "compactness", *QUICK)
    assert code == 0
    assert out.startswith("best_column: passed 3 of 4 cases")
    file = tmp_path / "mine.py"
    file.write_text("def metric(codes, factors):\n    return 3.0\n")
    claims = ("--measures", "explicitness", "--bounds", "0,inf", "--lower-is-better")
    code, out, _ = run_cli(capsys, "audit", "--plugin", file, *claims, *QUICK)
    assert code == 0
    assert "did not clearly get worse" in out


def test_list_has_every_case(capsys):
    code, out, err = run_cli(capsys, "audit", "--list")
    assert (code, err) == (0, "")
    assert {line.split()[0] for line in out.splitlines() if line[:1].strip()} == {"case", *CASES}


def test_help_teaches(capsys):
    code, out, _ = run_cli(capsys, "audit", "--help")
    assert code == 0
    assert "unbraid audit --plugin my_metric.py:score --measures modularity" in out
    assert "unbraid audit" in run_cli(capsys, "audit", "--help")[1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "mine.py' cannot be loaded: there is no file"),
        ("def metrics(codes, factors): return 1.0", "has no 'metric'; did you mean 'metrics'"),
        ("metric = 3", "mine.py' must name a function, got metric = 3."),
        ("def metric(codes, factors) return 1", "cannot be loaded: SyntaxError"),
        ("import sys; sys.exit(0)", "cannot be loaded: SystemExit"),
        ("def metric(codes, factors): raise KeyError('x')", "has no score for separated factors: KeyError: 'x'"),
        ("def metric(codes, factors): return float('nan')", "must return a number"),
        ("def metric(codes, factors): return codes", "must return one number"),
        ("def metric(codes, factors): return 'good'", "must return one number or a Score, got str."),
    ],
)
def test_a_bad_plugin_gets_one_sentence(capsys, tmp_path, source, message):
    file = tmp_path / "mine.py"
    if source is not None:
        file.write_text(source)
    report = tmp_path / "audit.html"
    code, out, err = run_cli(capsys, "audit", "--plugin", file, "--measures", "modularity", "--report", report, *QUICK)
    assert (code, out) == (2, "")
    assert err.startswith("unbraid: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not report.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "migg"), "Unknown metric 'migg'"),
        (("--metric", ""), "Unknown metric ''"),
        (("--metric", "mig", "--plugin", PLUGINS), "metric must be left out when plugin is given"),
        (("--plugin", f"{PLUGINS}:gap"), "measures must say"),
        (("--plugin", f"{PLUGINS}:gap", "--measures", "modular"), "measures must be one of"),
        (("--plugin", f"{PLUGINS}:gap", "--measures", "modularity", "--bounds", "1"), "bounds must be two numbers"),
        (("--plugin", f"{PLUGINS}:gapp", "--measures", "modularity"), "has no 'gapp'; did you mean 'gap'"),
        (
            ("--plugin", "notes.txt", "--measures", "modularity"),
            "plugin 'notes.txt' cannot be loaded: there is no file 'notes.txt'.",
        ),
        (("--measures", "modularity"), "measures must be left out"),
        (("--metric", "mig", "--lower-is-better"), "higher_is_better must be"),
        (("--metric", "mig", "--cases", "independent/mixt"), "Unknown case 'independent/mixt'; did you mean"),
        (("--metric", "mig", "--seeds", 1), "n_seeds must be"),
        (("--metric", "mig", "--json", "nowhere/audit.json"), "there is no folder 'nowhere'"),
        (("--metric", "mig", "--json", "a.html", "--report", "a.html"), "would overwrite the input or another output"),
    ],
)
def test_bad_arguments_get_one_sentence(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli(capsys, "audit", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_page_without_marks_is_refused_before_the_work(capsys, tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("mine")
    code, out, err = run_cli(capsys, "audit", "--metric", "mig", *QUICK, "--markdown", notes)
    assert (code, out) == (2, "")
    assert "to write between" in err
    assert notes.read_text() == "mine"


def test_reliability_is_a_table_of_noise_and_of_the_run(capsys):
    options = ("--reliability", "--metric", "mig", "--rows", "300", "--jobs", "1")
    code, out, _ = run_cli(capsys, "audit", *options)
    assert code == 0
    head, row = out.splitlines()[:2]
    assert head.split()[:4] == ["metric", "span", "reseed", "redraw"]
    assert row.split()[0] == "mig"
    assert float(row.split()[2]) == 0.0


def test_keep_wants_a_page_of_an_earlier_run(capsys, tmp_path):
    code, _, err = run_cli(capsys, "audit", "--metric", "mig", "--keep", "--markdown", str(tmp_path / "new.md"), *QUICK)
    assert code == 2
    assert "keep must be given with markdown" in err
