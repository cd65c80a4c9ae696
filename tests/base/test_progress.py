"""Progress as lines: after two seconds, at each tenth, when it takes long, and only where it is asked for."""

import sys

import pytest

from unbraid._base.progress import QUIET, SECONDS, Lines, bar_or_lines, track
from unbraid._base.text import duration


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def lines_of(total, clock):
    written = []
    return Lines(total, "scoring", write=written.append, clock=clock), written


def test_a_line_soon_and_at_each_tenth(clock):
    lines, written = lines_of(100, clock)
    with lines:
        for _ in range(25):
            clock.now += 2.0
            lines.advance()
    assert written == [
        "scoring: 1 of 100 steps, 2 s so far, about 3 min 18 s left",
        "scoring: 10 of 100 steps, 20 s so far, about 3 min left",
        "scoring: 20 of 100 steps, 40 s so far, about 2 min 40 s left",
    ]


def test_a_line_when_there_was_none_for_long_even_if_nothing_ended(clock):
    lines, written = lines_of(3, clock)
    with lines:
        clock.now = QUIET
        lines.advance(0)
        clock.now = QUIET + SECONDS - 1
        lines.advance(0)
        assert written == ["scoring: 0 of 3 steps, 2 s so far"]
        clock.now = QUIET + SECONDS
        lines.advance(0)
        lines.advance(0)
    assert written[1:] == ["scoring: 0 of 3 steps, 32 s so far"]


def test_lines_become_rarer_in_a_long_run(clock):
    lines, written = lines_of(10**9, clock)
    with lines:
        while clock.now < 86_400:
            clock.now += 10
            lines.advance(0)
    assert 40 < len(written) < 100


def test_what_is_done_at_once_writes_nothing(clock):
    lines, written = lines_of(1000, clock)
    with lines:
        for _ in range(1000):
            clock.now += 0.99 * QUIET / 1000
            lines.advance()
    assert written == []


def test_the_last_words_are_on_the_line(clock):
    lines, written = lines_of(1, clock)
    with lines:
        lines.tell("training 9 beta_vae")
        clock.now = 5.0
        lines.advance()
    assert written[-1] == "scoring: 1 of 1 steps, 5 s so far; last: training 9 beta_vae"


@pytest.mark.slow
def test_a_watch_writes_while_a_step_takes_long(clock):
    import time

    lines, written = lines_of(2, clock)
    with lines:
        clock.now = SECONDS
        until = time.monotonic() + 10
        while not written and time.monotonic() < until:
            time.sleep(0.05)
    assert written == ["scoring: 0 of 2 steps, 30 s so far"]
    assert not lines._watch.is_alive()


def test_lines_go_to_standard_error_and_the_library_stays_silent(capsys, monkeypatch):
    monkeypatch.setattr("unbraid._base.progress.QUIET", 0.0)
    with track(2, "lines", doing="study \x1b[31m x") as bar:
        bar.tell("a\nname")
        bar.advance()
    assert capsys.readouterr() == ("", "study \\x1b[31m x: 1 of 2 steps, 0 s so far, about 0 s left; last: a\\nname\n")
    with track(2, None) as bar:
        bar.advance()
    assert capsys.readouterr() == ("", "")


def test_commands_choose_by_where_standard_error_goes(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert bar_or_lines() is True
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert bar_or_lines() == "lines"


@pytest.mark.parametrize(
    ("seconds", "says"), [(0, "0 s"), (59.6, "1 min"), (3600, "1 h"), (86_399, "24 h"), (90_000, "1 d 1 h")]
)
def test_lengths_of_time(seconds, says):
    assert duration(seconds) == says
