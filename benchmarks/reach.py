"""The default panel on codes as wide as embeddings, with ratios to forests of scikit-learn in the same run.

    python benchmarks/reach.py                       # prints, and writes benchmarks/reach.json
    python benchmarks/reach.py --only wide           # one case, the others in the file kept
    python benchmarks/reach.py --limit 300           # leave out cases that are expected to take longer, in seconds
    python benchmarks/reach.py --only wide --kinds   # CPU seconds of each kind of evidence on one thread, not kept

Factors are drawn; codes carry each factor in one code of its own with noise, and the rest is noise. A case whose
estimate passes the limit is not run, and marked so with the estimate.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

import unbraid as ub
from measure import keep, machine, measure, options, parse
from unbraid._base.workers import usable_cores
from unbraid.metrics.table.metric import InputSize
from unbraid.panel import evaluation
from unbraid.panel.cost import panel_seconds
from unbraid.panel.plan import plan_evidence, resolve_metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A size, and what the panel should take at most on two cores; 0 where no memory is set."""

    rows: int
    codes: int
    factors: int
    levels: int
    noise: float
    goal_seconds: float
    goal_mib: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int, int, float]:
        """What the codes and factors are drawn from."""
        return self.rows, self.codes, self.factors, self.levels, self.noise


CASES = {
    "clean": Case(rows=10_000, codes=10, factors=5, levels=10, noise=0.1, goal_seconds=8),
    "noisy": Case(rows=10_000, codes=10, factors=5, levels=10, noise=1.0, goal_seconds=12),
    "binary": Case(rows=5_000, codes=128, factors=10, levels=2, noise=1.0, goal_seconds=15),
    "wide": Case(rows=10_000, codes=768, factors=20, levels=10, noise=1.0, goal_seconds=90, goal_mib=3 * 1024),
    "widest": Case(rows=50_000, codes=4096, factors=40, levels=2, noise=1.0, goal_seconds=1200, goal_mib=10 * 1024),
}
TINY = {"tiny": Case(rows=200, codes=6, factors=2, levels=3, noise=1.0, goal_seconds=60)}
#: Trees of a forest of the baseline, which is fitted for three factors.
BASELINE_TREES, BASELINE_FACTORS = 50, 3


def known_among_noise(rows: int, codes: int, factors: int, levels: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Codes of one factor each, in units of its deviation, and codes of noise."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, levels, (rows, factors))
    z = noise * rng.standard_normal((rows, codes))
    z[:, :factors] += (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)
    return z, drawn


def run_panel(codes: np.ndarray, factors: np.ndarray) -> None:
    ub.evaluate(codes, factors)


def run_forests(codes: np.ndarray, factors: np.ndarray) -> None:
    """Forests of scikit-learn for a few factors, as published code fits them."""
    from sklearn.ensemble import RandomForestClassifier

    for v in factors.T[:BASELINE_FACTORS]:
        RandomForestClassifier(BASELINE_TREES, n_jobs=1, random_state=0).fit(codes, v)


def expected_seconds(case: Case) -> float:
    """The estimate that the panel prints before it starts."""
    size = InputSize(n_rows=case.rows, n_codes=case.codes, n_factors=case.factors, n_levels=case.levels)
    few_rows = ub.Representation(*known_among_noise(50, *case.shape[1:]))  # what is gathered depends on the width alone
    plans = plan_evidence(resolve_metrics("default"), {}, {}, few_rows)
    return panel_seconds(size, plans, n_jobs=usable_cores(), intervals=True, nulls=True)


def cpu_by_kind(case: Case) -> dict[str, dict[str, float]]:
    """CPU seconds of each kind of evidence on one thread: gathered once, its replicates, and its nulls."""
    spent: dict[str, dict[str, float]] = {}

    def timed(role: str) -> Callable[..., Any]:
        work = getattr(evaluation, f"_{role}")

        def timed_work(plan: Any, *rest: Any) -> Any:
            started = time.thread_time()
            found = work(plan, *rest)
            of_kind = spent.setdefault(plan.source.name, {})
            of_kind[role] = of_kind.get(role, 0.0) + time.thread_time() - started
            return found

        return timed_work

    run_panel(*known_among_noise(300, *case.shape[1:]))  # imports and caches are not what is timed
    roles = ("point", "resample", "replicate", "null")
    with ExitStack() as stack:
        for role in roles:
            stack.enter_context(mock.patch.object(evaluation, f"_{role}", timed(role)))
        spent.clear()
        ub.evaluate(*known_among_noise(*case.shape), n_jobs=1)
    return dict(sorted(spent.items(), key=lambda one: -sum(one[1].values())))


def print_kinds(name: str, case: Case) -> None:
    """Print CPU seconds, the dearest kind first."""
    found = cpu_by_kind(case)
    print(f"{name:8s}{sum(sum(one.values()) for one in found.values()):8.1f} CPU s in all", flush=True)
    for kind, spent in found.items():
        roles = "  ".join(f"{role} {seconds:.2f}" for role, seconds in spent.items())
        print(f"  {kind:18s}{sum(spent.values()):8.1f}  {roles}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--only", default="", help="cases, separated by commas")
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--kinds", action="store_true", help="CPU seconds of each kind of evidence")
    given = parse(parser, __file__, arguments, only="")
    results: dict[str, object] = {}
    for name, case in (TINY if given.tiny else CASES).items():
        if given.only and name not in given.only.split(","):
            continue
        if given.kinds:
            print_kinds(name, case)
            continue
        about = expected_seconds(case)
        if about > given.limit:
            results[name] = {"case": asdict(case), "expected_seconds": about}
            print(f"{name:8s} not run, about {about:.0f} s", flush=True)
            continue
        panel = measure(run_panel, known_among_noise, case.shape, here=given.tiny)
        forests = measure(run_forests, known_among_noise, case.shape, here=given.tiny)
        results[name] = {"case": asdict(case), "panel": asdict(panel), "forests": asdict(forests), "expected": about}
        print(
            f"{name:8s}{panel.seconds:8.1f} s (goal {case.goal_seconds:g}, estimate {about:.0f})"
            f"{panel.peak_mib:8.0f} MiB  {panel.seconds / forests.seconds:6.1f} times the forests",
            flush=True,
        )
    if given.output is not None and not given.kinds:
        kept = json.loads(given.output.read_text())["results"] if given.only and given.output.exists() else {}
        keep(given.output, {"machine": machine(), "results": kept | results})


if __name__ == "__main__":
    main()
