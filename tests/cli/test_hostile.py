"""Closed outputs, hostile names and a user's own code: the command line says one sentence, or ends quietly."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from helpers.small import run_cli, save_npz, small_world
from helpers.study_tables import row, table
from unbraid import load, read_reports

CODES, FACTORS = small_world()
QUICK = ("--metrics", "mig", "--no-intervals", "--no-nulls")
DECODER = """
import sys
import numpy, torch
print("loading")
weights = torch.as_tensor(numpy.random.default_rng(0).standard_normal((3, 5)), dtype=torch.float32)
def decoder(z):
    print("decoding")
    return z @ weights
def leaving(z):
    sys.exit(0)
"""
METRIC = """
import sys
print("loading")
def chatty(codes, factors):
    print("scoring")
    return 0.5
def leaving(codes, factors):
    sys.exit(0)
"""


@pytest.fixture
def user_file(tmp_path):
    def make(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return make


def test_what_a_decoder_prints_stays_out_of_the_json(user_file, capsys):
    arguments = ("--latent-dim", 3, "--samples", 20, "--json", "-")
    code, out, err = run_cli(capsys, "manifold", f"{user_file(DECODER)}:decoder", *arguments)
    assert code == 0
    assert "total_entropy" in json.loads(out)
    assert "loading" in err
    assert "decoding" in err


def test_what_a_plugin_prints_stays_out_of_the_json(user_file, capsys):
    arguments = ("--measures", "modularity", "--cases", "independent/identity", "--seeds", 2, "--json", "-")
    code, out, err = run_cli(capsys, "audit", "--plugin", f"{user_file(METRIC)}:chatty", *arguments)
    assert code == 0, err
    json.loads(out)
    assert "scoring" in err


@pytest.mark.parametrize("text", ["import sys\nsys.exit(0)\n", DECODER])
def test_a_decoder_cannot_end_the_command(user_file, capsys, text):
    code, out, err = run_cli(capsys, "manifold", f"{user_file(text)}:leaving", "--latent-dim", 3)
    assert code == 2
    assert out == ""
    assert "unbraid: decoder" in err
    assert "exit" in err.lower()


def test_a_partition_of_too_many_latents_is_refused_before_it_is_counted_out(capsys):
    for arguments, most in (((), 999999), (("--latent-dim", 4), 3)):
        code, _, err = run_cli(capsys, "manifold", "d.py:d", "--partition", "a=0-10000000000000", *arguments)
        assert code == 2
        assert f"latents 0 to {most}, got 10000000000000." in err


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path, capsys):
    path = save_npz(tmp_path, factor_names=["a\x1b]0;title\x07", "b\nunbraid: all is well", "c\u202e"])
    code, out, err = run_cli(capsys, "score", path, *QUICK)
    assert code == 0
    assert not any(mark in out + err for mark in "\x1b\x07\u202e")
    assert "\nunbraid:" not in err
    assert r"b\nunbraid: all is well" in err


def test_names_in_a_table_are_no_formulas(tmp_path, capsys):
    for name in ("=1+1.npz", "@b.npz"):
        save_npz(tmp_path, name=name)
    files = [tmp_path / "=1+1.npz", tmp_path / "@b.npz"]
    run_cli(capsys, "score", *files, *QUICK, "--csv", tmp_path / "o.csv", "--json", tmp_path / "o.json")
    table = pd.read_csv(tmp_path / "o.csv")
    assert sorted(set(table["representation"])) == ["'=1+1.npz", "'@b.npz"]
    values = [
        report["scores"]["mig"]["value"] for report in json.loads((tmp_path / "o.json").read_text())["reports"].values()
    ]
    assert table["value"].tolist() == values
    run_cli(capsys, "compare", tmp_path / "o.json", "--csv", tmp_path / "d.csv")
    assert pd.read_csv(tmp_path / "d.csv")["first"].tolist() == ["'=1+1.npz"]


@pytest.mark.parametrize("text", ["[" * 200_000, '{"reports":' * 3000])
def test_deeply_nested_json_is_refused(tmp_path, capsys, text):
    path = tmp_path / "deep.json"
    path.write_text(text)
    code, out, err = run_cli(capsys, "compare", path, save_npz(tmp_path))
    assert (code, out) == (2, "")
    assert "deep.json is not a report: its JSON is nested too deeply." in err


def test_a_loop_of_links_is_no_place_for_a_result(tmp_path, capsys):
    (tmp_path / "o.json").symlink_to(tmp_path / "o.json")
    code, _, err = run_cli(capsys, "score", save_npz(tmp_path), *QUICK, "--json", tmp_path / "o.json")
    assert code == 2
    assert "o.json' cannot be written: it is a link that leads back to itself." in err


def test_rows_are_compared_before_arrays_are_unpacked(tmp_path, capsys):
    """The array of a million rows has a header and no data."""
    path = tmp_path / "bomb.npz"
    np.savez(path, factors=FACTORS)
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 500), }".ljust(117) + "\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("codes.npy", b"\x93NUMPY\x01\x00v\x00" + header.encode())
    (tmp_path / "bomb.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.encode())
    np.save(tmp_path / "labels.npy", FACTORS)
    for arguments in ((path,), (path, "--factors", tmp_path / "labels.npy")):
        code, _, err = run_cli(capsys, "score", *arguments)
        assert code == 2
        assert "codes and factors must have the same number of rows, got 1000000 and 120." in err
    code, _, err = run_cli(capsys, "score", tmp_path / "bomb.npy", "--factors", tmp_path / "labels.npy")
    assert "codes and factors must have the same number of rows, got 1000000 and 120." in err


def test_too_little_memory_is_called_that(tmp_path, monkeypatch):
    def no_room(*_, **__):
        raise MemoryError("Unable to allocate 40 GiB")

    path = save_npz(tmp_path)
    monkeypatch.setattr(np, "load", no_room)
    with pytest.raises(ValueError, match=r"into memory: Unable to allocate 40 GiB\.$"):
        load(path)


def in_a_shell(command, tmp_path):
    line = command.replace("unbraid", f"{sys.executable} -m unbraid")
    return subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell of this kind")
def test_closed_outputs_end_quietly(tmp_path):
    save_npz(tmp_path)
    scored = f"unbraid score codes.npz {' '.join(QUICK)}"
    for command in ("unbraid metrics >&-", f"{scored} --json - >&-", f"{scored} 2>&- >&-"):
        done = in_a_shell(command, tmp_path)
        assert done.returncode == 0, command
        assert "Traceback" not in done.stderr
    done = in_a_shell(f"({scored}; echo $? >&2) 2> err | true; cat err", tmp_path)
    assert done.stdout.splitlines()[-1] == "0"
    assert "Exception" not in done.stdout
    assert "Traceback" not in done.stdout


def test_too_little_memory_for_the_work_ends_in_a_sentence(tmp_path, capsys, monkeypatch):
    def no_room(*_, **__):
        raise MemoryError

    monkeypatch.setattr("unbraid.cli._score.evaluate", no_room)
    code, out, err = run_cli(capsys, "score", save_npz(tmp_path), *QUICK)
    assert (code, out) == (2, "")
    assert err == "unbraid: there is not enough memory (no more is given); give fewer rows.\n"


@pytest.mark.parametrize("name", ["=1+1", "+a", "@b", "-c"])
def test_a_table_of_a_study_has_no_formulas_and_no_escapes(tmp_path, capsys, monkeypatch, name):
    hostile = table([row("m0", 0.5, family=name, dataset="d\x1b[31m\n"), row("m1", 0.25, family="plain")])
    monkeypatch.setattr("unbraid.study.study_table", lambda store, study: hostile.assign(key="k", version="v"))
    code, out, _ = run_cli(capsys, "study", "table", "--store", tmp_path)
    assert code == 0
    assert "\x1b" not in out
    run_cli(capsys, "study", "table", "--store", tmp_path, "--csv", tmp_path / "o.csv")
    written = pd.read_csv(tmp_path / "o.csv")
    assert written["family"].tolist() == [f"'{name}", "plain"]
    assert written["value"].tolist() == [0.5, 0.25]


def test_names_given_to_other_commands_do_not_steer_the_terminal(user_file, tmp_path, capsys):
    decoder = f"{user_file(DECODER)}:decoder"
    arguments = (
        "--latent-dim",
        3,
        "--samples",
        5,
        "--partition",
        "a\x1b[31m=0-1,b=2",
        "--json",
        tmp_path / "o\x1b.json",
    )
    for command in (("manifold", decoder, *arguments), ("data", "list", "--folder", tmp_path / "x\x1b")):
        code, out, err = run_cli(capsys, *command)
        assert code == 0
        assert "\x1b" not in out + err
        assert r"\x1b" in out + err


def test_scoring_takes_a_limit_of_memory(tmp_path, capsys):
    path = save_npz(tmp_path)
    assert run_cli(capsys, "score", path, *QUICK, "--memory", "1G")[0] == 0
    code, out, err = run_cli(capsys, "score", path, *QUICK, "--memory", "100k", "--json", tmp_path / "o.json")
    assert (code, out) == (2, "")
    assert "more than the 0 MiB it may take; " in err
    assert "raise the limit with --memory " in err
    assert not (tmp_path / "o.json").exists()


def test_a_file_name_in_no_encoding_is_written_as_text(tmp_path, capsys):
    path = tmp_path / "\udcff.npz"
    save_npz(tmp_path).rename(path)
    code, _, err = run_cli(
        capsys, "score", path, *QUICK, "--report", tmp_path / "r.html", "--json", tmp_path / "r.json"
    )
    assert code == 0, err
    assert r"\xff.npz" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert list(read_reports(tmp_path / "r.json")) == [r"\xff.npz"]


@pytest.mark.slow
def test_json_on_an_output_of_few_characters_is_json(tmp_path):
    frame = pd.DataFrame({"code_0": CODES[:, 0], "code_1": CODES[:, 1], "factor_größe😀": FACTORS[:, 0]})
    frame.to_csv(tmp_path / "codes.csv", index=False)
    command = [sys.executable, "-m", "unbraid", "score", str(tmp_path / "codes.csv"), *QUICK, "--json", "-"]
    found = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert found.returncode == 0, found.stderr
    assert "größe😀" in json.dumps(json.loads(found.stdout.decode("ascii")), ensure_ascii=False)
