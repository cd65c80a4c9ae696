"""``python -m fuzz.chaos``: a study that is killed, starved and damaged must come to the same table."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid import Representation, save
from unbraid.study import Store, run_study, status

TRAINED = """\
name: chaos
data: [sprites_mini]
rows: 200
models:
  - {family: beta_vae, hyperparameters: {beta: [1, 4]}}
seeds: 2
training: {n_steps: 2, n_codes: 3, width: 2, batch: 4, learning_rate: 1e-3, ensemble_size: 2}
scores: {metrics: [mig, sap], rows: [200, 100]}
tasks:
  - {tasks: [position_cartesian], predictors: [linear], train: [1.0, 50]}
agreement: {methods: [spearman], rows: 100}
"""
#: The same of codes in files: no torch, so that a run takes a few seconds.
GIVEN = """\
name: chaos
representations: {{folder: {folder}, index: index.csv}}
scores: {{metrics: [mig, sap], rows: [200, 100]}}
tasks:
  - {{tasks: ["factor:x"], predictors: [linear], train: [1.0, 50]}}
agreement: {{methods: [spearman], rows: 100}}
"""
#: Every such run trains models; the others score codes in files.
TRAINED_EVERY = 3
#: Seconds after which a run hangs, and after which a process whose driver is gone should be gone too.
MOST_SECONDS, MOST_ORPHANED = 600.0, 60.0
#: Files of a store that a disturbance waits for, at most.
MOST_FILES = 14
#: Folders of a store whose files are damaged; nothing else of a store is needed to make its table.
PARTS = ("results", "codes", "factors", "models", "studies")
#: Sizes of a disk, from too small for a checkpoint to large enough for all; a name space of its own, where mounting
#: needs no rights outside it.
DISKS = ("60k", "120k", "200k", "300k")
APART = ("unshare", "--map-root-user", "--mount")
#: Tries to start a Ray node.
N_STARTS = 4


class ChaosError(AssertionError):
    """A study that did not come to the same end."""


class RayStartError(RuntimeError):
    """A node of a Ray cluster that does not start."""


@dataclass(slots=True, kw_only=True)
class Scene:
    """One chaos run.

    Attributes:
        folder: Folder of its own.
        study: The study file.
        rng: All of its chance.
        done: What was done, in words.
        address: Of a Ray cluster, or empty.
    """

    folder: Path
    study: Path
    rng: random.Random
    done: list[str] = field(default_factory=list)
    address: str = ""

    @property
    def store(self) -> Path:
        """The store of the study."""
        return self.folder / "store"

    def n_files(self) -> int:
        """Return the number of files in the store."""
        return sum(1 for path in self.store.rglob("*") if path.is_file())

    def command(self, store: Path | None = None) -> list[str]:
        """Return the command that runs the study."""
        how = ["--engine", "ray", "--address", self.address] if self.address else ["--workers", "2"]
        where = [str(self.study), "--store", str(store or self.store)]
        return [sys.executable, "-m", "unbraid", "study", "run", *where, *how]


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A run of the study in a process of its own, and the file that takes what it prints."""

    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def _driver(scene: Scene, command: Sequence[str] | None = None, **environment: str) -> Iterator[Driver]:
    """Start a run, and end whatever is left of it."""
    log = scene.folder / f"{len(list(scene.folder.glob('*.log')))}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command or scene.command(),
            stdout=out,
            stderr=out,
            env=os.environ | environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
    try:
        yield Driver(process=process, log=log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _end(driver: Driver, *codes: int) -> None:
    """Wait for the end of a run, and raise unless it ends as it should."""
    try:
        code = driver.process.wait(MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ChaosError(f"a run hangs:\n{driver.log.read_text()}") from error
    text = driver.log.read_text(errors="replace")
    if code not in codes:
        raise ChaosError(f"a run ended with exit code {code}:\n{text}")
    if "Traceback" in text:
        raise ChaosError(f"a run printed a traceback:\n{text}")


def _wait(scene: Scene, driver: Driver) -> None:
    """Wait for a moment that chance chooses: until some more files are in the store, and then a little."""
    wanted = scene.n_files() + scene.rng.randrange(MOST_FILES)
    end = time.monotonic() + MOST_SECONDS
    while driver.process.poll() is None and scene.n_files() < wanted and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(scene.rng.random() * 0.3)


def _children(pid: int) -> list[int]:
    """Return the processes below one, without Python's own keeper of semaphores."""
    command = ["ps", "-o", "pid=,args=", "--ppid", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(line.split()[0]) for line in found if "resource_tracker" not in line]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_driver(scene: Scene) -> None:
    """Kill the driver; its workers must end with it."""
    with _driver(scene) as driver:
        _wait(scene, driver)
        orphans = _children(driver.process.pid)
        _kill(driver.process.pid)
        driver.process.wait()
        end = time.monotonic() + MOST_ORPHANED
        while any(Path(f"/proc/{pid}").exists() for pid in orphans):
            if time.monotonic() > end:
                raise ChaosError("workers outlive their driver")
            time.sleep(0.05)
    scene.done.append(f"killed the driver at {scene.n_files()} files")


def kill_workers(scene: Scene) -> None:
    """Kill one or two workers; the run must end well, as a job is started three times."""
    with _driver(scene) as driver:
        for _ in range(scene.rng.randint(1, 2)):
            _wait(scene, driver)
            workers = _children(driver.process.pid)
            if workers:
                _kill(scene.rng.choice(workers))
                scene.done.append(f"killed a worker at {scene.n_files()} files")
        _end(driver, 0)


def two_drivers(scene: Scene) -> None:
    """Run the study twice at once, and now and then kill one of the two."""
    with _driver(scene) as first, _driver(scene) as second:
        if scene.rng.random() < 0.5:
            _wait(scene, first)
            _kill(second.process.pid)
            scene.done.append("two drivers, one of them killed")
        else:
            _end(second, 0)
            scene.done.append("two drivers")
        _end(first, 0)


def full_disk(scene: Scene) -> None:
    """Run the study on a disk that is too small for it, and copy away what it wrote."""
    size = scene.rng.choice(DISKS)
    disk = scene.folder / "disk"
    disk.mkdir(exist_ok=True)
    scene.store.mkdir(exist_ok=True)
    command = [*APART, "sh", "-c", _script(scene, size, disk)]
    with _driver(scene, command) as driver:
        _end(driver, 0, 1, 2)
    scene.done.append(f"a disk of {size}")


def _script(scene: Scene, size: str, disk: Path) -> str:
    """Return the commands that mount a small disk, run the study on a copy of its store, and copy the store back."""
    words = " ".join(f"'{word}'" for word in scene.command(disk / "store"))
    return (
        f"mount -t tmpfs -o size={size} tmpfs '{disk}'; mkdir '{disk}/store'; "
        f"cp -r '{scene.store}/.' '{disk}/store' || exit 0; "
        f"{words}; ended=$?; cp -r '{disk}/store/.' '{scene.store}'; exit $ended"
    )


def damage(scene: Scene) -> None:
    """Damage some files of the store, if it has any."""
    files = sorted(path for part in PARTS for path in (scene.store / part).rglob("*") if path.is_file())
    for path in scene.rng.sample(files, min(len(files), scene.rng.randint(1, 4))):
        how, change = scene.rng.choice(list(CHANGES.items()))
        content = change(path.read_bytes(), scene.rng)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        scene.done.append(f"{how} {path.relative_to(scene.store)}")


def _flipped(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(max(1, len(content)))
    return content[:at] + bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + 1]) + content[at + 1 :]


def _zeroed(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(max(1, len(content)))
    return content[:at] + bytes(min(512, len(content) - at)) + content[at + 512 :]


#: What happens to files.
CHANGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "cut": lambda content, rng: content[: rng.randrange(max(1, len(content)))],
    "flipped a bit of": _flipped,
    "zeroed a block of": _zeroed,
    "emptied": lambda content, rng: b"",
    "overwrote": lambda content, rng: rng.randbytes(100),
    "deleted": lambda content, rng: None,
}


def _add_node(cluster: Any, **options: Any) -> Any:
    """Start a node; on a busy machine it may take longer than the half minute that Ray waits, so try again.

    Raises:
        RayStartError: It did not start in any of the tries.
    """
    for _ in range(N_STARTS):
        try:
            return cluster.add_node(num_cpus=1, **options)
        except Exception as error:  # Ray raises nothing narrower
            failure = error
    raise RayStartError(str(failure)) from failure


def kill_node(scene: Scene) -> None:
    """Run the study on a Ray cluster of two nodes on the loopback, and kill one of them, or a worker."""
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    cluster: Any = Cluster()
    try:
        try:
            nodes = [_add_node(cluster, include_dashboard=False), _add_node(cluster)]
        except RayStartError:
            scene.done.append("NOT TESTED, a Ray node did not start")
            return
        scene.address = str(cluster.address)
        with _driver(scene) as driver:
            _wait(scene, driver)
            if scene.rng.random() < 0.5:
                cluster.remove_node(nodes[1], allow_graceful=False)
                scene.done.append(f"killed a Ray node at {scene.n_files()} files")
            else:
                raylet = nodes[1].all_processes["raylet"][0].process.pid
                for pid in _children(raylet)[:1]:
                    _kill(pid)
                scene.done.append(f"killed a Ray worker at {scene.n_files()} files")
            _end(driver, 0)
    finally:
        scene.address = ""
        cluster.shutdown()


DISTURBANCES: dict[str, Callable[[Scene], None]] = {
    "kill_driver": kill_driver,
    "kill_workers": kill_workers,
    "two_drivers": two_drivers,
    "full_disk": full_disk,
    "damage": damage,
}
RAY = "kill_node"


def play(folder: Path, study: Path, rng: random.Random, whole: pd.DataFrame, *, on_ray: bool, apart: bool) -> Scene:
    """Disturb a study one to three times, let it run in peace, and compare its table.

    Args:
        folder: Folder of its own.
        study: The study file.
        rng: All of its chance.
        whole: The undisturbed table.
        on_ray: Whether to begin on a Ray cluster that loses a node.
        apart: Whether a small disk can be mounted.

    Raises:
        ChaosError: A run hangs, prints a traceback or ends as it should not; or the table is another.
    """
    scene = Scene(folder=folder, study=study, rng=rng)
    folder.mkdir(parents=True)
    names = [name for name in DISTURBANCES if apart or name != "full_disk"]
    chosen = [rng.choice(names) for _ in range(rng.randint(1, 3))]
    if chosen == ["damage"]:
        chosen.insert(0, rng.choice([name for name in names if name != "damage"]))  # there is something to damage then
    try:
        if on_ray:
            kill_node(scene)
        for name in chosen:
            DISTURBANCES[name](scene)
        settle(scene, whole)
    except ChaosError as error:
        error.add_note("; ".join(scene.done))
        raise
    return scene


def settle(scene: Scene, whole: pd.DataFrame) -> None:
    """Run the study in peace, and compare its table."""
    with _driver(scene) as driver:
        _end(driver, 0)
    compare_tables(scene, whole)


def compare_tables(scene: Scene, whole: pd.DataFrame) -> None:
    """Raise unless the store has the undisturbed table, to the last digit, and no damaged shard."""
    table = status(scene.store).table().drop(columns="seconds")
    try:
        pd.testing.assert_frame_equal(table, whole, check_exact=True)
    except AssertionError as error:
        raise ChaosError(f"the table is another: {error}") from error
    if damaged := Store(scene.store).damaged():
        raise ChaosError(f"shards are damaged: {damaged}")


def make_studies(root: Path) -> dict[str, Path]:
    """Write both study files, and the codes of the one that trains nothing."""
    given = root / "given"
    given.mkdir()
    lines = ["file,dataset,family,hyperparameter,seed"]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        factors = rng.integers(0, 4, (200, 2))
        save(Representation(factors + rng.normal(size=(200, 2)), factors, names=["x", "y"]), given / f"{seed}.npz")
        lines.append(f"{seed}.npz,d,f,{seed // 2},{seed % 2}")
    (given / "index.csv").write_text("\n".join(lines))
    texts = {"trained": TRAINED, "given": GIVEN.format(folder=given)}
    for name, text in texts.items():
        (root / f"{name}.yaml").write_text(text)
    return {name: root / f"{name}.yaml" for name in texts}


def undisturbed(study: Path, folder: Path) -> pd.DataFrame:
    """Return the table of a study without disturbances."""
    state = run_study(study, folder, workers=1, progress=False)
    if not state.is_complete:
        raise ChaosError(f"the study cannot be completed: {state.summary()}")
    return state.table().drop(columns="seconds")


def can_mount(folder: Path) -> bool:
    """Tell whether this machine lets a user have a file system of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [*APART, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return (
        shutil.which(APART[0]) is not None and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chaos; returns 1 if there was a violation."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="chaos runs (10, some minutes)")
    parser.add_argument("--first", type=int, default=0, help="number of the first run, to go on where a call ended")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same disturbances; the moments differ")
    parser.add_argument("--ray-every", type=int, default=10, help="every such run begins on a Ray cluster; 0 for none")
    options = parser.parse_args(arguments)
    has_ray = find_spec("ray") is not None
    if options.ray_every and not has_ray:
        print("NOT TESTED: Ray nodes, as ray is not installed.")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="unbraid-chaos-") as root:
        apart = can_mount(Path(root) / "disk")
        if not apart:
            print("NOT TESTED: a full disk, as this machine does not let `unshare` mount one.")
        studies = make_studies(Path(root))
        whole: dict[str, pd.DataFrame] = {}
        for number in range(options.first, options.first + options.runs):
            name = "trained" if number % TRAINED_EVERY == TRAINED_EVERY - 1 else "given"
            if name not in whole:
                whole[name] = undisturbed(studies[name], Path(root) / f"whole-{name}")
            on_ray = has_ray and bool(options.ray_every) and number % options.ray_every == options.ray_every - 1
            rng = random.Random(f"{options.seed}-{number}")
            started = time.monotonic()
            try:
                place = Path(root) / str(number)
                scene = play(place, studies[name], rng, whole[name], on_ray=on_ray, apart=apart)
                told, ended = "; ".join(scene.done), "same table"
            except ChaosError as error:
                told, ended = " ".join(getattr(error, "__notes__", [])), f"VIOLATION: {error}"
            counts["violations"] += ended != "same table"
            counts.update(word.split(" at ")[0].split(" of ")[0] for word in told.split("; ") if word)
            print(f"run {number}, {name}, {time.monotonic() - started:.0f} s: {told}: {ended}", flush=True)
    violations = counts.pop("violations", 0)
    print(f"\n{options.runs} runs, {violations} violations")
    for what, count in sorted(counts.items()):
        print(f"{count:5}  {what}")
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
