"""Jobs on this machine: each once, in whatever order, and alone in its misfortune."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import unbraid
from helpers.jobs_for_engines import (
    Arithmetic,
    Environment,
    FileJob,
    Follower,
    Killed,
    Raises,
    Sleeper,
    Unreadable,
    Unsendable,
    finish_all,
)
from unbraid.study.engines import make_engine
from unbraid.study.engines.local import Cards, LocalEngine, visible_cards
from unbraid.study.engines.process import ONE_THREAD, WorkerProcess, changed_environment
from unbraid.study.jobs import Finished

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine():
    with LocalEngine(2) as started:
        yield started


@pytest.fixture(scope="module")
def alone():
    """One worker, started from an environment with two threads and a GPU."""
    with pytest.MonkeyPatch.context() as patch, LocalEngine(1) as started:
        patch.setenv("OMP_NUM_THREADS", "2")
        patch.setenv("OPENBLAS_NUM_THREADS", "2")
        patch.setenv("CUDA_VISIBLE_DEVICES", "5")
        patch.delenv("MKL_NUM_THREADS", raising=False)
        yield started


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=120.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.02)


def sleepers(folder, n, seconds=0.0):
    return [Sleeper(name=f"job{i}", folder=str(folder), seconds=seconds) for i in range(n)]


class TestReports:
    def test_each_job_runs_once_and_is_reported_once(self, engine, tmp_path):
        jobs = sleepers(tmp_path, 30)
        ended = finish_all(engine, jobs)
        assert all(one.error is None for one in ended.values())
        assert all(len(job.starts()) == 1 and job.is_done() for job in jobs)

    def test_jobs_run_beside_each_other_in_as_many_processes_as_there_are_slots(self, engine, tmp_path):
        jobs = [
            Follower(name="a", folder=str(tmp_path), file="b.starts"),
            Follower(name="b", folder=str(tmp_path), file="a.starts"),
        ]
        ended = finish_all(engine, jobs)
        assert [one.error for one in ended.values()] == [None, None]
        assert engine.n_slots == 2
        assert len({pid for job in jobs for pid in job.starts()} - {os.getpid()}) == 2

    def test_jobs_are_reported_in_the_order_in_which_they_end(self, engine, tmp_path):
        engine.submit(Follower(name="slow", folder=str(tmp_path), file="quick.done", rest=0.5))
        engine.submit(Sleeper(name="quick", folder=str(tmp_path)))
        assert [engine.wait().job.key, engine.wait().job.key] == ["quick", "slow"]

    def test_seconds_are_those_of_the_job_not_of_its_worker_or_the_queue(self, engine, tmp_path):
        ended = finish_all(engine, [*sleepers(tmp_path, 4), Sleeper(name="slow", folder=str(tmp_path), seconds=0.5)])
        assert 0.5 <= ended["slow"].seconds < 1.5
        assert ended["job3"].seconds < 0.5

    def test_jobs_may_be_submitted_between_waits(self, engine, tmp_path):
        first, second = sleepers(tmp_path, 2)
        for job in (first, second):
            engine.submit(job)
            assert engine.wait().job == job

    def test_numbers_do_not_depend_on_workers_or_order(self, engine, alone, tmp_path):
        def results(engine, folder, order):
            folder.mkdir()
            jobs = [Arithmetic(name=f"{seed}", folder=str(folder), seed=seed) for seed in order]
            finish_all(engine, jobs)
            return {job.name: job.result() for job in jobs}

        two = results(engine, tmp_path / "two", [0, 1, 2, 3])
        one = results(alone, tmp_path / "one", [3, 1, 0, 2])
        assert one == two
        assert len(set(one.values())) == 4

    def test_waiting_for_nothing_is_refused_rather_than_endless(self, engine):
        with pytest.raises(RuntimeError, match="no job to wait for"):
            engine.wait()


class TestErrors:
    @pytest.mark.parametrize(
        ("what", "sentence"),
        [
            ("value", "codes must be finite."),
            ("division", "ZeroDivisionError: division by zero"),
            ("bare", "MemoryError"),
            ("unpicklable", "UnpicklableError: a"),
            ("unspeakable", "UnspeakableError"),
            ("exit", "SystemExit: 3"),
            ("long", "x" * 2000 + "…"),
        ],
    )
    def test_what_a_job_raises_is_said_and_not_tried_again(self, engine, tmp_path, what, sentence):
        job = Raises(name=what, folder=str(tmp_path), what=what)
        assert finish_all(engine, [job])[what].error == sentence
        assert len(job.starts()) == 1

    def test_a_job_that_raises_does_not_cost_its_worker(self, engine, tmp_path):
        jobs = [Raises(name=f"{i}", folder=str(tmp_path)) for i in range(6)]
        finish_all(engine, jobs)
        assert len({pid for job in jobs for pid in job.starts()}) <= 2

    def test_a_job_that_cannot_be_read_by_the_worker_says_why(self, engine, tmp_path):
        ended = finish_all(engine, [Unreadable(name="a", folder=str(tmp_path))])
        assert "'elsewhere'" in ended["a"].error

    def test_a_job_that_cannot_be_sent_says_why(self, engine, tmp_path):
        ended = finish_all(engine, [Unsendable(name="a", folder=str(tmp_path)), *sleepers(tmp_path, 2)])
        assert ended["a"].error == "TypeError: cannot pickle this"
        assert ended["job0"].error is None


class TestDeath:
    def test_a_killed_worker_is_replaced_and_the_job_done_again(self, engine, tmp_path):
        job = Killed(name="unlucky", folder=str(tmp_path), times=1)
        assert finish_all(engine, [job])["unlucky"].error is None
        assert len(set(job.starts())) == 2
        assert job.is_done()

    def test_a_job_that_always_kills_its_worker_fails_alone(self, engine, tmp_path):
        killer = Killed(name="killer", folder=str(tmp_path), times=99)
        others = sleepers(tmp_path, 6, seconds=0.1)
        ended = finish_all(engine, [others[0], killer, *others[1:]])
        assert ended["killer"].error.startswith("its worker died 3 times")
        assert len(killer.starts()) == 3
        assert all(ended[job.key].error is None and len(job.starts()) == 1 for job in others)

    def test_a_worker_that_died_idle_is_nobodys_fault(self, tmp_path):
        worker = WorkerProcess(tries=1)
        first, second = sleepers(tmp_path, 2)
        worker.finish(first)
        os.kill(first.starts()[0], signal.SIGKILL)
        wait_until(lambda: worker._executor._broken)
        assert worker.finish(second).error is None
        worker.stop()

    def test_leaving_ends_workers_at_once_with_what_they_do(self, tmp_path):
        before = set(threading.enumerate())
        with LocalEngine(2) as engine:
            jobs = sleepers(tmp_path, 4, seconds=60.0)
            for job in jobs:
                engine.submit(job)
            wait_until(lambda: jobs[0].starts() and jobs[1].starts())
            left = time.monotonic()
        assert time.monotonic() - left < 5
        wait_until(lambda: not any(is_alive(pid) for job in jobs[:2] for pid in job.starts()), 5)
        assert jobs[2].starts() == jobs[3].starts() == []
        wait_until(lambda: not set(threading.enumerate()) - before, 5)


DRIVER = """
    import signal

    from helpers.jobs_for_engines import Sleeper
    from unbraid.study.engines.local import LocalEngine

    if __name__ == "__main__":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start without one
        with LocalEngine(2) as engine:
            engine.submit(Sleeper(name="quick", folder={folder!r}))
            engine.submit(Sleeper(name="busy", folder={folder!r}, seconds=100.0))
            engine.wait()
            print("waiting", flush=True)
            engine.wait()
