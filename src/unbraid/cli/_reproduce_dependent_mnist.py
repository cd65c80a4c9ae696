"""``unbraid reproduce dependent-mnist``."""

import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unbraid._base.files import write_text
from unbraid.cli._io import check_writable, json_file
from unbraid.cli._reproduce_report import write_report
from unbraid.cli._table import print_rows
from unbraid.reproduce import DependentMnist, LineResult, dependent_mnist


def run_dependent_mnist(
    *,
    data: Path | None = None,
    seeds: int = 1,
    steps: int | None = None,
    beta: float = 100.0,
    quick: bool = False,
    device: Literal["cpu", "cuda"] = "cpu",
    picture: Path = Path("dependent-mnist.svg"),
    report: Path | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Reproduce Experiment II of the paper on dependent factors (arXiv:2408.07016): coloured digits and a VAE.

    Digits 0 to 3 are coloured red or green on black or white, with probabilities that depend on the digit. A VAE whose
    prior depends on the factors puts each of them in a code of its own. Then the metrics of Tables 6 to 8 and
    the linear read-outs of Section 6 are measured on held-out digits, and digits are generated with each factor set on
    its own (Fig. 1), written as a picture. Needs torch.

    Examples:
        unbraid reproduce dependent-mnist --quick

        unbraid reproduce dependent-mnist --data mnist --seeds 3 --json out.json

    Parameters
    ----------
    data
        An MNIST folder in IDX format, compressed or not: `train-images-idx3-ubyte` and
        `train-labels-idx1-ubyte`, or the same with `t10k`, or all four. Without it, scikit-learn's 8 × 8 digits.
    seeds
        Runs, with seeds 0, 1, ...; each draws colours and held-out digits, and trains, afresh.
    steps
        Training steps of 128 digits; 2000 by default, 800 with `--quick`.
    beta
        Weight of the divergence from the prior, which the paper does not state: at 100 the read-out errors of the
        colours are the paper's, at 10 the codes past the first three hold the style of the digit.
    quick
        A network half as wide with 16 codes in place of 64, trained for fewer steps.
    device
        Where to train.
    picture
        Where to write the generated digits, as SVG.
    report
        Write ours beside the paper's, and which numbers agree, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    target = json_file(json)
    check_writable("picture", picture)
    for argument, path in (("json", target), ("report", report)):
        if path is not None:
            check_writable(argument, path)
    result = dependent_mnist(data, n_seeds=seeds, n_steps=steps, beta=beta, quick=quick, device=device)
    if json == "-":
        print(result.to_json())
    else:
        _print_tables(result)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    if target is not None:
        result.to_json(target)
        print(f"wrote {target}", file=sys.stderr)
    if report is not None:
        print(f"wrote {write_report('dependent-mnist', result, report)}", file=sys.stderr)
    write_text(picture, result.picture)
    print(f"wrote {picture}", file=sys.stderr)


def _print_tables(result: DependentMnist) -> None:
    print_rows(["where", "paper's name", "metric", "ours", "paper"], [_cells(line) for line in result.results])
    print()
    shared = groupby(result.results, key=lambda line: line.line.settings)
    rows = [[", ".join(line.line.name for line in lines), settings] for settings, lines in shared]
    print_rows(["metric", "settings"], rows, wrap=("metric", "settings"))


def _cells(result: LineResult) -> list[str]:
    line, spread = result.line, result.spread
    form = ".2e" if 0 < result.mean < 0.01 else ".4f"  # four decimals would hide small errors
    ours = f"{result.mean:{form}}" + ("" if spread is None else f" ± {spread:{form}}")
    published = "" if line.published is None else f"{line.published:{form}}"
    return [line.where, line.label, line.name, ours, published]
