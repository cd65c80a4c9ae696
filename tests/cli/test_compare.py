"""``unbraid compare``: which is better, at what, and are we sure."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.small import run_cli, save_npz, small_world

QUICK = ("--metrics", "mig,sap,r2", "--no-nulls")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("reports")
    codes, factors = small_world()
    noise = np.random.default_rng(1).standard_normal(codes.shape)
    from unbraid import evaluate

    for name, z in (("sharp", codes), ("blurred", codes + 1.3 * noise), ("again", codes)):
        evaluate(z, factors, metrics="mig,sap,r2", nulls=False, n_jobs=1, name=name).to_json(place / f"{name}.json")
    evaluate(codes[:100], factors[:100], metrics="mig", nulls=False, n_jobs=1).to_json(place / "short.json")
    return place


def test_says_which_is_better_and_how_sure(folder, capsys):
    code, out, _ = run_cli(capsys, "compare", folder / "sharp.json", folder / "blurred.json")
    table, said = out.split("\n\n")
    header, *rows = table.splitlines()
    assert code == 0
    assert header.split()[:3] == ["metric", "first", "second"]
    assert [row.split()[0] for row in rows] == ["mig", "sap", "r2"]
    assert all(row.split()[-2:] == ["sharp", "sure"] for row in rows)
    assert said.startswith("sharp is surely better than blurred at 3 of 3 scores")
    assert "Sure: " in said


def test_nulls_and_directions_are_shown(tmp_path, capsys):
    from unbraid import evaluate

    codes, factors = small_world()
    for name, z in (("plain", codes), ("turned", codes[:, ::-1])):
        report = evaluate(z, factors, metrics="modularity,total_correlation", n_jobs=1)
        report.to_json(tmp_path / f"{name}.json")
    _, out, _ = run_cli(capsys, "compare", tmp_path / "plain.json", tmp_path / "turned.json")
    table, legend, _ = out.split("\n\n")
    header, modularity, correlation = table.splitlines()
    assert header.split()[:5] == ["metric", "first", "chance", "second", "chance"]
    assert modularity.split()[6] == f"{report['modularity'].null:.3f}"
    assert correlation.startswith("total_correlation ↓  plain ")
    assert "↓: lower is better" in legend


def test_equal_representations_are_never_sure(folder, capsys):
    _, out, _ = run_cli(capsys, "compare", folder / "sharp.json", folder / "again.json")
    table, said = out.split("\n\n")
    assert said.startswith("sharp and again are equal at each of the 3 tested.")
    assert table.count("equal") == 3
    assert "sure" not in table.partition("\n")[2]


def test_other_rows_are_compared_unpaired_with_a_note(folder, capsys):
    code, out, _ = run_cli(capsys, "compare", folder / "sharp.json", folder / "short.json", "--json", "-")
    data = json.loads(out)
    assert code == 0
    assert [item["paired"] for item in data["differences"]] == [False]
    assert data["differences"][0]["note"] == "unpaired: the rows or their factors differ"
    assert data["verdict"][-1].endswith("No difference is paired: the rows or their factors differ.")


def test_writes_json_csv_and_a_page(folder, tmp_path, capsys):
    paths = tmp_path / "o.json", tmp_path / "o.csv", tmp_path / "o.html"
    written = [str(part) for pair in zip(("--json", "--csv", "--report"), paths, strict=True) for part in pair]
    files = [folder / f"{name}.json" for name in ("sharp", "blurred", "again")]
    code, _, err = run_cli(capsys, "compare", *files, "--against", "blurred", *written)
    assert code == 0
    assert sorted(err.splitlines()) == sorted(f"wrote {path}" for path in paths)
    data = json.loads(paths[0].read_text())
    assert {(item["first"], item["second"]) for item in data["differences"]} == {
        ("sharp", "blurred"),
        ("blurred", "again"),
    }
    assert len(pd.read_csv(paths[1])) == 6
    page = paths[2].read_text()
    assert page.count('<table class="apart">') == 2
    assert page.count('<tr class="sure">') == 6
    assert data["verdict"][0] in page
    code, out, _ = run_cli(capsys, "compare", paths[0])
    assert code == 0
    assert "again 1.000" in out or "again 0." in out


@pytest.mark.slow
def test_scoring_several_files_says_the_same_as_comparing_their_reports(tmp_path, capsys):
    codes, _ = small_world()
    files = save_npz(tmp_path, name="a.npz"), save_npz(tmp_path, codes[:, ::-1] + 0.1, name="b.npz")
    together = json.loads(run_cli(capsys, "score", *files, *QUICK, "--json", "-")[1])["differences"]
    for file in files:
        run_cli(capsys, "score", file, *QUICK, "--json", file.with_suffix(".json"))
    apart = json.loads(run_cli(capsys, "compare", *(file.with_suffix(".json") for file in files), "--json", "-")[1])[
        "differences"
    ]
    names = {"a": "a.npz", "b": "b.npz", None: None}
    renamed = [{**item, **{key: names[item[key]] for key in ("first", "second", "better")}} for item in apart]
    assert renamed == together


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "files must be two or more reports, got none"),
        (("sharp.json",), "files must hold two or more reports, got one"),
        (("sharp.json", "sharp.json"), "files must differ"),
        (("sharp.json", "nothing.json"), "nothing.json' is not a file"),
        (("sharp.json", "table.csv"), "table.csv is not a report: it does not hold JSON"),
        (("codes.npz", "sharp.json"), "score it first, `unbraid score codes.npz --json codes.json`, or score and"),
        (
            ("sharp.json", "page.html"),
            "it does not hold JSON; give the file that `unbraid score FILE --json OUT` wrote",
        ),
        (
            ("sharp.json", "lone.json"),
            "files must share a score, got mig, sap and r2 in sharp and explicitness in lone;",
        ),
        (("sharp.json", "broken.json"), "broken.json is not a report: it does not hold JSON (JSON is malformed"),
        (("sharp.json", "blured.json"), "path 'blured.json' is not a file; did you mean 'blurred.json'"),
        (("sharp.json", "other.json"), "other.json is not a report"),
        (("sharp.json", "old.json"), "old.json was written by unbraid 0.0.1 in layout 1"),
        (("sharp.json", "blurred.json", "--against", "sharpp"), "against must be one of sharp, blurred, got 'sharpp'"),
        (("sharp.json", "blurred.json", "--report", "sharp.json"), "would overwrite the input"),
        (("sharp.json", "blurred.json", "--json", "no/o.json"), "there is no folder"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, capsys, monkeypatch, arguments, sentence):
    (folder / "table.csv").write_text("a,b\n1,2\n")
    save_npz(folder)
    (folder / "page.html").write_text("<!doctype html>")
    other = json.loads((folder / "short.json").read_text())
    other["scores"] = {"explicitness": other["scores"]["mig"]}
    (folder / "lone.json").write_text(json.dumps(other))
    (folder / "broken.json").write_text('{"a": x}')
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "old.json").write_text('{"scores": {}, "meta": {"unbraid": "0.0.1"}}')
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    code, out, err = run_cli(capsys, "compare", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_reports_of_one_name_are_refused(folder, tmp_path, capsys):
    out = tmp_path / "both.json"
    run_cli(capsys, "compare", folder / "sharp.json", folder / "blurred.json", "--json", out)
    code, _, err = run_cli(capsys, "compare", out, folder / "sharp.json")
    assert code == 2
    assert "reports of different names, got 'sharp' more than once" in err


def test_files_of_one_name_are_told_apart_by_their_folders(folder, tmp_path, capsys):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.json").write_bytes((folder / "sharp.json").read_bytes())
    _, out, _ = run_cli(capsys, "compare", tmp_path / "x/r.json", tmp_path / "y/r.json")
    assert "x/r and y/r are equal at" in out
