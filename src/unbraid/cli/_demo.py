"""``unbraid demo``."""

import sys
from pathlib import Path

from unbraid._validation import check_at_least
from unbraid.cli._outputs import check_writable
from unbraid.cli._table import print_report
from unbraid.data import example
from unbraid.panel import evaluate


def demo(*, report: Path = Path("report.html"), seed: int = 0, jobs: int | None = None) -> None:
    """Score the embedded example and write a report you can open in a browser.

    The example is an encoder with known faults: position is rotated, the angle takes two codes, one code is noise and
    one is dead. See how the scores tell you so.

    Parameters
    ----------
    report
        Where to write the page.
    seed
        Same seed, same numbers.
    jobs
        Worker threads; all cores by default.
    """
    check_writable("report", report)
    check_at_least("seed", seed, 0)
    result = evaluate(example(seed=seed), seed=seed, n_jobs=jobs, name="the embedded example")
    print_report(result)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"\nReport: {result.to_html(report).resolve()}")
