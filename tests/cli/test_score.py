import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from helpers.reports import build_report
from helpers.small import run_cli, save_npz, small_world
from unbraid import Representation, evaluate, load, save
from unbraid.cli._table import print_report

QUICK = ("--metrics", "mig,sap")


def scores(capsys, *arguments):
    code, out, _ = run_cli(capsys, "score", *arguments, "--json", "-")
    assert code == 0
    return json.loads(out)["scores"]


def test_prints_a_table_to_standard_output(tmp_path, capsys):
    code, out, err = run_cli(capsys, "score", save_npz(tmp_path), *QUICK)
    table, legend, said = out.split("\n\n")
    header, *rows = table.splitlines()
    assert code == 0
    assert header.split() == ["metric", "value", "95", "%", "interval", "chance", "standing"]
    assert legend.startswith("chance: ")
    assert said.startswith("This representation is very good at compactness (")
    assert [row.split()[0] for row in rows] == ["mig", "sap"]
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert "shape ordinal, size ordinal and angle ordinal" in err


def test_table_shows_what_the_library_computes(tmp_path, capsys):
    path = save_npz(tmp_path)
    _, out, _ = run_cli(capsys, "score", path, "--metrics", "mig")
    score = evaluate(load(path), metrics="mig")["mig"]
    interval = [f"[{score.low:.3f},", f"{score.high:.3f}]"]
    expected = ["mig", f"{score.value:.3f}", *interval, f"{score.null:.3f}", f"{score.standing:.2f}"]
    assert out.splitlines()[1].split() == expected


def test_json_to_standard_output_is_only_json_in_the_documented_layout(tmp_path, capsys):
    code, out, err = run_cli(capsys, "score", save_npz(tmp_path), *QUICK, "--json", "-")
    data = json.loads(out)
    assert code == 0
    assert {"scores", "failures", "notes", "findings", "dependence", "evidence", "meta"} <= set(data)
    assert list(data["scores"]) == ["mig", "sap"]
    mig = data["scores"]["mig"]
    assert set(mig) >= {"value", "low", "high", "chance", "interval", "per_factor", "per_code", "notes"}
    assert mig["low"] <= mig["value"] <= mig["high"]
    assert list(mig["per_factor"]) == ["shape", "size", "angle"]
    assert np.mean(list(mig["per_factor"].values())) == pytest.approx(mig["value"])
    assert data["failures"] == {}
    assert data["meta"]["n_samples"] == 120
    assert err.splitlines() == [f"note: {note}" for note in data["notes"]]


def test_writes_json_csv_and_report_to_files(tmp_path, capsys):
    path = save_npz(tmp_path)
    outputs = [tmp_path / name for name in ("out.json", "out.csv", "out.html")]
    code, out, err = run_cli(
        capsys, "score", path, *QUICK, "--json", outputs[0], "--csv", outputs[1], "--report", outputs[2]
    )
    assert code == 0
    assert out.startswith("metric")
    assert err.splitlines()[-3:] == [f"wrote {output}" for output in outputs]
    assert list(json.loads(outputs[0].read_text())["scores"]) == ["mig", "sap"]
    assert pd.read_csv(outputs[1])["metric"].tolist() == ["mig", "sap"]
    assert "<html" in outputs[2].read_text()
    assert {item.name for item in tmp_path.iterdir()} == {"codes.npz", "out.json", "out.csv", "out.html"}


