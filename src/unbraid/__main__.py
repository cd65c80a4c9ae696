"""The command ``unbraid``, and ``python -m unbraid``."""

from typing import NoReturn

from unbraid._base.interruption import end_on_interrupt, flush_and_leave, was_pressed


def start() -> NoReturn:
    """Run the command line; Ctrl-C ends it within a second from here on, its imports included."""
    end_on_interrupt()
    try:
        from unbraid.cli import main

        main()
    except BaseException:
        if was_pressed():
            flush_and_leave()
        raise


if __name__ == "__main__":
    start()
