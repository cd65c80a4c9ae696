"""Ctrl-C: every long command ends at once, and says so."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytestmark = pytest.mark.slow

#: Interrupts the command half a second after a function has been entered by its main thread, and says when.
PROGRAM = """
import os, signal, sys, threading, time
from unbraid.cli import main

wanted, main_thread = sys.argv.pop(1), threading.main_thread().ident

def is_inside():
    frame = sys._current_frames()[main_thread]
    while frame is not None:
        if frame.f_code.co_name == wanted:
            return True
        frame = frame.f_back
    return False

def interrupt():
    while not is_inside():
        time.sleep(0.05)
    time.sleep(0.5)
    print(time.time(), time.process_time(), file=sys.__stdout__, flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
main()
"""
#: Of processor time after the interruption, and on the clock of a very busy machine; minutes of work are left.
MOST_SECONDS, MOST_ON_A_BUSY_CLOCK = 1.5, 30
DECODER = """
import torch

weights = torch.ones(40, 300) + torch.arange(300)

def decoder(z):
    for _ in range(300):
        weights @ weights.T
    return torch.tanh(z @ weights / 1e4)
"""


def heed_interruptions():
    """Undo what a shell does to the commands it starts in the background: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(inside, *arguments, folder, **environment):
    command = [sys.executable, "-c", PROGRAM, inside, *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **environment},
        preexec_fn=heed_interruptions,
    ) as process:
        said, complaint = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        ended = time.time()
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 130, complaint
    assert complaint.strip().splitlines()[-1] == "unbraid: stopped"
    assert "Traceback" not in complaint
    clock, processor = map(float, said.split()[-2:])
    assert used.ru_utime + used.ru_stime - processor < MOST_SECONDS
    assert ended - clock < MOST_ON_A_BUSY_CLOCK


def save_codes(folder):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (10_000, 6))
    codes = rng.normal(size=(10_000, 10)) + np.pad(factors, ((0, 0), (0, 4)))
    np.savez(folder / "codes.npz", codes=codes, factors=factors)


def test_scoring(tmp_path):
    save_codes(tmp_path)
    interrupted("map", "score", "codes.npz", "--jobs", 2, folder=tmp_path)


def test_training(tmp_path):
    arguments = ("train", "--preset", "tiny", "--steps", 1_000_000, "--out", "run")
    interrupted("train_ensemble", *arguments, folder=tmp_path)


def test_a_study_and_its_workers(tmp_path):
    interrupted("_work", "study", "run", "mini", "--store", "store", "--workers", 1, folder=tmp_path)


def test_a_decoder(tmp_path):
    (tmp_path / "mine.py").write_text(DECODER)
    interrupted("collect", "manifold", "mine.py:decoder", "--latent-dim", 40, "--samples", 100_000, folder=tmp_path)


def test_an_audit(tmp_path):
    interrupted("_measure", "audit", "--jobs", 2, folder=tmp_path)


def test_a_reproduction(tmp_path):
    interrupted("map", "reproduce", "iwo-table1", folder=tmp_path)


def test_a_download_from_a_slow_server(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_dribble, args=(server,), daemon=True).start()
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
        interrupted("_receive", "data", "fetch", "cars3d", "--folder", "data", folder=tmp_path, http_proxy=proxy)


def _dribble(server):
    """Answer with a byte now and then."""
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
        while True:
            try:
                connection.sendall(b"x")
            except OSError:
                return
            time.sleep(0.2)
