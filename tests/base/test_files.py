import errno
import os
import stat
from contextlib import suppress

import pytest

from unbraid._base.files import DiskFullError, output_folder, write_atomically, write_text


def test_writes_utf_8_and_returns_the_path(tmp_path):
    assert write_text(tmp_path / "a.txt", "größe\n") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == "größe\n".encode()


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = write_text(tmp_path / "a.txt", "old")
    seen = []

    def write(file):
        file.write(b"new")
        file.flush()
        seen.append(path.read_text())

    write_atomically(path, write)
    assert seen == ["old"]
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = write_text(tmp_path / "a.txt", "old")

    def write(file):
        file.write(b"half")
        raise error("stopped")

    with pytest.raises(error, match="stopped"):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_rename_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_text(tmp_path / "a.txt", "old")

    def busy(source, target):
        raise PermissionError("in use")

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(PermissionError, match="in use"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_and_the_old_file_stays(tmp_path, reason):
    path = write_text(tmp_path / "a.txt", "old")

    def write(file):
        file.write(b"half")
        raise OSError(reason, os.strerror(reason))

    with pytest.raises(DiskFullError, match=r"a.txt' cannot be written: .*; make room there and run it again\.$"):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_get_the_permissions_of_ordinary_files(tmp_path):
    mask = os.umask(0o027)
    try:
        path = write_text(tmp_path / "a.txt", "text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_mask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    """It belongs to all threads: what another one writes meanwhile would be open to everybody."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the mask was changed"))
    write_text(tmp_path / "a.txt", "text")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    seen = []

    def write(file):
        seen.extend(stat.S_IMODE(one.stat().st_mode) & ~mode for one in tmp_path.iterdir())
        file.write(b"new")

    write_atomically(path, write)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert not any(seen)


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").write_text("old")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_pipes_and_folders_are_refused_and_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(ValueError, match=f"path '.*{name}' cannot be written: it is not a regular file"):
            write_text(tmp_path / name, "text")
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_missing_folder_is_said_with_the_path(tmp_path):
    with pytest.raises(
        ValueError, match=r"path '.*nowhere/a\.txt' cannot be written: No such file.*folder that exists"
    ):
        write_text(tmp_path / "nowhere" / "a.txt", "text")
    assert not list(tmp_path.iterdir())


def test_a_folder_made_for_nothing_is_removed_and_others_stay(tmp_path):
    def fail(folder, *, writing=()):
        with suppress(RuntimeError), output_folder("out", folder):
            for name in writing:
                (folder / name).write_text("kept")
            raise RuntimeError

    fail(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
    (tmp_path / "there").mkdir()
    fail(tmp_path / "there")
    fail(tmp_path / "there" / "c", writing=["x"])
    fail(tmp_path / "there" / "c")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["there", "there/c", "there/c/x"]


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"out '.*file/a/b' cannot be a folder to write to"):
        output_folder("out", tmp_path / "file" / "a" / "b").__enter__()
