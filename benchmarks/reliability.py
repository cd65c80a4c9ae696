"""Noise of every score on fixed codes and on other draws, and whether it follows a training run, in one table by use.

    python benchmarks/reliability.py                        # all metrics; about ten minutes of one core
    python benchmarks/reliability.py --metrics mig,unibound # some, the others in the file kept
    python benchmarks/reliability.py --page docs/audit.md   # the table from the kept numbers, and no more

Every family is measured by ``unbraid.audit.reliability`` with its defaults, in a process of its own. The table adds the
share of the audit's cases that a score passes, from the score card of the same page.
"""

import json
import os
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from measure import fill_in, keep, machine, options, parse
from unbraid import audit
from unbraid._base.workers import usable_cores
from unbraid.metrics import METRICS

FAMILIES = list(dict.fromkeys(metric.family for metric in METRICS.values()))
#: Uses, scores for each, and what to know before.
USES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "each code one factor",
        (
            ("z1", "asks for some code of each factor, not for all codes"),
            ("z2", ""),
            ("mig_sup", "counts codes of noise as failures"),
            ("modularity", "high for mixed codes already, and so hardly moves"),
            ("infomec.modularity", "reads one code and factor at a time"),
            ("med", "reads one code and factor at a time"),
            ("dci_linear.disentanglement", "lines only"),
            ("dci_forest.disentanglement", "slow; random trees"),
            ("dci_boosting.disentanglement", "slow"),
            ("dci_es.disentanglement", "slow"),
            ("z_diff", "reaches 1 long before the codes are separated"),
            ("z_min_var", "reaches 1 long before the codes are separated"),
        ),
    ),
    (
        "each factor one code",
        (
            ("mig", "sees one other code at a time; for several together, `unibound`"),
            ("jemmig", "as `mig`"),
            ("dcimig", "as `mig`"),
            ("sap", "lines only"),
            ("infomec.compactness", "reads one code and factor at a time"),
            ("unibound", "slow; the one that sees several codes together"),
            ("dci_linear.completeness", "lines only"),
            ("dci_forest.completeness", "slow; random trees"),
            ("dci_boosting.completeness", "slow"),
            ("dci_es.completeness", "slow"),
        ),
    ),
    (
        "matched one to one",
        (
            ("mcc", "lines only"),
            ("amari", "lines only"),
            ("t_mex", "a count: exact for perfect codes, and blind to degrees of mixing"),
        ),
    ),
    (
        "factors predicted",
        (
            ("r2", "lines, and forgives rotation"),
            ("explicitness", "lines; chance is 0.5"),
            ("infomec.explicitness", "lines"),
            ("dci_linear.informativeness", "lines"),
            ("dci_forest.informativeness", "slow"),
            ("dci_boosting.informativeness", "slow"),
            ("dci_es.informativeness", "slow"),
            ("dci_es.explicitness", "slow; how small a probe is enough: high for noise too, so that it follows no run"),
            ("dci_es.size", "codes against factors, no property of the codes' contents"),
        ),
    ),
    (
        "concepts, values and categories",
        (
            ("best_single", "one code; chance is 0.5"),
            ("sparse_probe", "a few codes; chance is 0.5"),
            ("one_vs_rest", "a value against the rest, one code at a time"),
        ),
    ),
    (
        "interventions",
        (
            ("irs", "noise codes of large range"),
            ("omes", "needs rows that differ in one factor alone; chance is well above 0"),
            ("z_max_var", "draws votes; noise codes win them"),
        ),
    ),
    (
        "blocks of codes",
        (
            ("blocks", "here each code is a block"),
            ("blocks.own", "here each code is a block"),
            ("blocks.leakage", "codes that know nothing leak nothing: read it beside `blocks.own`"),
        ),
    ),
    (
        "directions and subspaces",
        (
            ("iwo", "forgives rotation"),
            ("iwr", "forgives rotation"),
            ("orthogonality", "forgives rotation"),
        ),
    ),
    (
        "shape of traversals",
        (
            ("flatness", "chance is well above 0; scale decides"),
            ("linearity.linear_ratio", "forgives rotation"),
            ("linearity.axis_ratio", "scale decides"),
            ("linearity.axis_alignment", "half its range is chance"),
            ("distances.rank", "forgives rotation; no score for two values"),
            ("distances.linear", "forgives rotation; no score for two values"),
            ("distances.order", "forgives rotation; chance is 0.5"),
        ),
    ),
    ("angles", (("d_lsbd", "declared circular factors only"),)),
    (
        "dependent factors",
        (
            ("dependent.modularity", "slow"),
            ("dependent.compactness", "slow"),
            ("dependent.explicitness", "slow"),
            ("dependent.minimality", "slow"),
            ("dependent.sufficiency", "slow"),
        ),
    ),
    (
        "fairness and leakage",
        (
            ("fairness.parity", "of one target and one sensitive factor; low where nothing is predicted"),
            ("fairness.odds", "low where nothing is predicted"),
            ("fairness.leakage_linear", "a gap of accuracy"),
            ("fairness.leakage_forest", "a gap of accuracy"),
        ),
    ),
    (
        "no labels: dependence of codes",
        (
            ("total_correlation", "noise makes codes independent too: a model that gets noisier looks better"),
            ("code_mutual_information", "the same"),
            ("wasserstein_correlation", "the same"),
        ),
    ),
    (
        "no labels: directions in use",
        (
            ("rankme", "noise uses all directions; no property of single codes"),
            ("effective_rank", "the same"),
            ("stable_rank", "the same"),
            ("participation_ratio", "the same"),
            ("alpha_req", "the same"),
        ),
    ),
)


