"""A file has its name only when all of it is there and right; what was fetched before is not fetched again."""

import errno
import hashlib
import os
import socket
import threading

import numpy as np
import pytest

from helpers.web import serve
from unbraid.data import DATASETS
from unbraid.data import download as fetching
from unbraid.data.download import DataFile, fetch_file, find_fault

CONTENT = np.random.default_rng(0).bytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def site():
    with serve(CONTENT) as site:
        yield site


def described(site, **changed):
    return DataFile(**({"name": "file.bin", "url": site.url, "n_bytes": len(CONTENT), "sha256": SHA256} | changed))


def names(folder):
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_a_file_arrives_whole_in_a_folder_that_is_made(site, tmp_path):
    path = fetch_file(described(site), tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["file.bin"]


def test_an_older_checksum_will_do_and_none_too(site, tmp_path):
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    fetch_file(described(site, sha256=None, md5=md5), tmp_path)
    fetch_file(described(site, sha256=None, name="other.bin"), tmp_path)
    assert names(tmp_path) == ["file.bin", "other.bin"]


@pytest.mark.parametrize("n_bytes", [len(CONTENT), None])
def test_a_broken_download_goes_on_where_it_stopped(site, tmp_path, n_bytes):
    site.breaks_after = 1_200_000
    with pytest.raises(ValueError, match=r"file.bin cannot be fetched: .*; try again to go on from where it stopped"):
        fetch_file(described(site, n_bytes=n_bytes), tmp_path)
    assert names(tmp_path) == [".file.bin.part"]
    arrived = (tmp_path / ".file.bin.part").stat().st_size
    assert 0 < arrived <= 1_200_000
    assert fetch_file(described(site, n_bytes=n_bytes), tmp_path).read_bytes() == CONTENT
    assert site.asked == [None, f"bytes={arrived}-"]
    assert names(tmp_path) == ["file.bin"]


def test_a_server_without_ranges_is_asked_for_all_of_it(site, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(b"what came before")
    site.knows_ranges = False
    assert fetch_file(described(site), tmp_path).read_bytes() == CONTENT


def test_what_is_complete_but_for_its_name_is_not_fetched_again(site, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT)
    assert fetch_file(described(site), tmp_path).read_bytes() == CONTENT
    assert site.asked == []


def test_a_leftover_that_is_too_long_is_begun_again(site, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT + b"more")
    assert fetch_file(described(site), tmp_path).read_bytes() == CONTENT
    assert site.asked == [f"bytes={len(CONTENT) + 4}-", None]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sha256": "0" * 64}, f"must have the sha256 checksum {'0' * 64}, got {SHA256}; it was deleted."),
        ({"sha256": None, "md5": "0" * 32}, "must have the md5 checksum 0000"),
        ({"n_bytes": 7}, r"must have 7 bytes, got \d+; it was deleted."),
    ],
)
def test_a_wrong_file_leaves_nothing(site, tmp_path, changed, message):
    with pytest.raises(ValueError, match=message):
        fetch_file(described(site, **changed), tmp_path)
    assert names(tmp_path) == []


def test_a_leftover_of_another_file_is_found_out_by_the_checksum(site, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match=r"sha256 checksum"):
        fetch_file(described(site), tmp_path)
    assert names(tmp_path) == []
    assert fetch_file(described(site), tmp_path).read_bytes() == CONTENT


