"""Ctrl-C: the command ends at once, and says so."""

import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = pytest.mark.slow

#: Interrupts the command a second after its first worker thread has begun, and says when.
PROGRAM = """
import os, signal, sys, threading, time
from unbraid.cli import main

def interrupt():
    while not any(thread.name == "unbraid-worker" for thread in threading.enumerate()):
        time.sleep(0.05)
    time.sleep(1)
    print(time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
main()
"""
#: Far below the half minute that the rest of the panel takes, with room for a busy machine.
MOST_SECONDS = 4


def test_scoring_ends_at_once_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (10_000, 6))
    codes = rng.normal(size=(10_000, 10)) + np.pad(factors, ((0, 0), (0, 4)))
    np.savez(tmp_path / "codes.npz", codes=codes, factors=factors)
    command = [sys.executable, "-c", PROGRAM, "score", str(tmp_path / "codes.npz"), "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert time.time() - float(done.stdout.split()[0]) < MOST_SECONDS
    assert done.returncode == 130
    assert done.stderr.strip().endswith("unbraid: stopped")
    assert "Traceback" not in done.stderr
