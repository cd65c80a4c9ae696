"""``unbraid audit``."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unbraid._base.progress import bar_or_lines
from unbraid._base.text import printable
from unbraid._base.user_code import kept_apart
from unbraid.audit import CASES, Audit, load_plugin, run
from unbraid.audit import reliability as measure_reliability
from unbraid.audit.result import insert_tables
from unbraid.cli._io import check_outputs, json_file, say
from unbraid.cli._table import print_rows

FEW = 3


def audit(
    *,
    metric: str | None = None,
    plugin: str | None = None,
    measures: str | None = None,
    bounds: str = "0,1",
    lower_is_better: Annotated[bool, Parameter(negative=())] = False,
    invariant_to: str = "",
    min_factors: int = 1,
    cases: str = "all",
    seeds: int = 5,
    rows: int = 2000,
    seed: int = 0,
    jobs: int | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    report: Path | None = None,
    markdown: Path | None = None,
    keep: Annotated[bool, Parameter(negative=())] = False,
    show_cases: Annotated[bool, Parameter(name="--list", negative=())] = False,
    reliability: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Test metrics on representations with known properties: which metric fails in which case?

    Each case is a synthetic representation whose modularity, compactness, explicitness, orthogonality and independence
    are known: factors that are copied, permuted, bent, rotated, mixed, packed into one code, split, doubled, left out,
    beside noise, with an outlier, with few rows or many values, or that depend on each other. The expected behaviour
    of a metric follows from the properties that the metric claims to measure. A failed case is a result, not an error.

    Examples:
        unbraid audit --metric mig

        unbraid audit --report audit.html --json audit.json

        unbraid audit --plugin my_metric.py:score --measures modularity

        unbraid audit --metric dci_forest --cases 'correlated/*,independent/mixed'

        unbraid audit --reliability --metric mig,r2

    Parameters
    ----------
    metric
        Comma-separated names or families from `unbraid metrics`; all of them by default.
    plugin
        A metric of your own, as FILE or FILE:NAME: a function `metric(codes, factors)` that returns a number. The
        file is run, so give only one you trust.
    measures
        Properties that your own metric claims to measure, separated by commas: modularity, compactness, explicitness,
        orthogonality, independence, dimension.
    bounds
        Lowest and highest value of your own metric, as `0,1` or `0,inf`.
    lower_is_better
        Your own metric is better when lower.
    invariant_to
        Changes of the codes that leave your own metric the same, separated by commas: permutation, scaling, warping,
        rotation.
    min_factors
        Fewest factors that your own metric is defined for; with fewer it should raise ValueError.
    cases
        Cases to run, as names or patterns separated by commas; the cases that they are compared with are added.
    seeds
        How many times each case is drawn; verdicts take the variation between draws into account.
    rows
        Rows of each case, except of cases with few rows.
    seed
        First seed. Same seed, same numbers, for any number of jobs.
    jobs
        Worker threads; all cores by default.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    report
        Write a self-contained HTML page.
    markdown
        Write the tables as Markdown; in a file that has the marks of an earlier run, between the marks.
    keep
        Keep the cells of other metrics and cases that the tables of an earlier run have.
    show_cases
        List the cases and stop.
    reliability
        In place of the cases, measure the noise of each metric on fixed codes and on other draws of the rows, and
        whether the metric follows codes that get better along a training run. Deviations are in spans: the distance
        between the scores of separated factors and of noise.
    """
    if show_cases:
        print_rows(
            ["case", "what it is", "compared with"],
            [
                [case.name, case.description, "the best possible" if case.baseline == name else case.baseline]
                for name, case in CASES.items()
            ],
            wrap=("what it is", "compared with"),
        )
        return
    if reliability:
        _print_reliability("default" if metric is None else metric, rows, seed, jobs)
        return
    check_outputs((), json, report=report, markdown=markdown)
    if keep and (markdown is None or not markdown.exists()):
        raise ValueError("keep must be given with markdown, a file that has the tables of an earlier run.")
    if markdown is not None:
        insert_tables(markdown, "")  # says now, and not after minutes of work, if there is no place for them
    name = function = None
    if plugin is not None:
        if metric is not None:
            raise ValueError("metric must be left out when plugin is given, got both.")
        with kept_apart("plugin"):
            name, function = load_plugin(plugin)
    with kept_apart("plugin"):
        found = run(
            function or ("all" if metric is None else metric),
            measures=measures,
            name=name,
            bounds=_bounds(bounds),
            higher_is_better=not lower_is_better,
            invariant_to=invariant_to,
            min_factors=min_factors,
            cases=cases,
            n_seeds=seeds,
            n_rows=rows,
            seed=seed,
            n_jobs=jobs,
            progress=bar_or_lines(),
        )
    _write(found, json, report, markdown, keep=keep)


def _print_reliability(metric: str, rows: int, seed: int, jobs: int | None) -> None:
    found = measure_reliability(metric, n_rows=rows, seed=seed, n_jobs=jobs, progress=bar_or_lines())
    print_rows(
        ["metric", "span", "reseed", "redraw", "along the run", "steps told apart"],
        [[name, *(_value(value) for value in row)] for name, *row in found.itertuples()],
    )


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"bounds must be two numbers such as 0,1 or 0,inf, got {text!r}.") from error
    return low, high


def _write(found: Audit, json: str | None, report: Path | None, markdown: Path | None, *, keep: bool) -> None:
    if json == "-":
        print(found.to_json())
    elif len(found.candidates) <= FEW:
        for candidate in found.candidates:
            print_findings(found, candidate.name)
    else:
        print_summary(found)
    to_markdown = partial(found.to_markdown, keep=keep)
    outputs = ((report, found.to_html), (markdown, to_markdown), (json_file(json), found.to_json))
    for path, write in outputs:
        if path is not None:
            write(path)
            say(f"wrote {path}")


def print_summary(found: Audit) -> None:
    """Print how many cases each metric passed, and where it failed."""
    rows = []
    for candidate in found.candidates:
        passed, tested = found.count(candidate.name)
        failed = ", ".join(finding.case for finding in found.failures(candidate.name))
        rows.append([candidate.name, ", ".join(candidate.measures), f"{passed}/{tested}", failed or "-"])
    print_rows(["metric", "claims", "passed", "failed in"], rows, wrap=("claims", "failed in"))


def print_findings(found: Audit, metric: str) -> None:
    """Print what one metric should do in each case, what it did, and the verdict."""
    passed, tested = found.count(metric)
    print(printable(f"{metric}: passed {passed} of {tested} cases"))
    rows = [
        [
            item.case,
            item.should,
            _value(item.baseline_value),
            _value(item.value),
            item.verdict,
            item.failure or item.behaviour,
        ]
        for item in found.of(metric)
    ]
    print_rows(["case", "should", "baseline", "score", "verdict", "behaviour"], rows, wrap=("behaviour",))
    print()


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
