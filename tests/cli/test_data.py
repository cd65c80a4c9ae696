import hashlib
from dataclasses import replace

import numpy as np
import pytest

from helpers.official import write_dsprites, write_shapes3d
from helpers.small import run_cli
from helpers.web import serve
from unbraid.data import DATASETS

DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"


@pytest.fixture
def small_dsprites(tmp_path, monkeypatch):
    """A server with a small dSprites, and the table pointing at it."""
    write_dsprites(tmp_path / "made.npz")
    content = (tmp_path / "made.npz").read_bytes()
    with serve(content) as site:
        entry = DATASETS["dsprites"]
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
        file = replace(entry.files[0], url=site.url, md5=md5)
        monkeypatch.setitem(DATASETS, "dsprites", replace(entry, files=(file,)))
        yield site


def test_list_names_every_set_and_where_files_are_looked_for(capsys, tmp_path):
    write_shapes3d(tmp_path / "3dshapes.h5")
    code, out, err = run_cli(capsys, "data", "list", "--folder", tmp_path)
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert list(lines) == list(DATASETS)
    assert lines["sprites_mini"].rstrip().endswith("none                  drawn in memory")
    assert "268 MB" in lines["shapes3d"]
    assert lines["shapes3d"].rstrip().endswith("  there")
    assert lines["mnist"].rstrip().endswith("not there")
    assert err == f"files are looked for in {tmp_path}\n"


def test_the_environment_names_the_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    assert run_cli(capsys, "data", "list")[2] == f"files are looked for in {tmp_path}\n"
    monkeypatch.delenv("UNBRAID_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run_cli(capsys, "data", "list")[2] == f"files are looked for in {tmp_path}/.cache/unbraid/data\n"


def test_fetch_then_check_then_leave_alone(capsys, tmp_path, small_dsprites):
    code, out, err = run_cli(capsys, "data", "fetch", "dsprites", "sprites", "--folder", tmp_path)
    target = tmp_path / "dsprites" / DSPRITES
    assert (code, out) == (0, "")
    assert err == f"wrote {target}\nsprites: needs no files\n"
    assert target.read_bytes() == small_dsprites.content
    code, out, _ = run_cli(capsys, "data", "check", "dsprites", "sprites", "--folder", tmp_path)
    assert (code, out) == (0, "dsprites: as published, by checksum\nsprites: needs no files\n")
    assert run_cli(capsys, "data", "fetch", "dsprites", "--folder", tmp_path)[2] == f"{target} is there\n"
    assert len(small_dsprites.asked) == 1


def test_check_reads_what_has_no_checksum(capsys, tmp_path):
    images = np.zeros((460_800, 1, 1, 3), dtype=np.uint8)
    np.savez(tmp_path / "real3d_complicated_shapes_ordered.npz", images=images)
    code, out, _ = run_cli(capsys, "data", "check", "mpi3d_complex", "--folder", tmp_path)
    assert (code, out) == (
        0,
        "mpi3d_complex: can be read, 460800 pictures; no checksum to compare all of it with\n",
    )
    np.savez(tmp_path / "real3d_complicated_shapes_ordered.npz", images=images[1:])
    code, out, err = run_cli(capsys, "data", "check", "mpi3d_complex", "--folder", tmp_path)
    assert (code, out) == (2, "")
    assert "must be bytes of shape (460800, height, width, 3)" in err


def test_check_finds_a_changed_file(capsys, tmp_path, small_dsprites):
    (tmp_path / DSPRITES).write_bytes(small_dsprites.content[:-1])
    code, out, err = run_cli(capsys, "data", "check", "dsprites", "--folder", tmp_path)
    assert (code, out) == (2, "")
    assert "must have the md5 checksum" in err
    assert "delete it and run `unbraid data fetch dsprites`." in err


def test_a_wrong_checksum_leaves_nothing(capsys, tmp_path, small_dsprites):
    small_dsprites.content = small_dsprites.content[:-1] + b"!"
    code, out, err = run_cli(capsys, "data", "fetch", "dsprites", "--folder", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "must have the md5 checksum" in err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fetch", "dsprite"), "did you mean 'dsprites'"),
        (("check", "norb"), "dataset must be one of sprites, "),
        (("fetch",), "give the name of a data set; `unbraid data list` prints them."),
        (("check",), "give the name of a data set"),
        (("fetch", "mpi3d_complex"), "cannot be fetched by a program; get real3d_complicated_shapes_ordered.npz from"),
        (("check", "mnist"), "mnist is not complete; run `unbraid data fetch mnist`, or put into"),
        (("lst",), 'Unknown command "lst". Did you mean "list"?'),
    ],
)
def test_bad_input_ends_in_one_sentence(capsys, tmp_path, arguments, message):
    options = () if arguments == ("lst",) else ("--folder", tmp_path)
    code, out, err = run_cli(capsys, "data", *arguments, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_teaches(capsys):
    code, out, err = run_cli(capsys, "data", "--help")
    assert (code, err) == (0, "")
    assert all(word in out for word in ("list", "fetch", "check", "UNBRAID_DATA"))
    assert "unbraid data fetch dsprites" in run_cli(capsys, "data", "fetch", "--help")[1]
