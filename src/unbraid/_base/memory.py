"""Amounts of memory: in text, free on the machine, and as limits that work is checked against beforehand."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
#: Files of Linux with the available memory, with the groups of this process, and with the limits of the groups.
MEMINFO, GROUPS, MOUNTED = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
#: A limit that is proposed has this much room above the estimate, which may be somewhat low.
ROOM = 1.2
#: Estimates are cut here: a damaged file may state sizes that no float holds.
LARGEST = 2**80


class TooMuchMemoryError(ValueError):
    """Work would take more memory than it may."""


def parse_memory(memory: str | int | float) -> int:
    """Return a size in bytes.

    Args:
        memory: Bytes, or a text such as ``"2GiB"``, ``"500 MB"`` or ``"1.5g"``; units are powers of 1024.

    Raises:
        ValueError: Not such a text, or not positive.

    Example:
        >>> parse_memory("2GiB"), parse_memory("512 k"), parse_memory(1000)
        (2147483648, 524288, 1000)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)(?:i?b)?\s*", str(memory).lower())
    try:
        size = int(float(match[1]) * UNITS[match[2]]) if match else 0
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise ValueError(f"memory must be a size such as '2GiB' or a number of bytes, got {memory!r}.")
    return size


def size_text(n_bytes: float) -> str:
    """Write a size with a unit.

    Example:
        >>> size_text(3 * 2**29), size_text(2**20), size_text(2**52)
        ('1.5 GiB', '1 MiB', '4096.0 TiB')
    """
    for unit, size in (("TiB", 2**40), ("GiB", 2**30)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 2**20:.0f} MiB"


def memory_limit(memory: str | int | None) -> int:
    """Return a limit in bytes: the one given, or what the machine has left."""
    return available_bytes() if memory is None else parse_memory(memory)


def check_memory(work: str, needed: float, memory: str | int | None, *, cure: str = "") -> None:
    """Raise where work would take more memory than it may.

    Args:
        work: What would take it, as the beginning of a sentence.
        needed: An estimate in bytes.
        memory: The limit; by default what the machine has left.
        cure: What else would help, beside a higher limit.

    Raises:
        TooMuchMemoryError: With the estimate, the limit and how to raise it.
    """
    limit = memory_limit(memory)
    if needed <= limit:
        return
    needed = min(needed, LARGEST)
    enough = f"{max(1, round(ROOM * needed / 2**20))}M" if needed < 2**31 else f"{round(ROOM * needed / 2**30)}G"
    raise TooMuchMemoryError(
        f"{work} would take about {size_text(needed)} of memory, more than the {size_text(limit)} it may take; "
        f"{cure + ', or ' if cure else ''}raise the limit with --memory {enough} (in Python, memory='{enough}')."
    )


def available_bytes(meminfo: Path = MEMINFO, groups: Path = GROUPS, mounted: Path = MOUNTED) -> int:
    """Return the memory that this process may still take: of the machine, its control groups and its own limit.

    Args:
        meminfo: Linux's estimate for the machine.
        groups: Names the control groups of the process, a line ``id:controllers:path`` each.
        mounted: Where the groups are mounted, versions 1 and 2.
    """
    found = [_of_machine(meminfo), *_of_groups(groups, mounted), *_of_process()]
    return max(0, min(found))


def _of_machine(meminfo: Path) -> int:
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    if "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**62  # a system that does not tell


def _of_groups(groups: Path, mounted: Path) -> list[int]:
    """Return what each group with a limit has left; files kept in memory for reading count as free."""
    found = []
    for controllers, path in (line.split(":", 2)[1:] for line in _text(groups).splitlines() if line.count(":") >= 2):
        if controllers and "memory" not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        # A container may see its own group as the root, or by its full name: both are tried, and all groups above.
        for folder in (mounted / controllers / above for above in (inside, *inside.parents)):
            names = (
                ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
            )
            limit, used = (_whole(_text(folder / name)) for name in names)
            if limit is not None and used is not None:
                cached = re.search(r"^(?:total_)?inactive_file (\d+)$", _text(folder / "memory.stat"), re.MULTILINE)
                found.append(limit - used + (int(cached[1]) if cached else 0))
    return found


def _of_process() -> list[int]:
    """Return what a limit on the address space, as of ``ulimit -v``, leaves."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(_text(Path("/proc/self/statm")).split()[0]) * resource.getpagesize()
    except (ImportError, IndexError):
        return []
    return [] if limit == resource.RLIM_INFINITY else [limit - used]


def _whole(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
