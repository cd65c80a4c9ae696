"""A budget of threads that nested work shares, and the cores a process may use."""

import os
import threading
import time

import pytest

from unbraid._base import workers as module
from unbraid._base.workers import Workers, cpu_quota, usable_cores


def nested(workers, depth, most):
    """Count live workers at the bottom of maps inside maps."""
    if depth == 0:
        time.sleep(0.002)
        most.append(sum(thread.name == "unbraid-worker" for thread in threading.enumerate()))
        return 1
    return sum(workers.map(lambda _: nested(workers, depth - 1, most), range(4)))


class TestWorkers:
    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_nested_work_keeps_the_budget_and_ends(self, n):
        most = []
        assert nested(Workers(n), 3, most) == 64
        assert max(most) <= n - 1

    def test_a_budget_is_used_where_there_is_work(self):
        most = []
        nested(Workers(3), 2, most)
        assert max(most) == 2

    def test_threads_that_become_free_are_borrowed_later(self):
        workers = Workers(2)
        permit = workers._free.popleft()
        seen = set()

        def item(index):
            seen.add(threading.current_thread().name)
            if index == 0:
                workers._free.append(permit)
            time.sleep(0.01)

        workers.map(item, range(6))
        assert "unbraid-worker" in seen

    def test_one_worker_is_the_calling_thread(self):
        assert set(Workers(1).map(lambda _: threading.current_thread(), range(5))) == {threading.current_thread()}

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_order_is_kept(self, n):
        assert Workers(n).map(lambda i: (time.sleep(0.001 * (7 - i)), i)[1], range(7)) == list(range(7))

    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_the_first_item_that_fails_is_what_is_raised(self, n):
        def item(index):
            if index in (3, 5):
                raise KeyError(index)
            return index

        with pytest.raises(KeyError, match="3"):
            Workers(n).map(item, range(8))

    def test_after_a_failure_the_whole_budget_is_free_again(self):
        workers = Workers(3)
        with pytest.raises(ZeroDivisionError):
            workers.map(lambda i: 1 / (i - 2), range(6))
        assert len(workers._free) == 2

    @pytest.mark.parametrize("depth", [0, 1])
    def test_an_interruption_waits_for_nothing_and_begins_nothing_more(self, depth):
        workers, begun, ending = Workers(2), [], threading.Event()

        def item(index):
            if threading.current_thread() is threading.main_thread():
                while not begun:
                    time.sleep(0.001)
                raise KeyboardInterrupt
            begun.append(index)
            ending.wait(10)

        outer = item if depth == 0 else lambda _: workers.map(item, range(3))
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            workers.map(outer, range(8))
        assert time.perf_counter() - started < 1
        ending.set()
        time.sleep(0.05)
        assert len(begun) == 1

    def test_no_items(self):
        assert Workers(2).map(abs, []) == []

    def test_less_than_one_is_refused(self):
        with pytest.raises(ValueError, match="n_jobs must be at least 1, got 0"):
            Workers(0)


class TestUsableCores:
    @pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
    def test_affinity_counts(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4})
        monkeypatch.setattr(module, "cpu_quota", lambda: float("inf"))
        assert usable_cores() == 5

    @pytest.mark.parametrize(("quota", "cores"), [(0.5, 1), (2.0, 2), (2.5, 3), (64.0, 5)])
    def test_a_quota_of_the_container_counts(self, monkeypatch, quota, cores):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
        monkeypatch.setattr(module, "cpu_quota", lambda: quota)
        assert usable_cores() == cores

    @pytest.mark.parametrize(
        ("groups", "files", "cores"),
        [
            ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
            ("0::/\n", {"cpu.max": "max 100000\n"}, float("inf")),
            ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3.0),
            (
                "3:cpu,cpuacct:/box\n2:memory:/box\n",
                {"cpu,cpuacct/box/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/box/cpu.cfs_period_us": "50000\n"},
                4.0,
            ),
            (
                "3:cpu:/gone\n",
                {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
                float("inf"),
            ),
            ("", {}, float("inf")),
        ],
    )
    def test_both_versions_of_control_groups_are_read(self, tmp_path, groups, files, cores):
        (tmp_path / "cgroup").write_text(groups)
        for name, text in files.items():
            path = tmp_path / "mounted" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert cpu_quota(tmp_path / "cgroup", tmp_path / "mounted") == cores


def test_torch_threads_come_back_however_their_users_overlap():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with module.torch_threads(1):
            inside.set()
            leave.wait(5)
            seen.append(torch.get_num_threads())
        seen.append(torch.get_num_threads())

    try:
        torch.set_num_threads(3)
        with module.torch_threads(1):
            thread = threading.Thread(target=other)
            thread.start()
            inside.wait(5)
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        leave.set()
        thread.join()
        assert seen == [1, 3]
    finally:
        torch.set_num_threads(before)
