"""What takes long and is not the subject of an input: parsing, permutation tests, starts of processes and databases."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import duckdb
from cyclopts import App

from unbraid.evidence import dependence
from unbraid.study.engines import local
from unbraid.study.engines.process import run_pickled
from unbraid.study.jobs import Finished, Job

#: Command lines whose parsing is kept, and shuffles of the test for dependence between factors.
MOST_KEPT, N_SHUFFLES = 1_000, 3


class NoProcess:
    """Runs the jobs of a local engine in this process, pickled as they are for another."""

    cards: tuple[str, ...] = ()

    def finish(self, job: Job, cards: tuple[str, ...] = ()) -> Finished:
        """Run a job."""
        error, seconds = run_pickled(pickle.dumps(job))
        return Finished(job=job, error=error, seconds=seconds)

    def stop(self) -> None:
        """Do nothing: there is no process to end."""


@contextmanager
def _one_database() -> Iterator[None]:
    """Let stores ask one database, which keeps nothing of the files that it has read."""
    with duckdb.connect(config={"enable_external_file_cache": "false"}) as database:

        def ask(*_: object, **__: object) -> duckdb.DuckDBPyConnection:
            return database.cursor()

        with patch.object(duckdb, "connect", ask):
            yield


@contextmanager
def quick() -> Iterator[None]:
    """Parse each command line once, shuffle factors a few times, and start no process or database for a job.

    What is read, scored and written stays the same.
    """
    kept: dict[tuple[str, ...], Any] = {}
    parse = App.parse_args

    def parse_once(self: App, tokens: Any = None, **options: Any) -> Any:
        key = tuple(tokens)
        if key not in kept:
            found = parse(self, tokens, **options)
            if len(kept) >= MOST_KEPT:
                return found
            kept[key] = found
        return kept[key]

    with (
        patch.object(App, "parse_args", parse_once),
        patch.object(dependence, "N_SHUFFLES", N_SHUFFLES),
        patch.object(local, "WorkerProcess", NoProcess),
        _one_database(),
    ):
        yield
