"""``unbraid explore`` from the shell: one line, an address that answers, an end by interruption."""

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from helpers.small import run_cli, save_npz

pytestmark = pytest.mark.slow


def start(*arguments):
    command = [sys.executable, "-m", "unbraid", "explore", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_prints_one_line_and_serves_until_interrupted(tmp_path):
    running = start(save_npz(tmp_path), "--no-browser", "--port", "0")
    line = running.stdout.readline()
    address = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)\?token=([\w-]{20,})\n", line)
    assert address
    with urllib.request.urlopen(line.strip()) as answer:
        assert b"Unbraid explorer" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{address[1]}?token=wrong")
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=20)
    assert (running.returncode, rest) == (0, "")
    assert errors.endswith("stopped\n")
    assert "Traceback" not in errors


def test_what_is_wrong_is_said_in_one_sentence(capsys, tmp_path):
    for arguments, words in (
        (["nothing.npz"], "is not a file"),
        ([save_npz(tmp_path), "--port", "70000"], "port must be from 0 to 65535"),
        ([save_npz(tmp_path), "--image", "big", "--decoder", "m.py:d"], "image must be a shape"),
        (["model.py:decoder"], "there is no file 'model.py'"),
    ):
        status, out, errors = run_cli(capsys, "explore", *arguments, "--no-browser")
        assert (status, out) == (2, "")
        assert words in errors
        assert errors.count("\n") == 1
