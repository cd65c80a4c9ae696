"""Bad input ends in exit code 2, one sentence on standard error, and no file."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from helpers.small import run_cli, save_npz, small_world

CODES, FACTORS = small_world()


def changed(array, value):
    """A copy with one entry replaced, in row 5 of column 1."""
    array = array.astype(float)
    array[5, 1] = value
    return array


def write(text, name="codes.csv"):
    def make(folder):
        (folder / name).write_text(text)
        return folder / name

    return make


def npz(codes=None, factors=None, **more):
    return lambda folder: save_npz(folder, codes, factors, **more)


def cut(folder):
    path = save_npz(folder)
    path.write_bytes(path.read_bytes()[:700])
    return path


def wrong_keys(folder):
    np.savez(folder / "codes.npz", latents=CODES, labels=FACTORS)
    return folder / "codes.npz"


def loop(folder):
    (folder / "codes.npz").symlink_to(folder / "other.npz")
    (folder / "other.npz").symlink_to(folder / "codes.npz")
    return folder / "codes.npz"


def encoded(encoding):
    def make(folder):
        (folder / "codes.csv").write_bytes("code_0,code_1,factor_größe\n1,2,3\n".encode(encoding))
        return folder / "codes.csv"

    return make


FILES = {
    "NaN codes": (npz(changed(CODES, np.nan)), "codes must be finite, got NaN or inf in 1 of 120 rows, in 'code_1'"),
    "inf codes": (npz(changed(CODES, np.inf)), "codes must be finite, got NaN or inf in 1 of 120 rows, in 'code_1'"),
    "inf factor": (npz(CODES, changed(FACTORS, np.inf)), "factor 'size' must be finite, or NaN"),
    "mismatched rows": (npz(CODES, FACTORS[:-1]), "must have the same number of rows, got 120 and 119"),
    "one-valued factor": (npz(CODES, FACTORS * [1, 0, 1]), "factor 'size' takes one value only"),
    "unlabelled factor": (npz(CODES, FACTORS * [1, np.nan, 1]), "factor 'size' has no labelled row"),
    "one code": (npz(CODES[:, :1]), "codes must have at least two columns, got 1"),
    "no codes": (npz(CODES[:, :0]), "codes must have at least two columns, got 0"),
    "two rows": (npz(CODES[:2], FACTORS[:2]), "codes must have at least 4 rows, got 2"),
    "no rows": (npz(CODES[:0], FACTORS[:0]), "codes must have at least 4 rows, got 0"),
    "constant codes": (npz(np.ones_like(CODES)), "codes must vary, got 3 constant columns"),
    "3-D codes": (npz(CODES[None]), "codes must have shape (n_samples, n_codes), got (1, 120, 3)"),
    "3-D factors": (npz(CODES, FACTORS[None]), "factors must have shape (n_samples, n_factors), got (1, 120, 3)"),
    "text codes": (npz(np.full((120, 2), "a")), "codes must be numbers, got <U1"),
    "10 000 strings": (
        npz(np.eye(10_000)[:, :2], np.arange(10_000).astype(str)),
        "factor 'factor_0' is categorical but takes 10000 distinct values in 10000 rows",
    ),
    "10 000 strings, twice each": (
        npz(np.eye(20_000, 2), (np.arange(20_000) // 2).astype(str)),
        "factor 'factor_0' is categorical but takes 10000 distinct values in 20000 rows",
    ),
    "10 000 declared labels": (
        npz(np.eye(20_000, 2), np.arange(20_000) // 2, factor_kinds=["categorical"]),
        "factor 'factor_0' is categorical but takes 10000 distinct values in 20000 rows",
    ),
    "Python objects": (npz(CODES.astype(object)), "codes.npz' is not a NumPy file of plain numbers or text"),
    "cut npz": (cut, "codes.npz' is damaged or not a NumPy file"),
    "wrong keys": (wrong_keys, "codes.npz' must hold an array 'codes' (and 'factors'), got labels, latents"),
    "empty npz": (write("", "codes.npz"), "codes.npz' is empty"),
    "empty csv": (write(""), "codes.csv' is empty"),
    "text as npz": (write("hello", "codes.npz"), "codes.npz' is not a NumPy file"),
    "csv without codes": (write("z0,z1,factor_a\n1,2,3\n"), "code_columns 'code_*' matches no column"),
    "line break in a name": (write('z0,"z\n1",factor_a\n1,2,3\n'), "which has z0, z 1 and factor_a"),
    "csv without factors": (write("code_0,code_1,a\n1,2,3\n"), "factor_columns 'factor_*' matches no column"),
    "csv with text": (write("code_0,code_1,factor_a\n1,b,3\n"), "codes must be numbers, got text in column 'code_1'"),
    "ragged csv": (write("code_0,factor_a\n1,2\n1,2,3,4\n"), "codes.csv' cannot be read as .csv"),
    "more fields than names": (
        write("code_0,code_1,factor_a\n1,2,3,4\n5,6,7,8\n"),
        "rows have 4 fields and the first line 3 names, code_0, code_1 and factor_a; give every column a name",
    ),
    "UTF-16 csv": (encoded("utf-16"), "codes.csv' cannot be read as .csv: it is UTF-16 or no text; save it as UTF-8"),
    "Latin-1 csv": (encoded("latin1"), "cannot be read as .csv: byte 0xf6 is not UTF-8; save it as UTF-8"),
    "tiny codes": (npz(CODES * 1e-12), "codes must spread over at least 1e-09, got "),
    "codes far from 0": (npz(CODES + 1e12), "around 1e+12 in 'code_0', 'code_1' and 'code_2'; subtract a constant"),
    "loop of links": (loop, "codes.npz' is not a file"),
    "escapes in a name": (
        npz(CODES, FACTORS * [1, 0, 1], factor_names=["a", "\x1b[31m\x07red", "c"]),
        r"factor '\x1b[31m\x07red' takes one value only",
    ),
    "unknown suffix": (write("hello", "codes.bin"), "codes.bin' must end in .npz, .csv, .parquet or .npy, got '.bin'"),
    "missing file": (lambda folder: folder / "nothing.npz", "nothing.npz' is not a file"),
    "folder": (lambda folder: folder, "is a folder without .parquet"),
}  # fmt: skip

ARGUMENTS = {
    "--metrics migg": "Unknown metric 'migg'; did you mean 'mig'",
    "--metrics mig,,sap": "Unknown metric ''",
    "--metrics dci": "did you mean one of 'dci_linear', 'dci_forest', 'dci_boosting', 'dci_es'",
    "--metrics udr": "'udr' is not a metric of the panel: it needs the codes of two or more models",
    "--metrics dci_forest.complete": "Unknown metric 'dci_forest.complete'; did you mean 'dci_forest.completeness'",
    "--bins 1": "n_bins must be at least 2, got 1",
    "--bins -3": "n_bins must be at least 2, got -3",
    "--bins 100000": "n_bins must be at most 1000, got 100000",
    "--bins many": 'Invalid value for --bins: unable to convert "many" into int',
    "--binning round": 'Invalid value "round" for --binning',
    "--kinds size": "kinds must be name=value separated by commas, got 'size'",
    "--kinds size=odd": "kind of factor 'size' must be one of categorical, ordinal, continuous, circular, got 'odd'",
    "--kinds sise=ordinal": "kinds names factor 'sise', which is not one of shape, size, angle",
    "--kinds angle=circular:0": "with a positive period, got 'circular:0'",
    "--join shape+size": "join must be name=value separated by commas, got 'shape+size'",
    "--join both=shape": "group 'both' must have two factors or more, got 1",
    "--join size=shape+angle": "new factors by new names",
    "--option n_bins=3": "option must be metric.option=value, got 'n_bins=3'",
    "--option mig.n_bins": "option must be metric.option=value, got 'mig.n_bins'",
    "--option mgi.n_bins=3": "options names 'mgi', which is not among the metrics asked for; did you mean 'mig'",
    "--option jemmig.n_bins=3": "options names 'jemmig', which is not among the metrics asked for",
    "--option mig.bins=3": "options for mig must be among n_bins, binning, bias_correction, normalise_by, got 'bins'",
    "--option mig.binning=3": "binning must be one of uniform, quantile, robust, got 3",
    "--option mig.n_bins=few": "n_bins must be a number, got 'few'",
    "--option mig.normalise_by=size": "option normalise_by of mig must be one of factor, code, got 'size'",
    "--only sise": "factor 'sise' is not one of shape, size, angle; did you mean 'size'",
    "--only size,size": "names must differ from each other, got 'size' more than once",
    "--seed -1": "seed must be at least 0, got -1",
    "--seed x": 'Invalid value for --seed: unable to convert "x" into int',
    "--jobs 0": "n_jobs must be at least 1, got 0",
    "--jobs -2": "n_jobs must be at least 1, got -2",
    "--factors labels.npy": "factors 'labels.npy' is not a file",
    "--nonsense": "Unknown option: --nonsense",
    "--metrics z_diff --only size": "factors must have at least two columns for z_diff, got 1",
}


def assert_refused(code, out, err, sentence):
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("unbraid: ")
    assert sentence in err


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_refused(tmp_path, capsys, case):
    make, sentence = FILES[case]
    path = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    outputs = [
        f"--{kind}={tmp_path / name}" for kind, name in (("json", "o.json"), ("csv", "o.csv"), ("report", "o.html"))
    ]
    assert_refused(*run_cli(capsys, "score", path, *outputs), sentence)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_bad_argument_is_refused(tmp_path, capsys, arguments):
    path = save_npz(tmp_path)
    outputs = [f"--json={tmp_path / 'o.json'}", f"--csv={tmp_path / 'o.csv'}", f"--report={tmp_path / 'o.html'}"]
    metrics = [] if "--metrics" in arguments else ["--metrics", "mig,sap"]
    assert_refused(*run_cli(capsys, "score", path, *metrics, *arguments.split(), *outputs), ARGUMENTS[arguments])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("argument", ["report", "csv", "json"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys, argument):
    path = save_npz(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for output, sentence in {
        "nowhere/out": f"{argument} '{tmp_path}/nowhere/out' cannot be written: there is no folder",
        "folder": f"{argument} must be a file to write, got the folder '{tmp_path}/folder'",
        "pipe": f"{argument} must be a file to write, got the device '{tmp_path}/pipe'",
        "codes.npz": f"{argument} '{tmp_path}/codes.npz' would overwrite the input",
    }.items():
        before = path.read_bytes()
        assert_refused(*run_cli(capsys, "score", path, f"--{argument}", tmp_path / output), sentence)
        assert path.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["codes.npz", "folder", "pipe"]


def test_two_outputs_in_one_file_are_refused(tmp_path, capsys):
    path = save_npz(tmp_path)
    out = tmp_path / "out"
    assert_refused(*run_cli(capsys, "score", path, "--json", out, "--csv", out), f"'{out}' would overwrite")


def test_an_option_in_place_of_the_json_file_is_refused(tmp_path, capsys):
    assert_refused(*run_cli(capsys, "score", save_npz(tmp_path), "--json", "--no-nulls"), "json must be a file or -")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["score"], "`unbraid score` needs FILE: the representation to score. See `unbraid score --help`."),
        (["train"], "`unbraid train` needs --out: output folder; created if it does not exist."),
        (["train", "--ou", "x"], "Did you mean --out instead of --ou?"),
        (["study", "run"], "needs STUDY: a file, or the name of a study"),
        (["score", "a.npz", "--bins"], '"score" parameter --bins requires an argument. See `unbraid score --help`.'),
        (["scores"], 'Unknown command "scores"'),
        (["nothing"], "See `unbraid --help`."),
        (["study", "nothing"], "See `unbraid study --help`."),
        (["study", "run", "--nonsense"], "See `unbraid study run --help`."),
        (["demo", "a", "b"], "`unbraid demo` takes no 'a', 'b'. See `unbraid demo --help`."),
        (["metrics", "--yaml"], "Unknown option: --yaml. See `unbraid metrics --help`."),
        (["score", "a.npz", "--metrics", "mig", "b.npz"], "a.npz: path 'a.npz' is not a file"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(capsys, arguments, sentence):
    assert_refused(*run_cli(capsys, *arguments), sentence)


@pytest.mark.parametrize("n_rows", [4, 9])
def test_a_handful_of_rows_is_refused(tmp_path, capsys, n_rows):
    path = save_npz(tmp_path, CODES[:n_rows], np.arange(n_rows)[:, None] % 2)
    sentence = (
        f"codes must have at least 10 rows to be evaluated, got {n_rows}: most scores cannot be computed on fewer"
    )
    assert_refused(*run_cli(capsys, "score", path, "--metrics", "mig"), sentence)


@pytest.mark.parametrize("name", ["out.pdf", "out", "out.json"])
@pytest.mark.parametrize("command", ["score", "demo"])
def test_a_report_of_another_kind_than_a_page_is_refused(tmp_path, capsys, command, name):
    files = [save_npz(tmp_path)] if command == "score" else []
    sentence = "report must end in .html, as it is a web page, got"
    assert_refused(*run_cli(capsys, command, *files, "--report", tmp_path / name), sentence)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("asked", "suggested"),
    {"code.npz": "codes.npz", "Codes.npz": "codes.npz", "codes.nzp": "codes.npz", "codes.csv": "codes.npz"}.items(),
)
def test_a_file_whose_name_is_near_is_suggested(tmp_path, capsys, asked, suggested):
    save_npz(tmp_path)
    assert_refused(*run_cli(capsys, "score", tmp_path / asked), f"is not a file; did you mean {suggested!r}.")


@pytest.mark.parametrize("asked", ["does.npz", "nope.npz", "z.npz", "nowhere/codes.npz"])
def test_a_file_that_only_ends_alike_is_not_suggested(tmp_path, capsys, asked):
    save_npz(tmp_path)
    assert_refused(*run_cli(capsys, "score", tmp_path / asked), f"{asked}' is not a file.")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["two rows", "cut npz"])
def test_a_real_process_refuses_in_one_line(tmp_path, case):
    make, sentence = FILES[case]
    make(tmp_path)
    command = [sys.executable, "-m", "unbraid", "score", "codes.npz", "--report", "out.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert_refused(done.returncode, done.stdout, done.stderr, sentence)
    assert [item.name for item in tmp_path.iterdir()] == ["codes.npz"]


def test_an_index_out_of_range_in_sparse_codes_ends_with_one_sentence_and_writes_nothing(tmp_path, capsys):
    codes = scipy.sparse.random(60, 20, density=0.2, format="csr", random_state=0)
    indices = codes.indices.copy()
    indices[5] = 99
    path, labels, page = tmp_path / "codes.npz", tmp_path / "labels.csv", tmp_path / "page.html"
    fields = {"data": codes.data, "indptr": codes.indptr, "shape": np.array(codes.shape), "format": np.array(b"csr")}
    np.savez(path, indices=indices, **fields)
    labels.write_text("\n".join(["word", *map(str, np.arange(60) % 2)]) + "\n")
    code, out, err = run_cli(capsys, "score", str(path), "--factors", str(labels), "--report", str(page))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "codes.npz" in err
    assert not page.exists()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("score", "codes.npz", "--image", "8x8"), "image is for the pictures of a decoder"),
        (("manifold", "d.py:d", "--image", "8x8"), "image is for the pictures of a page"),
        (("compare", "a.json", "b.json", "--measures", "cka"), "measures needs --similarity"),
        (("compare", "a.json", "b.json", "--seed", "0"), "seed needs --similarity"),
        (("compare", "a.json", "b.json", "--code-columns", "z*"), "code_columns needs --similarity"),
    ],
)
def test_options_that_would_change_nothing_are_refused(capsys, command, says):
    code, out, err = run_cli(capsys, *command)
    assert (code, out) == (2, "")
    assert says in err


def test_a_sample_that_is_not_drawn_is_noted(capsys, tmp_path):
    quick = ("--metrics", "mig", "--no-intervals", "--no-nulls")
    code, _, err = run_cli(capsys, "score", save_npz(tmp_path), *quick, "--sample", "50")
    assert code == 0
    assert "note: --sample changes nothing" in err