def test_a_disk_too_small_is_seen_before_anything_is_written(site, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(ValueError, match=r"has no room for file.bin \(3 MB\); give a folder on another disk"):
        fetch_file(described(site), tmp_path)
    assert names(tmp_path) == []


def test_a_disk_that_fills_up_is_left_as_it_was(site, tmp_path, monkeypatch):
    def full(reply, partial, start, show, *, most):
        partial.write_bytes(CONTENT[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "_receive", full)
    with pytest.raises(ValueError, match=r"has no room for file.bin"):
        fetch_file(described(site), tmp_path)
    assert names(tmp_path) == []


def test_without_a_connection_it_says_what_to_put_where(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file.bin"
    file = DataFile(name="file.bin", url=url, sha256=SHA256)
    with pytest.raises(ValueError, match=r"cannot be fetched: .*Connection refused") as caught:
        fetch_file(file, tmp_path / "data")
    target = str(tmp_path / "data" / "file.bin")
    assert str(caught.value).endswith(f"or get file.bin from {url} by other means and put it at {target!r}.")
    assert names(tmp_path) == []


def test_an_address_that_is_gone(site, tmp_path):
    site.status = 404
    with pytest.raises(ValueError, match=r"file.bin cannot be fetched: Not Found; try again"):
        fetch_file(described(site), tmp_path)
    assert names(tmp_path) == []


def test_a_page_for_people_is_not_fetched(tmp_path):
    file = DataFile(name="file.bin", url="https://example.org/page", by_hand=True)
    with pytest.raises(ValueError, match=r"cannot be fetched by a program; get file.bin from https://example.org/page"):
        fetch_file(file, tmp_path)


def test_a_folder_that_cannot_be_made(site, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ValueError, match=r"cannot be made: Not a directory; give another with --folder"):
        fetch_file(described(site), tmp_path / "file" / "folder")


def test_faults_of_a_file(tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(CONTENT)
    file = DataFile(name="file.bin", url="", n_bytes=len(CONTENT), sha256=SHA256)
    assert find_fault(file, path) is None
    path.write_bytes(CONTENT[:-1] + b"!")
    assert find_fault(file, path).startswith("must have the sha256")
    path.write_bytes(CONTENT[:-1])
    assert find_fault(file, path) == "must have 3000000 bytes, got 2999999"


def test_every_published_file_is_well_described():
    files = {file for entry in DATASETS.values() for file in entry.files}
    assert len({file.name for file in files}) == 18
    for file in files:
        assert file.url.startswith(("https://", "http://www.scottreed.info/"))
        assert file.by_hand or file.url.endswith(file.name)
        assert file.sha256 is None or (len(file.sha256) == 64 and file.n_bytes)
        assert file.md5 is None or len(file.md5) == 32
        assert file.by_hand == (file.sha256 is None and file.md5 is None)


def test_a_server_that_states_no_length_is_stopped_at_the_published_one(site, tmp_path, monkeypatch):
    site.states_length, site.content = False, CONTENT * 20
    sizes = []
    find = fetching.find_fault
    monkeypatch.setattr(
        fetching, "find_fault", lambda file, path, **how: sizes.append(path.stat().st_size) or find(file, path, **how)
    )
    with pytest.raises(ValueError, match=r"must have 3000000 bytes, got \d+; it was deleted"):
        fetch_file(described(site), tmp_path)
    assert sizes[0] <= len(CONTENT) + fetching.CHUNK
    monkeypatch.setattr(fetching, "MOST_BYTES", 10**6)
    with pytest.raises(ValueError, match=r"must have 1000000 bytes at most; it was deleted"):
        fetch_file(described(site, n_bytes=None), tmp_path)
    assert names(tmp_path) == []


def test_a_server_without_end_is_not_waited_for(site, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "PATIENCE_S", 0.3)
    site.seconds_a_piece = 0.05
    with pytest.raises(ValueError, match=r"file.bin cannot be fetched: the server sent \d+ bytes within 0.3 s; try"):
        fetch_file(described(site), tmp_path)


def test_a_server_that_does_not_begin_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "BEGIN_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        file = DataFile(name="file.bin", url=f"http://127.0.0.1:{silent.getsockname()[1]}/file.bin")
        with pytest.raises(ValueError, match=r"the server did not begin to answer within 0.2 s"):
            fetch_file(file, tmp_path)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/file.bin", "file:///etc/hostname"])
def test_only_the_web_is_fetched_from(site, tmp_path, url):
    site.redirects_to = url
    with pytest.raises(ValueError, match=r"file.bin cannot be fetched: .*[Rr]edirect"):
        fetch_file(described(site), tmp_path)
    with pytest.raises(ValueError, match=r"unknown url type"):
        fetch_file(described(site, url=url), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.slow
def test_of_several_at_once_one_fetches_and_the_others_take_its_file(site, tmp_path):
    site.seconds_a_piece = 0.02
    site.piece = 10**5
    told, failed = [], []

    def fetch():
        try:
            assert fetch_file(described(site), tmp_path, on_wait=told.append).read_bytes() == CONTENT
        except Exception as error:  # shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(site.asked) == 1
    assert told == ["file.bin is being fetched by another process; waiting for it."] * 3
    assert names(tmp_path) == ["file.bin"]


@pytest.mark.slow
def test_of_several_at_once_each_says_what_is_wrong_with_the_file(site, tmp_path):
    site.seconds_a_piece, site.piece, said = 0.02, 10**5, []

    def fetch():
        try:
            fetch_file(described(site, sha256="0" * 64), tmp_path / "made" / "here", on_wait=lambda words: None)
        except ValueError as error:  # anything else is no sentence, and is missed below
            said.append(str(error))

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ["must have the sha256 checksum" in one for one in said] == [True] * 4
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]
