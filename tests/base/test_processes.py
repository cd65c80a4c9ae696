"""Tasks in forked processes: results, failures, shared work, threads, and the end of processes however it comes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from unbraid._base import processes as module
from unbraid._base.processes import WorkerDiedError, WorkItem, can_fork, run_forked
from unbraid._base.workers import Once, Workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")

#: Prints the number of a worker process that has minutes of work left.
LONG = """
import os, time
from unbraid._base.processes import WorkItem, run_forked
from unbraid._base.workers import Workers

def work():
    print(os.getpid(), flush=True)
    while True:
        time.sleep(0.01)

run_forked([WorkItem(work)] * 2, Workers(2))
"""


def run(works, n=2, **named):
    return run_forked([WorkItem(work) for work in works], Workers(n), **named)


def is_running(pid):
    """A process that has ended but was not waited for does not run."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_soon(pid):
    for _ in range(500):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


class Unpicklable:
    def __reduce__(self):
        raise TypeError("not to be pickled")


class Unreadable:
    """Pickled without complaint, and not read back."""

    def __reduce__(self):
        return int, ("no number",)


class TestResults:
    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_results_have_the_order_of_the_tasks(self, n):
        assert run([lambda i=i: (time.sleep(0.001 * (7 - i)), i)[1] for i in range(7)], n) == list(range(7))

    def test_work_is_done_elsewhere_in_no_more_processes_than_workers(self):
        pids = run([lambda: (time.sleep(0.01), os.getpid())[1] for _ in range(8)], 3)
        assert os.getpid() not in pids
        assert 2 <= len(set(pids)) <= 3
        assert multiprocessing.active_children() == []

    def test_each_result_is_told_once_by_the_calling_thread(self):
        told = []
        found = run([lambda i=i: i for i in range(6)], done=lambda result: told.append((result, threading.get_ident())))
        assert sorted(told) == [(i, threading.get_ident()) for i in found]

    def test_no_tasks_have_no_results(self):
        assert run([]) == []

    @pytest.mark.parametrize("kind", [Unpicklable, Unreadable])
    def test_a_result_that_cannot_be_sent_is_made_here(self, kind):
        found = run([lambda: 1, kind, lambda: 3])
        assert (found[0], type(found[1]), found[2]) == (1, kind, 3)


class TestFailures:
    def test_a_failure_is_raised_as_it_is(self):
        def fail():
            raise KeyError("which")

        with pytest.raises(KeyError, match="which"):
            run([lambda: 1, fail])
        assert multiprocessing.active_children() == []

    def test_work_that_leaves_the_process_is_raised_too(self):
        with pytest.raises(SystemExit):
            run([sys.exit, lambda: 1])

    def test_a_killed_process_is_one_sentence(self):
        with pytest.raises(WorkerDiedError, match=r"exit code -9.*n_jobs=1"):
            run([lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1])
        assert multiprocessing.active_children() == []

    def test_an_interruption_ends_all_processes_at_once(self):
        def interrupt(result):
            raise KeyboardInterrupt

        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run([lambda: 1, lambda: time.sleep(60)], done=interrupt)
        assert time.monotonic() - started < 30
        assert multiprocessing.active_children() == []

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
    def test_processes_end_when_their_parent_is_killed(self, how):
        with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as parent:
            pids = [int(parent.stdout.readline()) for _ in range(2)]
            assert all(map(is_running, pids))
            parent.send_signal(how)
            parent.wait()
        assert all(map(ends_soon, pids))


class TestSharedWork:
    def tasks(self, shared, n=6):
        return [WorkItem(lambda: (shared(), os.getpid()), shared) for _ in range(n)]

    def test_the_first_task_makes_it_for_all(self):
        calls = multiprocessing.get_context("fork").Value("i", 0)

        def count():
            with calls.get_lock():
                calls.value += 1
            time.sleep(0.05)
            return calls.value

        found = run_forked(self.tasks(Once(count)), Workers(3))
        assert [made for made, _ in found] == [1] * 6
        assert calls.value == 1

    def test_what_cannot_be_sent_is_made_by_each_process(self):
        shared = Once(lambda: [Unpicklable()])
        tasks = [WorkItem(lambda: len(shared()), shared) for _ in range(4)]
        assert run_forked(tasks, Workers(2)) == [1] * 4

    def test_other_tasks_go_on_meanwhile(self):
        shared = Once(lambda: time.sleep(0.2))
        tasks = [*self.tasks(shared, 2), WorkItem(lambda: (None, os.getpid()))]
        found = run_forked(tasks, Workers(2))
        assert found[2][1] != found[0][1]


class TestThreads:
    def test_tasks_have_one_thread_while_all_processes_work(self):
        workers = Workers(2)

        def work():
            return len(set(workers.map(lambda _: (time.sleep(0.002), threading.get_ident())[1], range(20))))

        found = run_forked([WorkItem(work) for _ in range(2)], workers)
        assert min(found) == 1

    def test_a_task_that_is_left_has_the_threads_of_the_others(self):
        workers = Workers(3)

        def work():
            return len(set(workers.map(lambda _: (time.sleep(0.01), threading.get_ident())[1], range(60))))

        assert run_forked([WorkItem(work), WorkItem(lambda: 0), WorkItem(lambda: 0)], workers)[0] == 3

    def test_a_task_alone_has_all_threads(self):
        workers = Workers(3)

        def work():
            return len(set(workers.map(lambda _: (time.sleep(0.01), threading.get_ident())[1], range(60))))

        assert run_forked([WorkItem(work)], workers) == [3]

    def test_threads_here_are_as_many_as_before(self):
        workers = Workers(2)
        run_forked([WorkItem(lambda: 0)] * 3, workers)
        names = set(workers.map(lambda _: (time.sleep(0.01), threading.current_thread().name)[1], range(6)))
        assert len(names) == 2


class TestWhere:
    def test_not_in_a_thread(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(can_fork()))
        thread.start()
        thread.join()
        assert can_fork()
        assert found == [False]

    def test_not_in_a_worker_process(self):
        assert run([can_fork]) == [False]

    def test_not_beside_packages_that_cannot_be_forked(self, monkeypatch):
        monkeypatch.setitem(sys.modules, module.NOT_FORKED[0], module)
        assert not can_fork()

    def test_not_after_work_on_a_gpu(self, monkeypatch):
        torch = pytest.importorskip("torch")
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        assert not can_fork()
