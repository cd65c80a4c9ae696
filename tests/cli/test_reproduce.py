import functools
from dataclasses import replace

import pytest
from cyclopts import App

from helpers.small import run_cli
from unbraid.cli._reproduce import make_command, options_of
from unbraid.reproduce import REPRODUCTIONS, Table1, two_moons


def test_list_names_everything_and_what_it_costs(capsys):
    code, out, err = run_cli(capsys, "reproduce", "--list")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:] if line[:1].strip()] == list(REPRODUCTIONS)
    assert out.splitlines()[0].split() == ["name", "title", "paper", "cost"]


def test_help_teaches(capsys):
    code, out, err = run_cli(capsys, "reproduce", "iwo-table1", "--help")
    assert (code, err) == (0, "")
    assert all(option in out for option in ("--rows", "--seeds", "--weights", "--solver", "--probes", "--json"))
    assert "4; 1 with --quick" in " ".join(out.replace("│", "").split())
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
        (("--rows", "0"), "rows must be between"),
        (("--rows", "20-99999999999"), "rows must be between"),
        (("--seeds", "0"), "n_seeds must be"),
        (("--json", "--rows"), "json must be a file or -, got '--rows'."),
        (("--json", "nowhere/table1.json"), "json 'nowhere/table1.json' cannot be written"),
        (("--weights", "equal"), 'Invalid value "equal" for --weights.'),
        (("--report", "table1.pdf"), "report must end in .html"),
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
    assert [row.row for row in Table1.from_json(out).rows] == [1, 3]
    assert all(line.startswith(("note: ", "scoring: ")) for line in err.splitlines())


@pytest.mark.slow
def test_table_shows_ours_paper_and_truth_then_the_errors(tmp_path, capsys):
    path = tmp_path / "table1.json"
    code, out, err = run_cli(
        capsys, "reproduce", "iwo-table1", "--rows", 1, "--seeds", 2, "--probes", "boosting", "--json", path
    )
    table, errors, parts = out.rstrip("\n").split("\n\n")
    header, row = table.splitlines()
    assert code == 0
    assert header.split()[:11] == ["row", "L", "R", "f", "ROP", "IWO", "paper", "truth", "IWR", "paper", "truth"]
    assert row.split()[:5] == ["1", "5", "1", "permutation", "no"]
    assert row.split()[8:10] == ["0.98", "1"]
    assert header.split()[11:] == [word for score in "DCIE" for word in (score, "paper", "truth")]
    assert row.split()[-3:] == ["-", "0.9", "1"]
    assert [line.split()[:2] for line in errors.splitlines()[1:]] == [
        ["IWO,", "ours"],
        ["IWO,", "paper"],
        ["IWR,", "ours"],
        ["IWR,", "paper"],
    ]
    assert "note: D, C and I are those of dci_boosting, without E" in err
    assert f"wrote {path}" in err
    colours = [line.split()[:2] for line in parts.splitlines()[1:] if line[:1].strip()]
    assert colours == [["grey", "iwo-table1"]] * 6  # one row is not the table
    assert len(Table1.from_json(path.read_text()).rows) == 1


def options(name):
    return {option.flag: option for option in options_of(REPRODUCTIONS[name])}


#: Options that a reproduction had before they were read off signatures; scripts use them.
KEPT = {
    "iwo-table1": "rows seeds weights solver probes",
    "iwo-figures": "samples frequency heads steps seed device",
    "dci-es-table1": "codes probes rows forest seeds trees",
    "dci-es-images": "codes probes seeds rows steps device store",
    "dependent-cosine": "tables samples compared scaling predictions seeds",
    "dependent-mnist": "data seeds epochs beta device",
    "moons": "steps device seed",
    "torus": "steps device seed",
    "digits-flows": "data steps device seed",
    "core-latents": "data core steps device seed store",
    "beta-vae-spectrum": "data steps device seed",
    "info-gan": "data seeds steps device",
    "diva-rotated": "data seeds epochs device",
    "vfae-tradeoff": "seeds steps device",
    "dc-ign-sprites": "seeds steps device",
    "thesis-study": "scale store engine workers address data yes",
    "iwo-study": "scale store engine workers address data yes",
}


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_options_come_from_the_signature_with_their_help(name):
    found = options(name)
    assert set(KEPT[name].split()) <= set(found)
    assert "progress" not in found
    assert "settings" not in found
    assert all(option.help for option in found.values())


def test_options_are_read_as_the_function_wants_them():
    assert list(options("iwo-table1")["rows"].read("1,3-5")) == [1, 3, 4, 5]
    assert list(options("dci-es-table1")["codes"].read("labels, mix")) == ["labels", "mix"]
    assert options("digits-flows")["channels"].read("2,4") == (2, 4)
    assert options("beta-vae-spectrum")["betas"].read("0.1,3") == (0.1, 3.0)
    assert options("moons")["width"].read(8) == 8
    with pytest.raises(ValueError, match="rows must have ranges of at most 10000 numbers, got '1-99999999999'"):
        list(options("dci-es-table1")["rows"].read("1-99999999999"))
    with pytest.raises(ValueError, match="channels must have 2 values, separated by commas, got '1,2,3'"):
        options("digits-flows")["channels"].read("1,2,3")
    with pytest.raises(ValueError, match="betas must be numbers separated by commas, got '1,a'"):
        options("beta-vae-spectrum")["betas"].read("1,a")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {}),
        (("--quick",), {"settings": two_moons.QUICK, "n_seeds": 1}),
        (("--steps", 5), {"settings": replace(two_moons.FULL, n_steps=5)}),
        (
            ("--quick", "--steps", 5, "--seed", 3),
            {"settings": replace(two_moons.QUICK, n_steps=5), "n_seeds": 1, "seed": 3},
        ),
    ],
)
def test_quick_is_where_single_settings_start_from(words, expected):
    given = []

    @functools.wraps(two_moons.moons)
    def run(**arguments):
        arguments.pop("progress")
        given.append(arguments)
        raise ValueError("enough")

    app = App()
    app.command(make_command(replace(REPRODUCTIONS["moons"], run=run)), name="moons")
    with pytest.raises(ValueError, match="enough"):
        app(["moons", *map(str, words)], exit_on_error=False, print_error=False)
    assert given == [expected]
