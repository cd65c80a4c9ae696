"""A study on a disk that is really full: a small file system of its own, in a name space of its own."""

import shutil
import subprocess
import sys

import pandas as pd
import pytest

from study.test_run import TRAINED
from unbraid.study import Store, parse_study, run_study

pytestmark = pytest.mark.slow

#: Become root of a new name space, where mounting needs no rights outside it.
APART = ["unshare", "--map-root-user", "--mount"]
#: Runs the study with room for less than a checkpoint, for some results, and for all; each time the store is copied.
SCRIPT = """\
set -u
mount -t tmpfs -o size=400k tmpfs disk
for size in 400k 660k 100m; do
    mount -o remount,size=$size disk
    "$0" -m unbraid study run tiny.yaml --store disk/store --workers 2 2> said-$size.txt > status-$size.txt
    echo $? > ended-$size.txt
    find disk -name '.*' -type f > halves-$size.txt
    cp -r disk/store store-$size
done
"""


def can_mount(folder):
    """Tell whether this machine lets a test have a file system of its own."""
    if shutil.which("unshare") is None:
        return False
    command = [*APART, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_nothing_is_lost_on_a_full_disk_and_the_next_run_completes_it(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not can_mount(disk):
        pytest.skip("NOT TESTED: a really full disk; this machine does not let `unshare` mount one.")
    (tmp_path / "tiny.yaml").write_text(TRAINED)
    subprocess.run([*APART, "sh", "-c", SCRIPT, sys.executable], cwd=tmp_path, check=True)

    def file(kind, size):
        return (tmp_path / f"{kind}-{size}.txt").read_text().strip()

    assert [file("ended", size) for size in ("400k", "660k", "100m")] == ["1", "2", "0"]
    assert "ensemble.pt' cannot be written: No space left on device; make room there" in file("status", "400k")
    assert "store 'disk/store' is full, so the run was stopped" in file("said", "660k")
    assert [file("halves", size) for size in ("400k", "660k", "100m")] == ["", "", ""]

    some, every = (Store(tmp_path / f"store-{size}") for size in ("660k", "100m"))
    assert some.damaged() == every.damaged() == []
    assert some.done()
    assert some.done() < every.done()
    alone = run_study(parse_study(TRAINED), tmp_path / "alone", workers=1)
    pd.testing.assert_frame_equal(table(every), table(alone.store))
    kept = table(some).query("failure == ''").merge(table(every), on=["key", "factor"], suffixes=("", "_after"))
    assert len(kept) == len(table(some).query("failure == ''"))
    assert kept["value"].equals(kept["value_after"])


def table(store):
    return store.table().drop(columns="seconds")
