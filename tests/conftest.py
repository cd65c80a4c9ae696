"""Durations by folder, a table at the end of a run that ``--durations-file`` keeps; and instructions to leave out."""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

# Some virtual machines announce tile instructions (AMX) that end the process when torch multiplies in bfloat16.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

#: Seconds of the processor above which a test without the mark ``slow`` is named at the end.
SLOW = 0.5


def pytest_addoption(parser):
    parser.addoption(
        "--durations-file", type=Path, help="write seconds by folder as JSON, such as tests/durations.json"
    )


def processor_seconds():
    """Return seconds of this process and of those it waited for; other work on the machine hardly changes them."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class ProcessorTime:
    """Adds seconds of the processor to the report of each part of a test; reports carry them from workers."""

    def __init__(self):
        self.before = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        self.before = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = processor_seconds()
        report.processor_seconds, self.before = now - self.before, now
        return report


def pytest_configure(config):
    config.pluginmanager.register(ProcessorTime())  # here, and not as hooks of this file, to count doctests of src too


def durations_by_folder(reports):
    """Return number of tests, seconds on the clock and seconds of the processor, by the first two folders."""
    found = defaultdict(lambda: {"tests": 0, "seconds": 0.0, "processor_seconds": 0.0})
    for report in reports:
        row = found["/".join(Path(report.nodeid.partition("::")[0]).parts[:2])]
        row["tests"] += report.when == "call"
        row["seconds"] += report.duration
        row["processor_seconds"] += getattr(report, "processor_seconds", 0.0)
    return {
        folder: {name: round(value, 1) for name, value in row.items()}
        for folder, row in sorted(found.items(), key=lambda one: -one[1]["processor_seconds"])
    }


def unmarked(reports):
    """Return the tests that took long and are marked neither ``slow`` nor ``browser``."""
    return [
        f"{report.processor_seconds:.1f} s {report.nodeid} ({report.when})"
        for report in reports
        if getattr(report, "processor_seconds", 0.0) > SLOW and not {"slow", "browser"} & set(report.keywords)
    ]


def pytest_terminal_summary(terminalreporter, config):
    told = [one for many in terminalreporter.stats.values() for one in many if isinstance(one, pytest.TestReport)]
    reports = list({(one.nodeid, one.when): one for one in told}.values())
    folders = durations_by_folder(reports)
    if len(folders) > 1 or config.getoption("--durations-file"):
        terminalreporter.section("seconds by folder: on the clock, of the processor")
        for folder, row in folders.items():
            line = f"{row['seconds']:9.1f} {row['processor_seconds']:9.1f}  {row['tests']:5} tests  {folder}"
            terminalreporter.write_line(line)
        for line in unmarked(reports):
            terminalreporter.write_line(f"not marked slow: {line}")
    if path := config.getoption("--durations-file"):
        path.write_text(json.dumps(folders, indent=1) + "\n", encoding="utf-8")
