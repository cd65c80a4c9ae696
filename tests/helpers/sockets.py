"""Sockets on which processes listen, from /proc."""

import contextlib
import os
from pathlib import Path


def descendants(process):
    """Return the numbers of the processes below one, from /proc."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = {process}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def listening_beyond_loopback(processes):
    """Return the addresses, as /proc has them, on which processes listen and others than this machine hear."""
    ours = set()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").glob("*"):
            with contextlib.suppress(OSError):
                ours.add(os.readlink(link))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listening = [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in ours]
    assert listening
    loopback = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
    return [one for one in listening if one.partition(":")[0] not in loopback]
