"""The end of a run tells seconds by folder, and which tests should be marked slow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import time
import pytest

def busy():
    until = time.process_time() + 1.1
    while time.process_time() < until:
        pass

def test_busy():
    busy()

@pytest.mark.slow
def test_busy_and_marked():
    busy()

def test_quick():
    pass
"""


@pytest.mark.slow
def test_folders_are_timed_and_unmarked_tests_are_named(tmp_path):
    (tmp_path / "conftest.py").write_text((Path(__file__).with_name("conftest.py")).read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    for folder in ("one", "two"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
    (tmp_path / "tests" / "one" / "test_busy.py").write_text(TESTS)
    (tmp_path / "tests" / "two" / "test_quick.py").write_text("def test_quick(): pass\n")
    options = ["-p", "no:cacheprovider", "--durations-file", "kept.json", "-n", "1"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert {folder: row["tests"] for folder, row in kept.items()} == {"tests/one": 3, "tests/two": 1}
    assert kept["tests/one"]["processor_seconds"] >= 2.2 > kept["tests/two"]["processor_seconds"]
    named = [line for line in done.stdout.splitlines() if line.startswith("not marked slow")]
    assert len(named) == 1
    assert named[0].endswith("tests/one/test_busy.py::test_busy (call)")
