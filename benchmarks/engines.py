"""What it costs to hand out jobs: a thousand jobs of one second, on ten workers.

    python benchmarks/engines.py                                  # both engines; five minutes
    python benchmarks/engines.py --engines local --jobs 200       # one of them, sooner

The jobs sleep, so any number run beside each other on few cores, and whatever the wall clock shows beyond jobs times
seconds over workers is overhead. Starting the workers (each imports the library) is timed apart: it is paid once.
"""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measure import keep, machine, options, parse
from unbraid.study.engines import make_engine

TARGET = 0.05


@dataclass(frozen=True, kw_only=True)
class Sleep:
    """A job that takes so many seconds and next to no processor time."""

    key: str
    seconds: float
    kind: str = "sleep"
    gpus: float = 0.0
    may_race: bool = False

    @property
    def label(self):
        """What to call it."""
        return self.key

    def run(self):
        """Sleep."""
        time.sleep(self.seconds)


@dataclass(frozen=True, kw_only=True)
class Gather(Sleep):
    """Ends when as many of its kind have started as there are workers: then all workers are there."""

    folder: str
    workers: int

    def run(self):
        """Wait for the others."""
        Path(self.folder, self.key).touch()
        while len(os.listdir(self.folder)) < self.workers:
            time.sleep(0.05)


def run_all(engine, jobs):
    for job in jobs:
        engine.submit(job)
    ended = [engine.wait() for _ in jobs]
    assert {one.job.key for one in ended} == {job.key for job in jobs}
    assert not any(one.error for one in ended), next(one.error for one in ended if one.error)


def processor_seconds_of_children():
    """Of all processes below this one, from /proc."""
    parents, used = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry)] = int(fields[1])
        used[int(entry)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return sum(used[pid] for pid in used if pid != os.getpid() and os.getpid() in ancestors(pid, parents))


def ancestors(pid, parents):
    while pid in parents:
        pid = parents[pid]
        yield pid


def measure(name, n_jobs, seconds, workers):
    started = time.perf_counter()
    with make_engine(name, workers=workers) as engine, tempfile.TemporaryDirectory() as folder:
        gather = [
            Gather(key=f"gather{i}", seconds=0.0, kind="gather", folder=folder, workers=workers) for i in range(workers)
        ]
        run_all(engine, gather)
        start = time.perf_counter() - started
        driver, children, started = time.process_time(), processor_seconds_of_children(), time.perf_counter()
        run_all(engine, [Sleep(key=f"sleep{i}", seconds=seconds) for i in range(n_jobs)])
        wall = time.perf_counter() - started
        driver, children = time.process_time() - driver, processor_seconds_of_children() - children
    ideal = n_jobs * seconds / workers
    return {
        "engine": name,
        "jobs": n_jobs,
        "seconds_each": seconds,
        "workers": workers,
        "start_seconds": start,
        "wall_seconds": wall,
        "ideal_seconds": ideal,
        "overhead": wall / ideal - 1,
        "target": TARGET,
        "driver_ms_per_job": 1000 * driver / n_jobs,
        "other_processes_ms_per_job": 1000 * children / n_jobs,
    }


def show(row):
    print(
        f"{row['engine']:<6} {row['jobs']} jobs of {row['seconds_each']:g} s on {row['workers']} workers: "
        f"{row['wall_seconds']:.1f} s, ideally {row['ideal_seconds']:.1f}: overhead {row['overhead']:.1%} "
        f"(target {row['target']:.0%}); processor time for a job: driver {row['driver_ms_per_job']:.2f} ms, all other "
        f"processes {row['other_processes_ms_per_job']:.2f} ms; {row['start_seconds']:.1f} s to start the workers",
        flush=True,
    )


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--engines", default="local,ray")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=10)
    given = parse(parser, __file__, arguments, engines="local", jobs=8, seconds=0.05, workers=2)
    for name in given.engines.split(","):
        row = measure(name, given.jobs, given.seconds, given.workers)
        show(row)
        found = {"machine": machine(), "load_average": os.getloadavg(), "row": row}
        keep(given.output, {name: found}, beside_others=True)


if __name__ == "__main__":
    main()
