"""``python -m fuzz.interruption``: Ctrl-C at several moments of every long command, and how long each takes to end."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid import Representation, evaluate

#: Seconds after its start at which a command is interrupted: in its imports, at the start of its work, and within it.
MOMENTS = (0.2, 0.5, 1.0, 2.0, 4.0)
#: Work of minutes, so that every moment comes before its end; `compare` alone is done in a second or two.
COMMANDS: dict[str, tuple[str, ...]] = {
    "score": ("score", "codes.npz", "--jobs", "2", "--json", "out/score.json"),
    "score of rows": ("score", "rows.parquet", "--engine", "local", "--work", "out/work"),
    "study run": ("study", "run", "mini", "--store", "out/store", "--workers", "1"),
    "manifold": ("manifold", "mine.py:decoder", "--latent-dim", "40", "--samples", "100000", "--json", "out/m.json"),
    "train": ("train", "--preset", "tiny", "--steps", "1000000", "--out", "out/run"),
    "data": ("data", "fetch", "cars3d", "--folder", "out/data"),
    "audit": ("audit", "--jobs", "2"),
    "reproduce": ("reproduce", "iwo-table1", "--json", "out/iwo.json"),
    "compare": ("compare", "a.json", "b.json", "--report", "out/page.html"),
    "explore": ("explore", "codes.npz", "--no-browser"),
}
#: Exit code after Ctrl-C; a server that is stopped ends well.
CODES = {"explore": (0, 130)}
INTERRUPTED = 130
DECODER = """
import torch

weights = torch.ones(40, 300) + torch.arange(300)

def decoder(z):
    for _ in range(300):
        weights @ weights.T
    return torch.tanh(z @ weights / 1e4)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a command ended after Ctrl-C.

    Attributes:
        code: Its exit code.
        seconds: On the clock, from the signal to the end.
        processor: Seconds of the processor meanwhile.
        said: Standard error.
        was_over: Whether the command had ended before the signal.
        left: Files that are neither whole output nor a checkpoint.
    """

    code: int
    seconds: float
    processor: float
    said: str
    was_over: bool
    left: tuple[str, ...]

    def fault(self, codes: Sequence[int] = (INTERRUPTED,)) -> str:
        """Return what is wrong with it, or nothing."""
        lines = self.said.strip().splitlines()
        if self.was_over:
            return ""
        if self.code not in codes:
            return f"exit code {self.code}: {lines[-1:]}"
        if "Traceback" in self.said:
            return "a traceback"
        if self.code == INTERRUPTED and lines[-1:] != ["unbraid: interrupted"]:
            return f"it said {lines[-1:]}"
        return f"left {', '.join(self.left)}" if self.left else ""


def prepare(folder: Path) -> None:
    """Write the input of all commands."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (10_000, 6))
    codes = rng.normal(size=(10_000, 10)) + np.pad(factors, ((0, 0), (0, 4)))
    np.savez(folder / "codes.npz", codes=codes, factors=factors)
    names = [*(f"code_{k}" for k in range(10)), *(f"factor_{k}" for k in range(6))]
    many = np.tile(np.hstack([codes, factors]), (200, 1))
    pd.DataFrame(many, columns=names).to_parquet(folder / "rows.parquet")
    (folder / "mine.py").write_text(DECODER)
    for number, name in enumerate(("a", "b")):
        rep = Representation(codes[number::10], factors[number::10])
        evaluate(rep, metrics=["mig"], progress=False).to_json(folder / f"{name}.json")


def interrupt(name: str, moment: float, folder: Path) -> Ending:
    """Start a command as a user does, interrupt it after some seconds, and wait for its end.

    Args:
        name: One of :data:`COMMANDS`.
        moment: Seconds after its start.
        folder: As :func:`prepare` left it; output goes to ``out`` there.
    """
    output = Path(tempfile.mkdtemp(dir=folder))
    arguments = [word.replace("out/", f"{output}/") for word in COMMANDS[name]]
    with _slow_server() as proxy, (output / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "unbraid", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=folder,
            env={**os.environ, "http_proxy": proxy, "TMPDIR": str(output)},
            preexec_fn=_heed_interruptions,
        )
        time.sleep(moment)
        was_over = process.poll() is not None
        before = 0.0 if was_over else _processor_seconds(process.pid)
        started = time.perf_counter()
        after = before
        if not was_over:
            process.send_signal(signal.SIGINT)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            after = used.ru_utime + used.ru_stime
        seconds = time.perf_counter() - started
    left = [path.name for path in output.rglob("*") if path.is_file() and _is_half(path)]
    return Ending(
        code=process.returncode,
        seconds=seconds,
        processor=after - before,
        said=(output / "said").read_text(),
        was_over=was_over,
        left=tuple(left),
    )


def _is_half(path: Path) -> bool:
    """Return whether a file is a temporary one; a download goes on from its part."""
    return path.name.startswith((".", "tmp")) and not path.name.endswith((".lock", ".part"))


def _heed_interruptions() -> None:
    """Undo what a shell does to the commands it starts in the background: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _slow_server() -> Iterator[str]:
    """Yield the address of a server that answers with a byte now and then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_dribble, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def _dribble(server: socket.socket) -> None:
    try:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            while True:
                connection.sendall(b"x")
                time.sleep(0.2)
    except OSError:  # the command is gone
        return


def main(arguments: Sequence[str] | None = None) -> int:
    """Interrupt commands at moments; returns 1 if one did not end as it should."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.interruption", description=__doc__)
    parser.add_argument("--command", action="append", choices=list(COMMANDS), help="only this one; may be repeated")
    parser.add_argument("--moment", action="append", type=float, help="seconds after the start; may be repeated")
    options = parser.parse_args(arguments)
    moments = options.moment or MOMENTS
    n_faults = 0
    print("| Command |", " | ".join(f"after {moment:g} s" for moment in moments), "|")
    print("| --- |", " | ".join("---" for _ in moments), "|")
    with tempfile.TemporaryDirectory(prefix="unbraid-interrupted-") as place:
        prepare(Path(place))
        for name in options.command or COMMANDS:
            endings = [interrupt(name, moment, Path(place)) for moment in moments]
            faults = [one.fault(CODES.get(name, (INTERRUPTED,))) for one in endings]
            n_faults += sum(map(bool, faults))
            cells = [
                "over" if one.was_over else f"{one.seconds:.2f} ({one.processor:.2f})" + f" {fault}".rstrip()
                for one, fault in zip(endings, faults, strict=True)
            ]
            print(f"| `{name}` |", " | ".join(cells), "|", flush=True)
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
