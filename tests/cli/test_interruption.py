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

import unbraid
from helpers.small import small_world

pytestmark = pytest.mark.slow

#: Interrupts the command some time after its main thread has entered a function or a file, and says when.
PROGRAM = """
import os, signal, sys, threading, time
from unbraid.__main__ import start

wanted, delay, main_thread = sys.argv.pop(1), float(sys.argv.pop(1)), threading.main_thread().ident

def is_inside():
    frame = sys._current_frames()[main_thread]
    while frame is not None:
        if frame.f_code.co_name == wanted or frame.f_code.co_filename.endswith(wanted):
            return True
        frame = frame.f_back
    return False

def interrupt():
    while not is_inside():
        time.sleep(0.01)
    time.sleep(delay)
    print(time.time(), time.process_time(), file=sys.__stdout__, flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
start()
"""
#: Of processor time after the interruption, and on the clock of a very busy machine; minutes of work are left.
MOST_SECONDS, MOST_ON_A_BUSY_CLOCK = 1.0, 30
DECODER = """
import torch

weights = torch.ones(40, 300) + torch.arange(300)

def decoder(z):
    for _ in range(300):
        weights @ weights.T
    return torch.tanh(z @ weights / 1e4)
"""
#: A call into a library that returns after minutes, and code that catches everything.
LONG_CALL = """
import torch

def decoder(z):
    torch.linalg.svd(torch.rand(6000, 6000))
"""
DEAF = """
import time

def decoder(z):
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass
"""
#: Ctrl-C while a file is being written, by code that catches everything.
WRITING = """
import os, signal, sys, time
from contextlib import suppress
from unbraid._base.files import output_folder, write_atomically
from unbraid._base.interruption import end_on_interrupt

def write(file):
    file.write(b"half")
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

end_on_interrupt()
with output_folder("out", os.path.dirname(sys.argv[1])):
    write_atomically(sys.argv[1], write)
"""


def heed_interruptions():
    """Undo what a shell does to the commands it starts in the background: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(inside, *arguments, folder, delay=0.5, code=130, says="unbraid: interrupted", **environment):
    command = [sys.executable, "-c", PROGRAM, inside, str(delay), *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), **environment},
        preexec_fn=heed_interruptions,
    ) as process:
        said, complaint = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        ended = time.time()
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == code, complaint
    assert complaint.strip().splitlines()[-1] == says
    assert "Traceback" not in complaint
    clock, processor = map(float, said.split()[-2:])
    assert used.ru_utime + used.ru_stime - processor < MOST_SECONDS
    assert ended - clock < MOST_ON_A_BUSY_CLOCK
    left = [path.name for path in folder.rglob("*") if path.name.startswith((".", "unbraid-", "tmp"))]
    assert [name for name in left if not name.endswith(".part")] == []  # a download goes on from its part


def save_codes(folder):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (10_000, 6))
    codes = rng.normal(size=(10_000, 10)) + np.pad(factors, ((0, 0), (0, 4)))
    np.savez(folder / "codes.npz", codes=codes, factors=factors)


@pytest.mark.parametrize(("inside", "jobs"), [("map", 1), ("run_forked", 2)], ids=["here", "in processes"])
def test_scoring(tmp_path, inside, jobs):
    save_codes(tmp_path)
    interrupted(inside, "score", "codes.npz", "--jobs", jobs, folder=tmp_path)


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


def test_a_comparison(tmp_path):
    rep = unbraid.Representation(*small_world())
    for name in ("a.json", "b.json"):
        unbraid.evaluate(rep, metrics=["mig"]).to_json(tmp_path / name)
    interrupted("compare", "compare", "a.json", "b.json", "--report", "page.html", folder=tmp_path, delay=0)


def test_the_explorer_for_which_it_is_the_usual_end(tmp_path):
    save_codes(tmp_path)
    interrupted("serve", "explore", "codes.npz", "--no-browser", folder=tmp_path, code=0, says="stopped")


def test_rows_read_in_blocks(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "codes.npy", rng.normal(size=(400_000, 10)))
    np.save(tmp_path / "factors.npy", rng.integers(0, 4, (400_000, 3)))
    files = ("codes.npy", "--factors", "factors.npy")
    interrupted("_surveyed", "score", *files, "--engine", "local", folder=tmp_path)


@pytest.mark.parametrize("delay", [0.0, 0.2])
def test_while_torch_is_imported(tmp_path, delay):
    interrupted("torch/__init__.py", "train", "--preset", "tiny", "--out", "run", folder=tmp_path, delay=delay)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [LONG_CALL, DEAF])
def test_what_does_not_listen_is_ended(tmp_path, content):
    (tmp_path / "mine.py").write_text(content)
    interrupted("decoder", "manifold", "mine.py:decoder", "--latent-dim", 4, folder=tmp_path)


def test_a_file_that_is_being_written(tmp_path):
    command = [sys.executable, "-c", WRITING, str(tmp_path / "out" / "file")]
    ended = subprocess.run(command, capture_output=True, text=True, preexec_fn=heed_interruptions, timeout=60)
    assert ended.returncode == 130, ended.stderr
    assert not list(tmp_path.iterdir())


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