"""


@pytest.fixture
def driver(tmp_path):
    """A program with one idle and one busy worker, and the ids of both."""
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(DRIVER).format(folder=str(tmp_path)))
    places = [
        os.path.dirname(os.path.dirname(unbraid.__file__)),
        os.path.dirname(os.path.dirname(sys.modules["helpers.jobs_for_engines"].__file__)),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout.readline() == "waiting\n"
            jobs = [FileJob(name=name, folder=str(tmp_path)) for name in ("quick", "busy")]
            wait_until(lambda: all(job.starts() for job in jobs))
            yield process, [job.starts()[0] for job in jobs]
        finally:
            process.kill()


class TestDriver:
    def test_workers_end_with_a_killed_driver(self, driver):
        process, workers = driver
        assert all(map(is_alive, workers))
        process.kill()
        wait_until(lambda: not any(map(is_alive, workers)), 10)

    def test_ctrl_c_stops_driver_and_workers_promptly(self, driver):
        process, workers = driver
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
        _, said = process.communicate(timeout=10)
        assert process.returncode != 0
        assert said.count("Traceback") == 1, said
        # On a busy machine the resource tracker of the standard library may add a warning of its own after it.
        assert "KeyboardInterrupt" in said.splitlines()
        wait_until(lambda: not any(map(is_alive, workers)), 10)


class TestEnvironment:
    def test_a_worker_has_one_thread_and_sees_no_gpu(self, alone, tmp_path):
        before = dict(os.environ)
        job = Environment(name="ask", folder=str(tmp_path))
        assert finish_all(alone, [job])["ask"].error is None
        told = job.result()
        assert told["environment"].items() >= ONE_THREAD.items()
        assert told["environment"]["CUDA_VISIBLE_DEVICES"] == ""
        assert len(told["threads"]) >= 2  # BLAS and OpenMP
        assert set(told["threads"].values()) == {1}
        assert dict(os.environ) == before

    def test_a_worker_sees_the_cards_of_its_job_and_no_others(self, tmp_path, monkeypatch):
        """And without our limits has more than one thread, or the test above could not fail."""
        monkeypatch.setattr("unbraid.study.engines.process.ONE_THREAD", dict.fromkeys(ONE_THREAD, "2"))
        worker = WorkerProcess()
        jobs = [Environment(name=f"{i}", folder=str(tmp_path)) for i in range(3)]
        for job, cards in zip(jobs, [("1", "3"), ("1", "3"), ()], strict=True):
            worker.finish(job, cards)
        worker.stop()
        assert [job.result()["environment"]["CUDA_VISIBLE_DEVICES"] for job in jobs] == ["1,3", "1,3", ""]
        pids = [job.starts()[0] for job in jobs]
        assert pids[0] == pids[1] != pids[2]
        assert set(jobs[0].result()["threads"].values()) == {2}

    def test_the_environment_of_this_process_is_put_back(self, monkeypatch):
        monkeypatch.setenv("ONE", "1")
        monkeypatch.delenv("TWO", raising=False)
        before = dict(os.environ)
        with changed_environment({"ONE": "x", "TWO": "y"}):
            assert (os.environ["ONE"], os.environ["TWO"]) == ("x", "y")
        assert dict(os.environ) == before


class TestCards:
    def test_without_a_gpu_a_job_that_wants_one_fails_with_a_sentence(self, engine, tmp_path):
        job = Sleeper(name="hungry", folder=str(tmp_path), gpus=1.0)
        ended = finish_all(engine, [job, *sleepers(tmp_path, 1)])
        assert ended["hungry"].error == (
            "it needs 1 GPU, and this machine has no GPU; set gpus: 0 to run it on the processor."
        )
        assert ended["job0"].error is None
        assert job.starts() == []

    @pytest.mark.parametrize(("gpus", "at_once"), [(1.0, 2), (0.5, 4), (2.0, 1)])
    def test_jobs_at_once_are_limited_by_the_cards(self, tmp_path, monkeypatch, gpus, at_once):
        monkeypatch.setattr("unbraid.study.engines.local.visible_cards", lambda: ["0", "1"])
        running, most, lock = set(), [0], threading.Lock()
        together = threading.Barrier(at_once)

        def finish(self, job, cards=()):
            with lock:
                running.add(job.key)
                most[0] = max(most[0], len(running))
                assert len(cards) == max(1, gpus)
            together.wait(timeout=30)
            with lock:
                running.discard(job.key)
            return Finished(job=job, error=None, seconds=0.0)

        monkeypatch.setattr(WorkerProcess, "finish", finish)
        with LocalEngine(6) as engine:
            finish_all(engine, [Sleeper(name=f"{i}", folder=str(tmp_path), gpus=gpus) for i in range(8)])
        assert most[0] == at_once

    def test_jobs_without_a_gpu_run_beside_those_that_wait_for_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr("unbraid.study.engines.local.visible_cards", lambda: ["0"])
        light = threading.Event()

        def finish(self, job, cards=()):
            if job.gpus:
                assert light.wait(timeout=30)
            else:
                light.set()
            return Finished(job=job, error=None, seconds=0.0)

        monkeypatch.setattr(WorkerProcess, "finish", finish)
        jobs = [Sleeper(name=f"heavy{i}", folder=str(tmp_path), gpus=1.0) for i in range(3)]
        with LocalEngine(2) as engine:
            ended = finish_all(engine, [*jobs, Sleeper(name="light", folder=str(tmp_path))])
        assert len(ended) == 4

    @pytest.mark.parametrize("gpus", [1.5, -1.0, float("nan")])
    def test_shares_that_mean_nothing_are_refused(self, gpus):
        assert "gpus must be a share between 0 and 1 or a whole number" in Cards(["0", "1"]).refusal(gpus)

    def test_ten_tenths_fill_a_card(self):
        cards = Cards(["0"])
        taken = [cards.take(0.1) for _ in range(11)]
        assert taken == [("0",)] * 10 + [None]
        for one in taken[:10]:
            cards.give_back(one, 0.1)
        assert cards.take(1) == ("0",)

    def test_a_worker_keeps_the_card_it_has_if_it_can(self):
        assert Cards(["0", "1"]).take(0.5, held=("1",)) == ("1",)

    def test_cards_keep_the_names_they_were_chosen_by(self, monkeypatch):
        monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-5d6")
        assert visible_cards() == ["3", "GPU-5d6"]
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        assert visible_cards() == ["0", "1"]


class TestChoices:
    def test_an_unknown_engine_is_refused_with_the_nearest(self):
        with pytest.raises(ValueError, match=r"engine must be one of local, ray, got 'loccal'; did you mean 'local'\."):
            make_engine("loccal")

    def test_an_address_is_of_no_use_here(self):
        with pytest.raises(ValueError, match="address 'auto' is of no use to the local engine"):
            make_engine("local", address="auto")

    def test_workers_must_be_some(self):
        with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
            make_engine("local", workers=0)

    def test_by_default_there_is_a_worker_for_each_core(self):
        assert make_engine().n_slots == len(os.sched_getaffinity(0))
