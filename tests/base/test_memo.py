"""Results that are made once, within a limit of memory."""

import pickle
import threading
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

from unbraid._base.memo import Memo, n_bytes


class Data:
    """Data with a memo of what is derived from them, as representations have."""

    def __init__(self, codes):
        self.codes, self.memo = codes, Memo()

    def one_more(self):
        return self.memo.once("one more", lambda: self.codes + 1)


def counted(calls, key, size=10):
    def make():
        calls.append(key)
        return np.zeros(size)

    return make


def test_a_result_is_made_once():
    memo, calls = Memo(), []
    first = memo.once("a", counted(calls, "a"))
    assert memo.once("a", counted(calls, "a")) is first
    assert calls == ["a"]
    assert "a" in memo
    assert "b" not in memo


def test_what_was_not_asked_for_longest_goes_first():
    memo, calls = Memo(most_bytes=240), []
    for key in "abcaabdc":  # three of ten numbers fit: d puts out c, which was asked for before a and b
        memo.once(key, counted(calls, key))
    assert calls == ["a", "b", "c", "d", "c"]
    assert [key for key in "abcd" if key in memo] == ["b", "c", "d"]


def test_a_result_larger_than_the_limit_is_kept_alone():
    memo, calls = Memo(most_bytes=100), []
    memo.once("small", counted(calls, "small"))
    memo.once("large", counted(calls, "large", size=1000))
    memo.once("large", counted(calls, "large", size=1000))
    assert calls == ["small", "large"]
    assert "small" not in memo


def test_threads_wait_for_a_result_that_another_makes():
    memo, calls, begun, over = Memo(), [], threading.Event(), threading.Event()

    def slow():
        calls.append("slow")
        begun.set()
        assert over.wait(10)
        return np.ones(1)

    found = []
    threads = [threading.Thread(target=lambda: found.append(memo.once("slow", slow))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    assert memo.once("other", lambda: np.zeros(1)) == 0  # other results do not wait
    over.set()
    for thread in threads:
        thread.join()
    assert calls == ["slow"]
    assert all(one is found[0] for one in found)


def test_what_a_result_was_made_from_is_not_kept():
    data = Data(np.zeros(3))
    data.one_more()  # its memo holds the result, and must not hold the data
    gone = weakref.ref(data)
    del data
    assert gone() is None


def test_a_failure_is_raised_and_tried_again():
    memo = Memo()

    def fail():
        raise ValueError("codes")

    with pytest.raises(ValueError, match="codes"):
        memo.once("a", fail)
    assert "a" not in memo


def test_a_pickled_memo_is_empty_and_has_the_limit():
    memo = Memo(most_bytes=80)
    memo.once("a", lambda: np.zeros(10))
    again = pickle.loads(pickle.dumps(memo))
    assert "a" not in again
    assert again.most_bytes == 80


def test_arrays_are_counted_inside_tuples_and_dataclasses():
    @dataclass(frozen=True, slots=True)
    class Pair:
        first: np.ndarray
        second: tuple[np.ndarray, None]

    assert n_bytes(Pair(np.zeros(2), (np.zeros(3, dtype=np.uint8), None))) == 19