def test_a_report_escapes_names(tmp_path, capsys):
    codes, factors = small_world()
    path = save_npz(tmp_path, codes, factors[:, :2], factor_names=["<script>alert(1)</script>", "größe"])
    code, _, _ = run_cli(capsys, "score", path, *QUICK, "--report", tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    assert code == 0
    assert "<script>alert(1)" not in page
    assert "größe" in page


def test_a_family_name_gives_all_its_scores(tmp_path, capsys):
    found = scores(capsys, save_npz(tmp_path), "--metrics", "mig,dci_linear", "--no-intervals", "--no-nulls")
    family = ["dci_linear.disentanglement", "dci_linear.completeness", "dci_linear.informativeness"]
    assert list(found) == ["mig", *family]


def test_a_panel_is_a_preset(tmp_path, capsys):
    found = scores(capsys, save_npz(tmp_path), "--preset", "single-cell", "--no-intervals", "--no-nulls")
    assert {"mig", "one_vs_rest", "best_single"} <= set(found)
    assert "dci_linear.completeness" not in found


@pytest.mark.slow
def test_same_seed_same_scores_and_another_seed_others(tmp_path, capsys):
    path = save_npz(tmp_path)
    arguments = (path, "--metrics", "mig,z_min_var,dci_forest", "--option", "dci_forest.n_trees=3")
    first = scores(capsys, *arguments, "--seed", 3)
    assert scores(capsys, *arguments, "--seed", 3) == first
    assert scores(capsys, *arguments, "--seed", 4) != first


@pytest.mark.slow
def test_the_number_of_jobs_does_not_change_scores(tmp_path, capsys):
    arguments = (save_npz(tmp_path), "--metrics", "mig,sap,z_diff,dci_linear,total_correlation")
    assert scores(capsys, *arguments, "--jobs", 1) == scores(capsys, *arguments, "--jobs", 2)


def test_intervals_and_nulls_can_be_left_out(tmp_path, capsys):
    path = save_npz(tmp_path)
    bare = scores(capsys, path, "--metrics", "mig", "--no-intervals", "--no-nulls")["mig"]
    assert (bare["low"], bare["high"], bare["chance"], bare["interval"]) == (None, None, None, None)
    assert (
        bare["value"] == scores(capsys, path, "--metrics", "mig")["mig"]["plain"]
    )  # halves of the rows give the value


def test_a_metric_that_cannot_apply_is_a_row_and_does_not_stop_the_others(tmp_path, capsys):
    path = save_npz(tmp_path)
    arguments = ("--metrics", "mig,z_diff", "--only", "size")
    code, out, _ = run_cli(capsys, "score", path, *arguments)
    row = out.splitlines()[2]
    assert code == 0
    assert row.split()[:2] == ["z_diff", "failed"]
    assert "two columns for z_diff" in row
    _, out, _ = run_cli(capsys, "score", path, *arguments, "--json", "-")
    data = json.loads(out)
    assert list(data["scores"]) == ["mig"]
    assert list(data["failures"]) == ["z_diff"]
    assert list(data["scores"]["mig"]["per_factor"]) == ["size"]


def test_square_brackets_in_a_reason_are_printed_as_they_are(capsys):
    reason = "[red] must be finite, got NaN in columns [3, 7]."
    print_report(build_report(failures={"mig": reason}))
    assert reason in capsys.readouterr().out


def test_kinds_are_read_from_the_command_line(tmp_path, capsys):
    arguments = ("--kinds", "shape=categorical, angle=circular:8", "--metrics", "mig", "--json", "-")
    _, out, _ = run_cli(capsys, "score", save_npz(tmp_path), *arguments)
    assert json.loads(out)["meta"]["factor_kinds"] == ["categorical", "ordinal", "circular"]


def test_factors_are_joined_and_held_fixed_together(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x, y, shape = (rng.integers(0, n, 1500) for n in (4, 5, 3))
    path = tmp_path / "codes.npz"
    codes = np.column_stack([x + 2.0 * y, shape * 1.0])
    np.savez(path, codes=codes, factors=np.column_stack([x, y, shape]), factor_names=["x", "y", "shape"])
    bare = (path, "--metrics", "irs,z1", "--no-intervals", "--no-nulls")
    apart, together = scores(capsys, *bare), scores(capsys, *bare, "--join", "position = x + y")
    for name in ("irs", "z1"):
        assert together[name]["value"] == pytest.approx(1.0)
        assert apart[name]["value"] < 0.9
    code, _, err = run_cli(capsys, "score", *bare, "--join", "position=x+z")
    assert (code, "'z'" in err) == (2, True)
    _, out, _ = run_cli(capsys, "score", *bare, "--join", "position=x+y", "--json", "-")
    assert json.loads(out)["meta"]["source"].endswith(".with_joined_factors({'position': ('x', 'y')})")


def test_options_reach_the_metric(tmp_path, capsys):
    path = save_npz(tmp_path)
    bare = ("--metrics", "dci_forest", "--no-intervals", "--no-nulls")
    found = scores(capsys, path, *bare, "--option", "dci_forest.n_trees=5")
    expected = evaluate(
        load(path), metrics="dci_forest", options={"dci_forest": {"n_trees": 5}}, intervals=False, nulls=False
    )
    assert {name: score["value"] for name, score in found.items()} == {
        name: score.value for name, score in expected.items()
    }
    assert found != scores(capsys, path, *bare, "--option", "dci_forest.n_trees=6")


def test_options_may_be_words_numbers_and_truths(tmp_path, capsys):
    path = save_npz(tmp_path)
    bare = (path, "--metrics", "mig,wasserstein_correlation", "--no-intervals", "--no-nulls")
    given = {"mig": {"binning": "quantile", "n_bins": 5}, "wasserstein_correlation": {"normalised": False}}
    words = ("mig.binning=quantile", "mig.n_bins=5", "wasserstein_correlation.normalised=false")
    found = scores(capsys, *bare, *(f"--option={word}" for word in words))
    expected = evaluate(load(path), metrics=list(given), options=given, intervals=False, nulls=False)
    plain = scores(capsys, *bare)
    for name in given:
        assert found[name]["value"] == expected[name].value
        assert found[name]["value"] != plain[name]["value"]


def test_bins_and_binning_reach_every_metric_that_bins(tmp_path, capsys):
    path = save_npz(tmp_path)
    bare = ("--metrics", "mig", "--no-intervals", "--no-nulls")
    found = scores(capsys, path, *bare, "--bins", 4, "--binning", "uniform")["mig"]["value"]
    expected = evaluate(load(path), metrics="mig", n_bins=4, binning="uniform", intervals=False, nulls=False)
    assert found == expected["mig"].value


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_scores_as_the_npz_does(tmp_path, capsys, suffix):
    path = save_npz(tmp_path)
    table = save(load(path), tmp_path / f"codes.{suffix}")
    assert scores(capsys, table, "--metrics", "mig") == scores(capsys, path, "--metrics", "mig")


def test_column_patterns_are_read_from_the_command_line(tmp_path, capsys):
    codes, factors = small_world()
    frame = pd.DataFrame({"z0": codes[:, 0], "z1": codes[:, 1], "label": factors[:, 0]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    patterns = ("--code-columns", "z?", "--factor-columns", "label")
    found = scores(capsys, tmp_path / "table.csv", "--metrics", "mig", *patterns)
    assert list(found["mig"]["per_factor"]) == ["label"]


def test_a_pair_of_npy_files_is_scored(tmp_path, capsys):
    codes, factors = small_world()
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "labels.npy", factors)
    found = scores(capsys, tmp_path / "codes.npy", "--factors", tmp_path / "labels.npy", "--metrics", "mig")
    assert list(found["mig"]["per_factor"]) == ["factor_0", "factor_1", "factor_2"]


def test_two_npy_files_are_told_how_to_say_which_holds_the_labels(tmp_path, capsys):
    codes, factors = small_world()
    pair = tmp_path / "c.npy", tmp_path / "f.npy"
    np.save(pair[0], codes)
    np.save(pair[1], factors)
    code, out, err = run_cli(capsys, "score", *pair)
    assert (code, out) == (2, "")
    assert f"if 'f.npy' holds them, `unbraid score {pair[0]} --factors {pair[1]}`" in err
    code, _, err = run_cli(capsys, "score", pair[0])
    assert code == 2
    assert "--factors labels.npy" in err
    assert run_cli(capsys, "score", *pair, "--factors", pair[1], "--metrics", "mig")[0] == 0


def test_only_drops_a_constant_factor_as_the_message_says(tmp_path, capsys):
    codes, factors = small_world()
    path = save_npz(tmp_path, codes, factors * [1, 0, 1])
    assert "drop it before scoring, by naming the others: --only" in run_cli(capsys, "score", path)[2]
    found = scores(capsys, path, "--only", "shape,angle", "--metrics", "mig")
    assert list(found["mig"]["per_factor"]) == ["shape", "angle"]


def test_columns_are_named_from_the_command_line(tmp_path, capsys):
    codes, factors = small_world()
    frame = pd.DataFrame({"x": codes[:, 0], "y": codes[:, 1], "shape": factors[:, 0], "size": factors[:, 1]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    table = tmp_path / "table.csv"
    found = scores(capsys, table, "--code-columns", "x,y", "--factor-columns", "s*", "--metrics", "mig")["mig"]
    assert list(found["per_factor"]) == ["shape", "size"]
    assert "--code-columns x,y in the shell" in run_cli(capsys, "score", table)[2]


def test_an_angle_in_degrees_needs_its_period(tmp_path, capsys):
    angle = np.random.default_rng(0).uniform(0, 360, 300)
    codes = np.column_stack([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
    path = save_npz(tmp_path, codes, angle[:, None], factor_names=["azimuth"])
    bare = ("--metrics", "r2", "--no-intervals", "--no-nulls")
    code, _, err = run_cli(capsys, "score", path, *bare, "--kinds", "azimuth=circular")
    assert code == 2
    assert "such as 'circular:360' for degrees" in err
    assert scores(capsys, path, *bare, "--kinds", "azimuth=circular:360")["r2"]["value"] > 0.99


def test_without_factors_only_label_free_metrics_run(tmp_path, capsys):
    path = save(Representation(small_world()[0]), tmp_path / "codes.npz")
    code, out, err = run_cli(capsys, "score", path, "--json", "-")
    assert code == 0
    assert sorted(json.loads(out)["scores"]) == [
        "code_mutual_information",
        "total_correlation",
        "wasserstein_correlation",
    ]
    assert "note: No factors were given" in err
    assert "mig" in err


def test_a_full_disk_is_one_sentence_and_no_half_file(tmp_path, capsys, monkeypatch):
    path = save_npz(tmp_path)

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    code, _, err = run_cli(capsys, "score", path, "--metrics", "mig", "--json", tmp_path / "out.json")
    assert code == 2
    out = str(tmp_path / "out.json")
    assert err.splitlines()[-1] == (
        f"unbraid: path {out!r} cannot be written: No space left on device; make room there and run it again."
    )
    assert list(tmp_path.iterdir()) == [path]


def test_sentences_are_printed_without_loading_the_pages(tmp_path):
    file = save_npz(tmp_path)
    code = (
        "import sys\nfrom unbraid.cli import main\n"
        f"try:\n    main(['score', {str(file)!r}, '--metrics', 'mig,dci_linear', '--jobs', '1'])\n"
        "finally:\n    print(*[name for name in sys.modules if name.startswith('unbraid.report')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "This representation is " in done.stdout
    assert "unbraid.report" not in done.stderr