def measured(family: str, n_rows: int) -> dict[str, dict[str, float]]:
    """Reliability of the scores of one family."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit.reliability(family, n_rows=n_rows, n_jobs=1, progress=False)
    return {str(name): {key: float(value) for key, value in row.items()} for name, row in found.iterrows()}


def passed(page: Path) -> dict[str, str]:
    """Cases that each score passes, as the score card of the page has them."""
    rows = re.findall(r"^\| `([^`]+)` \| [^|]* \| (\d+ of \d+) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)


def table(kept: dict[str, dict[str, float]], cases: dict[str, str]) -> str:
    """Return the table by use."""
    lines = [
        "| Use | Score | Cases passed | Reseed | Redraw | Along the run | Told apart | To know before |",
        "|---" * 8 + "|",
    ]
    for use, scores in USES:
        for name, before in scores:
            found = kept.get(name)
            numbers = [_number(found[key], digits) for key, digits in COLUMNS] if found else ["not measured", *3 * [""]]
            lines.append(f"| {use} | `{name}` | {cases.get(name, '')} | {' | '.join(numbers)} | {before} |")
            use = ""
    return "\n".join(lines)


COLUMNS = (("reseed", 3), ("redraw", 3), ("along_run", 2), ("told_apart", 1))


def _number(value: float, digits: int) -> str:
    return "no score" if not np.isfinite(value) else f"{value:.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = options(__doc__, __file__)
    parser.add_argument("--metrics", default=",".join(FAMILIES), help="families, with commas between them")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--page", type=Path, help="a docs page to put the table of the kept numbers into, and no more")
    given = parse(parser, __file__, arguments, metrics="mig", rows=200, jobs=1)
    if given.page is not None:
        kept = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["scores"]
        fill_in(given.page, "reliability", table(kept, passed(given.page)))
        print(f"wrote the table into {given.page}")
        return
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for one in as_completed([pool.submit(measured, name, given.rows) for name in given.metrics.split(",")]):
            for name, numbers in one.result().items():
                print(f"{name:32s}" + "".join(f"{key} {value:8.3f}  " for key, value in numbers.items()), flush=True)
            found |= one.result()
            if given.output is not None:
                old = json.loads(given.output.read_text(encoding="utf-8"))["scores"] if given.output.exists() else {}
                keep(given.output, {"machine": machine(), "scores": old | found})


if __name__ == "__main__":
    main()
