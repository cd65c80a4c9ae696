"""Table 1 and Figure 1 of DCI-ES: scores of codes made from labels, by networks and forests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from threadpoolctl import threadpool_limits

from unbraid._base.checks import check_at_least, check_choice
from unbraid._base.progress import Show, track
from unbraid.comparison.result import compare
from unbraid.data.synthetic import LabelCodes, best_noisy_predictions, mpi3d_labels
from unbraid.panel.evaluation import evaluate
from unbraid.probes.capacity import ForestLadder, Ladder, MLPLadder
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.result import DrawnResult, Number, Row, Table
from unbraid.results.report import Report

Probes = Literal["mlp", "forest"]
SCORES = ("disentanglement", "completeness", "informativeness", "explicitness", "size")
QUICK: dict[str, Any] = {"n_samples": (3000,), "n_seeds": 1, "widths": (2, 8, 32), "n_trees": 30}
TITLES: dict[LabelCodes, str] = {"labels": "GT labels", "noisy": "noisy labels", "mix": "uniform mix"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One row of the published table.

    Attributes:
        codes: The representation.
        probes: The ladder.
        published: Scores by the names in ``SCORES``; empty where the paper gives the oracle's only.
        oracle: What a perfect probe would score on the ideal representation.
    """

    codes: LabelCodes
    probes: Probes
    published: dict[str, float]
    oracle: dict[str, float]

    @property
    def title(self) -> str:
        """Representation and probe."""
        return f"{TITLES[self.codes]}, {self.probes}"


def _row(codes: LabelCodes, probes: Probes, published: Sequence[float], oracle: Sequence[float]) -> PublishedRow:
    return PublishedRow(
        codes=codes,
        probes=probes,
        published=dict(zip(SCORES, published, strict=False)),
        oracle=dict(zip(SCORES, map(float, oracle), strict=True)),
    )


