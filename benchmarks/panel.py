"""Time and memory of each metric and of the whole panel, at 10 000 and 150 000 rows of dSprites-sized factors.

    python benchmarks/panel.py                  # metrics of the default panel; prints, and writes benchmarks/panel.json
    python benchmarks/panel.py --by-name        # all metrics, those by name included; not kept
    python benchmarks/panel.py --rows 10000     # one size
    python benchmarks/panel.py --only mig,sap   # some metrics
    python benchmarks/panel.py --profile irs    # where one metric's time goes

Two plain baselines run in the same session, so that ratios mean something on any machine.
"""

import cProfile
import os
import pstats
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

import unbraid as ub
from measure import Measurement, keep, machine, measure, options, parse
from unbraid.metrics import METRICS
from worlds import dsprites_like

INFORMATION = [name for name, metric in METRICS.items() if metric.source.name == "information"]
# Seconds to reach at 10 000 and 150 000 rows, set from the fastest existing implementation of each.
TARGETS = {
    "mig": (0.01, 0.1),
    "information, with intervals": (0.2, 1.0),
    "irs": (0.02, 0.2),
    "sap": (0.1, 1.0),
    "explicitness": (0.15, 2.0),
    "z_diff": (0.1, 0.2),
    "z_min_var": (0.03, 0.1),
    "dci_linear": (0.3, 3.0),
    "dci_boosting": (5.0, 40.0),
    "dci_forest": (5.0, 40.0),
    "iwo": (5.0, 30.0),
    "whole panel, with intervals": (15.0, 120.0),
}
SIZES = (10_000, 150_000)


def run_metric(name, codes, factors):
    metric, function = METRICS_BY_FAMILY[name], getattr(ub.metrics, name)
    if metric.min_factors == 0:
        function(codes)
    elif metric.factor_kind is not None:
        kinds = [str(metric.factor_kind), *[None] * (factors.shape[1] - 1)]
        function(ub.Representation(codes, factors, kinds=kinds))
    else:
        function(codes, factors)


def run_information(codes, factors):
    ub.evaluate(codes, factors, metrics=INFORMATION)


def run_panel(codes, factors):
    ub.evaluate(codes, factors)


def plain_mig(codes, factors):
    """Mutual information by one scikit-learn call for each pair, as published code does."""
    from sklearn.metrics import mutual_info_score

    bins = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    return np.array([[mutual_info_score(v, z) for v in factors.T] for z in bins])


def plain_explicitness(codes, factors):
    """One scikit-learn logistic regression for each value of each factor."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    half = int(0.7 * len(codes))
    for v in factors.T:
        for value in np.intersect1d(v[:half], v[half:]):
            model = LogisticRegression().fit(codes[:half], v[:half] == value)
            roc_auc_score(v[half:] == value, model.decision_function(codes[half:]))


METRICS_BY_FAMILY = {metric.family: metric for metric in METRICS.values()}
DEFAULT_FAMILIES = {metric.family for metric in METRICS.values() if metric.in_default}


def jobs(only: list[str], *, by_name: bool) -> dict[str, object]:
    usual = set(METRICS_BY_FAMILY) if by_name else DEFAULT_FAMILIES
    chosen = [name for name in METRICS_BY_FAMILY if name in (only or usual)]
    work = {name: partial(run_metric, name) for name in chosen}
    if not only or "panel" in only:
        work |= {"whole panel, with intervals": run_panel}
    if not only or "information" in only:
        work |= {"information, with intervals": run_information}
    if not only or "baselines" in only:
        work |= {
            "baseline: mig, pair by pair": plain_mig,
            "baseline: explicitness, value by value": plain_explicitness,
        }
    return work


def profile(name: str, n_rows: int) -> None:
    """Print the functions in which one metric spends most of its time."""
    codes, factors = dsprites_like(n_rows)
    run_metric(name, codes[:1000], factors[:1000])
    profiler = cProfile.Profile()
    profiler.runcall(run_metric, name, codes, factors)
    pstats.Stats(profiler).sort_stats("cumulative").print_stats("unbraid|argsort", 25)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(SIZES))
    parser.add_argument(
        "--only", default="", help="families of metrics, panel, information, baselines, separated by commas"
    )
    parser.add_argument("--by-name", action="store_true", help="metrics that no panel computes by default, too")
    parser.add_argument("--profile", choices=list(METRICS_BY_FAMILY))
    given = parse(parser, __file__, arguments, rows=[100], only="mig,total_correlation,information,baselines")
    if given.profile:
        profile(given.profile, max(given.rows))
        return
    only = [name for name in given.only.split(",") if name]
    results: dict[str, dict[str, object]] = {}
    print(f"{'':42s}" + "".join(f"{n:>12,} rows  peak MiB" for n in given.rows) + "   target")
    for name, work in jobs(only, by_name=given.by_name).items():
        found: dict[int, Measurement] = {}
        for n_rows in given.rows:
            repeats = 3 if n_rows <= 10_000 and "panel" not in name and not name.startswith("dci_") else 1
            found[n_rows] = measure(work, dsprites_like, (n_rows,), repeats=repeats, here=given.tiny)
        results[name] = {str(n_rows): asdict(measurement) for n_rows, measurement in found.items()}
        numbers = "".join(f"{m.seconds:15.3f} s {m.peak_mib:9.0f}" for m in found.values())
        target = " / ".join(f"{seconds:g}" for seconds in TARGETS[name]) if name in TARGETS else ""
        print(f"{name:42s}{numbers}   {target}", flush=True)
    if given.tiny or (not only and not given.by_name and given.rows == list(SIZES)):
        keep(given.output, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
