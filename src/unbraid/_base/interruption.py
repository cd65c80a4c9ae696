"""Ctrl-C on the command line: an end within a second, whatever the process is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

#: Exit code of a command that Ctrl-C ended.
CODE = 130
#: Seconds that a command has to leave in order; then it is ended where it is.
GRACE = 0.6

_clean_ups: list[Callable[[], object]] = []
_lock = threading.Lock()


class _State:
    """Whether Ctrl-C was pressed, and the exit code and last words that this process then has."""

    pressed: bool = False
    code: int = CODE
    words: str = "unbraid: interrupted"


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process within about a second; to be called once, by the command line, before its imports.

    The signal raises ``KeyboardInterrupt`` as always. It can get lost all the same, as where a compiled library calls
    back, or have to wait for the end of a long call. A thread therefore hears of the signal when it arrives, and ends
    the process if it is still there after :data:`GRACE` seconds.
    """
    # Ignored, as by commands that a shell starts in the background; or taken care of by whoever started the process.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _raise)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="unbraid-interruption", daemon=True).start()


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    _State.pressed = True
    raise KeyboardInterrupt


def _watch(reader: int) -> None:
    while signal.SIGINT not in os.read(reader, 64):
        pass
    _State.pressed = True
    time.sleep(GRACE)
    leave()


def was_pressed() -> bool:
    """Return whether Ctrl-C was pressed, even if no exception came of it."""
    return _State.pressed


def is_usual_end(words: str) -> None:
    """Say that Ctrl-C is how this command ends when all is well, as a server does, and with which words."""
    _State.code, _State.words = 0, words


def leave() -> NoReturn:
    """End this process now, as interrupted: without the teardown of libraries, which takes a second for some.

    Files that are being written are removed, and worker processes are ended.
    """
    if _lock.acquire(timeout=GRACE):  # never released: whoever comes second gives the first some time
        with suppress(OSError):
            shown = "\x1b[?25h" if os.isatty(2) else ""  # the cursor, which a progress bar hides
            os.write(2, f"{shown}{_State.words}\n".encode())
        for clean_up in (*reversed(_clean_ups), _end_workers):
            with suppress(Exception):
                clean_up()
    os._exit(_State.code)


def _end_workers() -> None:
    """End worker processes, and give back what they shared with this one: Python would complain of it after our end."""
    if "multiprocessing.util" in sys.modules:
        from multiprocessing import active_children, util

        for child in active_children():  # one that is just starting would complain that we are gone
            child.kill()
        util._run_finalizers(0)  # type: ignore[attr-defined]  # what Python itself calls at an exit in order


def flush_and_leave() -> NoReturn:
    """End this process as interrupted, once what was printed is written; a full pipe is not waited for for long."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    leave()


@contextmanager
def if_interrupted(clean_up: Callable[[], object]) -> Iterator[None]:
    """Call a function, such as one that removes a file, if Ctrl-C ends the process inside the block."""
    _clean_ups.append(clean_up)
    try:
        yield
    finally:
        _clean_ups.remove(clean_up)