# Columns: D, C, I, E, S, as printed in Table 1 of arXiv:2210.00364 (means of 3 seeds, deviations below 0.02), then the
# oracle's. The paper prints the oracle's I of noisy labels as 0.9; here it is computed from the noise. Its D and C of
# the uniform mix are those of equal weights, which the random part of the mixing matrix moves away from.
_NOISY = float(best_noisy_predictions().mean())
DCI_ES_TABLE1: tuple[PublishedRow, ...] = (
    _row("labels", "mlp", (), (1, 1, 1, 1, 1)),
    _row("labels", "forest", (), (1, 1, 1, 1, 1)),
    _row("noisy", "mlp", (0.97, 0.97, 0.89, 0.99, 1.0), (1, 1, _NOISY, 1, 1)),
    _row("noisy", "forest", (0.75, 0.76, 0.89, 0.98, 1.0), (1, 1, _NOISY, 1, 1)),
    _row("mix", "mlp", (0.13, 0.22, 1.0, 1.0, 1.0), (0, 0, 1, 1, 1)),
    _row("mix", "forest", (0.17, 0.21, 1.0, 0.72, 1.0), (0, 0, 1, 1, 1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Our scores for one row of the table at one number of samples.

    Attributes:
        codes: The representation.
        probes: The ladder.
        n_samples: Rows of the grid.
        scores: The numbers, by the names in ``SCORES``; their truth is the oracle's score.
        seconds: Time it took, all seeds together.
    """

    codes: LabelCodes
    probes: Probes
    n_samples: int
    scores: dict[str, Number]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ESTable(DrawnResult):
    """Ours beside the paper's and the oracle's.

    Attributes:
        rows: One for each representation, ladder and number of samples.
        n_seeds: Seeds of each row: 0, 1, ...
        drawing: Reports of the first seed at the largest number of samples, by representation and ladder.
    """

    rows: tuple[ProbeResult, ...]
    n_seeds: int

    @property
    def sizes(self) -> Sequence[int]:
        """Numbers of samples, smallest first."""
        return sorted({row.n_samples for row in self.rows})

    @property
    def notes(self) -> Sequence[str]:
        """Deviations from the published setup."""
        sizes = ", ".join(f"{n:,}" for n in self.sizes)
        return (
            f"Rows of the grid used here: {sizes}, 60 % to fit on; the paper fits on 295,000.",
            "Settings of the published experiments: 1 - R² or 1 - accuracy, importances of the probe that does best, "
            "forests with scikit-learn's defaults. The mixing matrix is drawn afresh for each seed.",
        )

    def tables(self) -> Sequence[Table]:
        """Return ours with the paper's in brackets, then the oracle's."""
        letters = [score[0].upper() for score in SCORES]
        ours: list[Row] = [
            [TITLES[row.codes], row.probes, f"{row.n_samples:,}", *(row.scores[score] for score in SCORES)]
            for row in self.rows
        ]
        oracle = {row.codes: [f"{row.scores[score].truth:.3g}" for score in SCORES] for row in self.rows}
        return [
            Table(header=["ours (paper's)", "probe", "rows", *letters], rows=ours, compact=True),
            Table(header=["best possible", *letters], rows=[[TITLES[codes], *best] for codes, best in oracle.items()]),
        ]

    def draw(self, path: str | Path) -> Path:
        """Write the loss–capacity curves of the first seed, all representations in one chart, as one page."""
        return compare(self.needed_drawing()).to_html(path)


def dci_es_table1(
    *,
    codes: Iterable[str] = get_args(LabelCodes),
    probes: Iterable[str] = get_args(Probes),
    n_samples: Iterable[int] = (20_000,),
    n_seeds: int = 3,
    widths: tuple[int, ...] = MLPLadder().widths,
    n_trees: int = 100,
    progress: Show = None,
) -> ESTable:
    """Reproduce the rows of Table 1 of DCI-ES (arXiv:2210.00364) that need no images.

    Codes are made from the labels of MPI3D's grid of seven factors: the labels themselves, labels with noise, and an
    invertible linear mix of all labels. Networks of growing width and forests of growing depth predict the factors
    from the codes. The table shows our mean and standard deviation over seeds beside the paper's value; under it stand
    the scores of a perfect probe.

    Args:
        codes: Representations: ``labels``, ``noisy``, ``mix``.
        probes: Ladders: ``mlp`` (needs torch), ``forest``.
        n_samples: Rows of the grid; several numbers show whether the scores have settled. The paper fits on 295,000 of
            1,036,800 rows, we on 60 % of these.
        n_seeds: Runs of each row, with seeds 0, 1, ...; rows, noise and mixing matrix are drawn afresh.
        widths: Widths of the networks, in multiples of seven.
        n_trees: Trees of each forest.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Returns:
        Ours beside the paper's and the oracle's.

    Raises:
        ValueError: An unknown representation or probe, or fewer than one seed.
    """
    check_at_least("n_seeds", n_seeds, 1)
    chosen = _chosen(list(codes), list(probes))
    sizes = list(n_samples)
    ladders: dict[Probes, Ladder] = {
        "mlp": MLPLadder(widths=widths),
        "forest": ForestLadder(n_trees=n_trees, codes_tried="scikit-learn"),
    }
    rows: list[ProbeResult] = []
    first: dict[str, Report] = {}
    with threadpool_limits(1), track(len(chosen) * len(sizes) * n_seeds, progress, doing="probing") as bar:
        for row in chosen:
            for size in sizes:
                started, reports = time.perf_counter(), []
                for seed in range(n_seeds):
                    reports.append(_run_once(row, ladders[row.probes], size, seed))
                    bar.advance()
                seconds = time.perf_counter() - started
                rows.append(_probe_result(row, size, reports, seconds))
                if size == max(sizes):
                    first[row.title] = reports[0]
    return ESTable(rows=tuple(rows), n_seeds=n_seeds, drawing=first)


def _probe_result(row: PublishedRow, n_samples: int, reports: Sequence[Report], seconds: float) -> ProbeResult:
    numbers = {
        score: Number.over_seeds(
            [report[f"dci_es.{score}"].value for report in reports],
            paper=row.published.get(score),
            truth=row.oracle[score],
        )
        for score in SCORES
    }
    return ProbeResult(
        codes=row.codes, probes=row.probes, n_samples=n_samples, scores=numbers, seconds=round(seconds, 3)
    )


def _run_once(row: PublishedRow, ladder: Ladder, n_samples: int, seed: int) -> Report:
    report = evaluate(
        mpi3d_labels(row.codes, n_samples=n_samples, seed=seed),
        metrics="dci_es",
        seed=seed,
        options={"dci_es": {"ladder": ladder, "probe": "best"}},
        nulls=False,
        progress=False,
        name=row.title,
    )
    if report.failures:
        raise ValueError(next(iter(report.failures.values())))
    return report


def _chosen(codes: list[str], probes: list[str]) -> list[PublishedRow]:
    for value in codes:
        check_choice("codes", value, get_args(LabelCodes))
    for value in probes:
        check_choice("probes", value, get_args(Probes))
    found = [row for row in DCI_ES_TABLE1 if row.codes in codes and row.probes in probes]
    if not found:
        raise ValueError("codes and probes must each name at least one, got none.")
    return found


TOLERANCE = 0.03
REASONS: dict[Probes, str] = {
    "mlp": "Networks fitted on few rows do not predict every factor perfectly, and D and C of a mix depend on its "
    "matrix, which is drawn at random.",
    "forest": "D and C of a forest depend on its depth and on the rows it is fitted on, and among depths of nearly the "
    "same accuracy it is chance which one is chosen; no forest reaches the oracle's 1, since its trees give some "
    "importance to codes that do not matter. Forests also need many rows to predict factors from a mix: the paper fits "
    "on 295,000, and our scores approach the paper's as rows are added.",
}
PART_TITLES: dict[Probes, str] = {"mlp": "networks", "forest": "forests"}


def dci_es_checks(result: ESTable) -> Sequence[Part]:
    """Compare the scores of networks and of forests; the oracle's stand in where the paper prints no others."""
    return [
        Part(where=f"Table 1, {PART_TITLES[probes]}", checks=checks, reason=REASONS[probes])
        for probes in PART_TITLES
        if (checks := _checks(result, probes))
    ]


def _checks(result: ESTable, probes: Probes) -> list[Check]:
    return [
        Check.of(
            f"{TITLES[row.codes]}, {score}" + (f", {row.n_samples:,} rows" if len(result.sizes) > 1 else ""),
            number,
            tolerance=TOLERANCE,
        )
        for row in result.rows
        if row.probes == probes
        for score, number in row.scores.items()
    ]
