import json

import pytest

from helpers.small import run_cli
from unbraid import METRICS
from unbraid.metrics import Preset
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL

KEYS = {"metric", "title", "measures", "needs", "direction", "cost", "panel", "presets", "question"}


def test_lists_every_metric_once_and_what_is_beside_the_panel(capsys):
    code, out, err = run_cli(capsys, "metrics")
    table, by_use, how, beside = out.split("\n\n")
    rows = [line.split() for line in table.splitlines()[1:] if line[:1].strip()]
    assert code == 0
    assert err == ""
    assert [row[0] for row in rows] == list(METRICS)
    assert {row[0] for row in rows if row[1] == "default"} == {m.name for m in METRICS.values() if m.in_default}
    named = [line[2:].partition(":")[0] for line in by_use.splitlines() if line.startswith("- ")]
    assert named == ["default", *Preset, "all"]
    assert "`unbraid metrics NAME`" in how
    assert [line[2:].partition(":")[0] for line in beside.splitlines()[1:]] == list(BESIDE_THE_PANEL)
    assert "Needs the codes of two or more models for the same rows" in beside


def test_json_has_a_record_for_every_metric(capsys):
    code, out, _ = run_cli(capsys, "metrics", "--json")
    records = json.loads(out)
    assert code == 0
    assert [record["metric"] for record in records] == list(METRICS)
    for record in records:
        assert set(record) == KEYS
        assert all(record.values())


def test_a_name_says_all_about_one_metric(capsys):
    code, out, err = run_cli(capsys, "metrics", "mig")
    assert (code, err) == (0, "")
    assert out.startswith("mig: Mutual information gap\n")
    said = " ".join(out.split())
    for part in (
        "question Does one code alone encode each factor?",
        "range 0 to 1, higher is better",
        "unchanged by permutation, scaling (of the codes)",
        "changed by warping, rotation (of the codes)",
        "options n_bins=20, binning=robust (or uniform, quantile), "
        "bias_correction=auto (or none, miller_madow, schurmann)",
        "set as --option mig.n_bins=20",
        "docs/metrics/mig.md, or help(unbraid.metrics.mig)",
    ):
        assert part in said


def test_direction_of_the_metric_is_told(capsys):
    assert "range             0 to inf, lower is better" in run_cli(capsys, "metrics", "total_correlation")[1]


@pytest.mark.parametrize("family", dict.fromkeys(metric.family for metric in METRICS.values()))
def test_every_family_can_be_described(capsys, family):
    code, out, _ = run_cli(capsys, "metrics", family)
    members = [metric for metric in METRICS.values() if metric.family == family]
    titles = [line for line in out.splitlines() if line[:1].strip()]
    assert code == 0
    assert titles == [f"{metric.name}: {metric.title}" for metric in members]
    assert out.count("only by name") == sum(not metric.in_default for metric in members)


def test_json_of_names_has_the_options_and_what_is_beside_the_panel(capsys):
    _, out, _ = run_cli(capsys, "metrics", "udr", "total_correlation", "mig", "--json")
    mig, total, udr = json.loads(out)
    assert mig.keys() == total.keys() > KEYS
    assert mig["options"] == {"n_bins": 20, "binning": "robust", "bias_correction": "auto", "normalise_by": "factor"}
    assert mig["choices"]["binning"] == ["uniform", "quantile", "robust"]
    assert total["highest"] is None
    assert udr["needs"] == BESIDE_THE_PANEL["udr"].needs


def test_a_function_beside_the_panel_is_described_too(capsys):
    code, out, _ = run_cli(capsys, "metrics", "udr")
    assert code == 0
    assert out.startswith("udr: not in the panel\n")
    assert "unbraid.metrics.udr([codes_1, codes_2, ...])" in out


def test_a_name_that_is_none_is_refused(capsys):
    code, out, err = run_cli(capsys, "metrics", "mig", "dci")
    assert (code, out) == (2, "")
    assert "one of 'dci_linear'" in err


def test_help_goes_to_standard_output_and_names_the_commands(capsys):
    code, out, err = run_cli(capsys, "--help")
    assert code == 0
    assert err == ""
    assert all(command in out for command in ("demo", "score", "metrics"))
