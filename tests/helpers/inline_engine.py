"""An engine for tests: jobs run in this process, when they are waited for."""

import time
from collections import deque

from unbraid.study.jobs import Finished


class InlineEngine:
    n_slots = 1

    def __init__(self, *, fail=lambda job: None):
        """Jobs for which ``fail`` returns a reason fail with it instead of running."""
        self.jobs, self.ran, self.fail = deque(), [], fail

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.jobs.clear()

    def submit(self, job):
        self.jobs.append(job)

    def wait(self):
        job = self.jobs.popleft()
        self.ran.append(job)
        error = self.fail(job)
        if error is None:
            try:
                job.run()
            except ValueError as raised:
                error = str(raised)
        return Finished(job=job, error=error, seconds=time.perf_counter())
