"""Several files: each scored as if alone, shown side by side."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.small import run_cli, save_npz, small_world
from unbraid import Representation, save
from unbraid._base.progress import track
from unbraid.cli import _score
from unbraid.cli._io import distinct_names
from unbraid.panel import evaluation as panel

QUICK = ("--metrics", "mig,sap")
CURVES = ("--metrics", "dci_es", "--option", "dci_es.ladder=linear")


@pytest.fixture
def files(tmp_path):
    codes, _ = small_world()
    mixed = codes @ np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.0, 1.0, 1.0]])
    return save_npz(tmp_path, name="plain.npz"), save_npz(tmp_path, mixed, name="mixed.npz")


def outputs(folder):
    return folder / "out.json", folder / "out.csv", folder / "out.html"


@pytest.mark.slow
def test_prints_a_column_of_values_and_intervals_for_each_file(files, capsys):
    code, out, err = run_cli(capsys, "score", *files, *QUICK)
    table, legend, verdict = out.split("\n\n")
    header, *rows = table.splitlines()
    assert code == 0
    assert verdict.startswith("plain.npz is surely better than mixed.npz at 2 of 2 scores (compactness 2 of 2)")
    assert header.split() == ["metric", "plain.npz", "chance", "mixed.npz", "chance"]
    assert legend.startswith("chance: ")
    assert [row.split()[0] for row in rows] == ["mig", "sap"]
    data = json.loads(run_cli(capsys, "score", *files, *QUICK, "--json", "-")[1])["reports"]
    cells = [data[name]["scores"]["mig"] for name in ("plain.npz", "mixed.npz")]
    expected = " ".join(f"{s['value']:.3f} [{s['low']:.3f}, {s['high']:.3f}] {s['chance']:.3f}" for s in cells)
    assert " ".join(rows[0].split()[1:]) == expected
    assert err.count("note: Factors were read as") == 1


@pytest.mark.slow
def test_many_files_do_not_break_lines(tmp_path, capsys):
    many = [save_npz(tmp_path, name=f"representation_number_{k}.npz") for k in range(12)]
    _, out, _ = run_cli(capsys, "score", *many, "--metrics", "mig", "--no-nulls")
    header, row = out.partition("\n\n")[0].splitlines()
    assert len(header.split()) == 13
    assert row.count("[") == 12


def test_each_file_has_the_numbers_it_has_alone(files, capsys):
    data = json.loads(run_cli(capsys, "score", *files, *QUICK, "--seed", 3, "--json", "-")[1])
    assert list(data) == ["verdict", "differences", "reports"]
    for file in files:
        alone = json.loads(run_cli(capsys, "score", file, *QUICK, "--seed", 3, "--json", "-")[1])
        together = data["reports"][file.name]
        assert {key: together[key] for key in ("scores", "failures", "notes")} == {
            key: alone[key] for key in ("scores", "failures", "notes")
        }
        assert together["meta"]["name"] == alone["meta"]["name"] == file.name


def test_writes_json_csv_and_one_page(files, tmp_path, capsys):
    json_path, csv, page = outputs(tmp_path)
    code, _, err = run_cli(
        capsys, "score", *files, *CURVES, "--no-nulls", "--json", json_path, "--csv", csv, "--report", page
    )
    assert code == 0
    assert err.splitlines()[-3:] == [f"wrote {path}" for path in (json_path, csv, page)]
    scores = json.loads(json_path.read_text())["reports"]["mixed.npz"]["scores"]
    assert scores["dci_es.explicitness"]["sentence"].startswith("The scores support")
    assert pd.read_csv(csv)["representation"].unique().tolist() == ["plain.npz", "mixed.npz"]
    assert page.read_text().count("<article ") == 2
    assert page.read_text().count('<svg class="chart') == 4


def test_says_what_the_scores_mean_together_after_the_table(files, capsys):
    _, out, _ = run_cli(capsys, "score", *files, *CURVES, "--no-nulls")
    said = [line for line in out.splitlines() if "The scores support" in line]
    assert [line.partition(": ")[0] for line in said] == ["plain.npz", "mixed.npz"]
    _, out, _ = run_cli(capsys, "score", files[0], *CURVES, "--no-nulls")
    assert out.splitlines()[-1] == said[0].partition(": ")[2]
    assert out.splitlines()[-2] == ""


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path, capsys):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save_npz(tmp_path / folder)
    paths = [tmp_path / folder / "codes.npz" for folder in ("a", "b")]
    data = json.loads(run_cli(capsys, "score", *paths, "--metrics", "mig", "--json", "-")[1])
    assert list(data["reports"]) == ["a/codes.npz", "b/codes.npz"]
    assert distinct_names([Path("/x/a/m/c.npz"), Path("/x/b/m/c.npz"), Path("/x/b/d.npz")]) == [
        "a/m/c.npz",
        "b/m/c.npz",
        "d.npz",
    ]
    assert distinct_names([Path("/c.npz"), Path("/x/c.npz"), Path("/y/c.npz")])[1:] == ["x/c.npz", "y/c.npz"]


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ("nothing.npz", "nothing.npz: path '{folder}/nothing.npz' is not a file"),
        ("nan.npz", "nan.npz: codes must be finite, got NaN or inf in 120 of 120 rows, in 'code_0'"),
        ("text.csv", "text.csv: code_columns 'code_*' matches no column"),
        ("plain.npz", "files must differ from each other, got '{folder}/plain.npz' more than once"),
    ],
)
def test_a_bad_file_stops_everything_before_the_work(files, tmp_path, capsys, monkeypatch, bad, sentence):
    codes, _ = small_world()
    save_npz(tmp_path, codes * [np.nan, 1, 1], name="nan.npz")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(_score, "evaluate", lambda *_, **__: pytest.fail("scored before all files were read"))
    written = zip(("--json", "--csv", "--report"), outputs(tmp_path), strict=True)
    code, out, err = run_cli(
        capsys, "score", *files, tmp_path / bad, *QUICK, *(part for pair in written for part in pair)
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence.format(folder=tmp_path) in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("argument", ["json", "csv", "report"])
def test_no_output_may_overwrite_an_input(files, tmp_path, capsys, argument):
    labels = tmp_path / "labels.npy"
    np.save(labels, small_world()[1])
    for target in (files[1], labels):
        before = target.read_bytes()
        code, _, err = run_cli(capsys, "score", *files, "--factors", labels, f"--{argument}", target)
        assert code == 2
        assert "would overwrite the input" in err
        assert target.read_bytes() == before


def test_what_one_file_cannot_be_scored_on_does_not_stop_the_others(files, tmp_path, capsys):
    bare = save(Representation(small_world()[0]), tmp_path / "bare.npz")
    code, out, _ = run_cli(capsys, "score", files[0], bare, "--metrics", "mig")
    assert code == 0
    assert out.splitlines()[1].split()[-1] == "failed"
    assert "bare.npz: mig failed: factors must have at least one column for mig, got 0." in out
    code, out, err = run_cli(
        capsys, "score", bare, save(Representation(small_world()[0]), tmp_path / "also.npz"), *QUICK
    )
    assert (code, out) == (2, "")
    assert "for mig, got 0" in err


def test_other_labels_can_be_scored(files, tmp_path, capsys):
    _, factors = small_world()
    np.save(tmp_path / "task.npy", (factors[:, 0] == factors[:, 1]).astype(int))
    arguments = (*CURVES, "--no-nulls", "--factors", tmp_path / "task.npy", "--json", "-")
    data = json.loads(run_cli(capsys, "score", *files, *arguments)[1])["reports"]
    for report in data.values():
        assert report["meta"]["factor_names"] == ["factor_0"]
        assert list(report["scores"]["dci_es.explicitness"]["per_factor"]) == ["factor_0"]
        assert report["scores"]["dci_es.explicitness"]["sentence"] is None


def test_one_file_of_labels_serves_several_npy_files(tmp_path, capsys):
    codes, factors = small_world()
    np.save(tmp_path / "a.npy", codes)
    np.save(tmp_path / "b.npy", codes[:, ::-1])
    np.save(tmp_path / "labels.npy", factors)
    arguments = ("--factors", tmp_path / "labels.npy", "--metrics", "mig", "--json", "-")
    data = json.loads(run_cli(capsys, "score", tmp_path / "a.npy", tmp_path / "b.npy", *arguments)[1])["reports"]
    assert list(data) == ["a.npy", "b.npy"]


def test_progress_says_which_file(files, capsys, monkeypatch):
    labels = []

    def quiet(total, show, *, doing):
        labels.append(doing)
        return track(total, False, doing=doing)

    monkeypatch.setattr(panel, "track", quiet)
    run_cli(capsys, "score", *files, "--metrics", "mig")
    assert labels == ["scoring plain.npz", "scoring mixed.npz"]
