import json

import pytest

from helpers.small import run_cli
from unbraid.reproduce import REPRODUCTIONS


def test_list_names_everything_and_what_it_costs(capsys):
    code, out, err = run_cli(capsys, "reproduce", "--list")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:] if line[:1].strip()] == list(REPRODUCTIONS)
    assert out.splitlines()[0].split() == ["name", "title", "paper", "cost"]


def test_help_teaches(capsys):
    code, out, err = run_cli(capsys, "reproduce", "iwo-table1", "--help")
    assert (code, err) == (0, "")
    assert all(option in out for option in ("--rows", "--seeds", "--weights", "--solver", "--dci", "--json"))
    assert "unbraid reproduce iwo-table1 --rows 1-4 --seeds 1" in out
    code, out, _ = run_cli(capsys, "reproduce", "--help")
    assert code == 0
    assert all(name in out for name in REPRODUCTIONS)


def test_every_reproduction_has_a_command(capsys):
    for name in REPRODUCTIONS:
        assert run_cli(capsys, "reproduce", name, "--help")[0] == 0


def test_an_unknown_name_gets_a_suggestion(capsys):
    code, out, err = run_cli(capsys, "reproduce", "iwo-tabel1", "--rows", 3)
    assert (code, out) == (2, "")
    assert err.startswith('unbraid: Unknown command "iwo-tabel1". Did you mean "iwo-table1"?')
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rows", "x"), "rows must be numbers and ranges such as 1,3-5, got 'x'."),
        (("--rows", "1,,2"), "rows must be numbers and ranges such as 1,3-5, got ''."),
        (("--rows", "5-3"), "rows must have ranges from low to high, got '5-3'."),
        (("--rows", "0"), "rows must be between 1 and 22, got 0."),
        (("--rows", "20-99999999999"), "rows must be between 1 and 22, got 23."),
        (("--seeds", "0"), "n_seeds must be at least 1, got 0."),
        (("--json", "--rows"), "json must be a file or -, got '--rows'."),
        (("--json", "nowhere/table1.json"), "json 'nowhere/table1.json' cannot be written"),
        (("--weights", "equal"), 'Invalid value "equal" for --weights.'),
    ],
)
def test_bad_arguments_stop_before_any_work(capsys, arguments, message):
    code, out, err = run_cli(capsys, "reproduce", "iwo-table1", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"unbraid: {message}")


@pytest.mark.slow
def test_json_to_standard_output_is_all_that_goes_there(capsys):
    code, out, err = run_cli(capsys, "reproduce", "iwo-table1", "--rows", "1,3", "--seeds", 1, "--json", "-")
    assert code == 0
    assert [row["row"] for row in json.loads(out)["rows"]] == [1, 3]
    assert all(line.startswith("note: ") for line in err.splitlines())


@pytest.mark.slow
def test_table_shows_ours_paper_and_truth_then_the_errors(tmp_path, capsys):
    path = tmp_path / "table1.json"
    code, out, err = run_cli(capsys, "reproduce", "iwo-table1", "--rows", 1, "--seeds", 2, "--dci", "--json", path)
    table, errors = out.rstrip("\n").split("\n\n")
    header, row = table.splitlines()
    assert code == 0
    assert header.split()[:11] == ["row", "L", "R", "f", "ROP", "IWO", "paper", "truth", "IWR", "paper", "truth"]
    assert row.split()[:5] == ["1", "5", "1", "permutation", "no"]
    assert row.split()[8:10] == ["0.98", "1.000"]
    assert row.rstrip().endswith("(0.90)")
    assert [line.split()[:2] for line in errors.splitlines()[1:]] == [
        ["IWO,", "ours"],
        ["IWO,", "paper"],
        ["IWR,", "ours"],
        ["IWR,", "paper"],
    ]
    assert "note: Explicitness (E) needs the network ladder" in err
    assert f"wrote {path}" in err
    assert len(json.loads(path.read_text())["rows"]) == 1
