"""Representations of more rows than memory holds: blocks surveyed and counted by jobs, anywhere and in any order."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import AnyArray, IntArray
from unbraid._base.checks import active_codes, check_active, check_at_least, check_shape
from unbraid._base.files import temporary_folder, write_atomically
from unbraid._base.progress import Progress, Show, track
from unbraid.evidence.information import Binning, check_binning
from unbraid.evidence.rows.blocks import (
    BlockCounts,
    CountingRule,
    Survey,
    count_block,
    counting_rule,
    merge_counted,
    merge_surveys,
    merge_tree,
    survey_block,
)
from unbraid.evidence.rows.whole import Whole
from unbraid.representation.factor import MAX_LEVELS, Factor, make_factor
from unbraid.representation.row_blocks import Block, BlockPlan, BlockTable, plan_blocks
from unbraid.representation.sampled import SampledRepresentation

#: Rows of the sample that probes are fitted to.
SAMPLE_ROWS = 100_000
#: Name of the file that says which work a folder is for.
KEY_FILE = "work.txt"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockJob:
    """One block to survey or to count; its result is a file whose name depends on the block alone.

    Attributes:
        folder: Where results are kept.
        table: Where codes and factors stand.
        block: Which block.
        rule: Rule to count by; ``None`` to survey.
        sampled: Numbers of the sampled rows of the block, to survey.
    """

    folder: str
    table: BlockTable
    block: Block
    rule: CountingRule | None
    sampled: IntArray

    @property
    def kind(self) -> str:
        """Kind of the job."""
        return "survey" if self.rule is None else "count"

    @property
    def key(self) -> str:
        """Identity of the job."""
        return f"{self.kind}-{self.block.index:06d}"

    @property
    def label(self) -> str:
        """A few words for people."""
        return f"{self.kind} block {self.block.index}"

    @property
    def gpus(self) -> float:
        """GPUs it holds."""
        return 0.0

    @property
    def may_race(self) -> bool:
        """Whether a second copy may be started: both write the same file."""
        return True

    @property
    def path(self) -> Path:
        """Where its result is kept."""
        return Path(self.folder) / f"{self.key}.npz"

    def run(self) -> None:
        """Do it, unless it is done."""
        if self.path.exists():
            return
        found: Survey | BlockCounts
        with threadpool_limits(1):
            if self.rule is None:
                found = survey_block(self.table, self.block, self.sampled)
            else:
                found = count_block(self.table, self.block, self.rule)
        arrays = found.to_arrays()
        write_atomically(self.path, lambda file: np.savez(file, allow_pickle=False, **arrays))


class Runner(Protocol):
    """Runs jobs somewhere, as the engines of studies do."""

    def submit(self, job: Any) -> None:
        """Queue a job."""
        ...

    def wait(self) -> Any:
        """Return the next job that ends, with ``error``."""
        ...


def scan(
    path: str | Path,
    factors: str | Path | None = None,
    *,
    codes: str | None = None,
    code_columns: str | Sequence[str] = "code_*",
    factor_columns: str | Sequence[str] = "factor_*",
    kinds: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    n_bins: int = 20,
    binning: Binning = "robust",
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
    work: str | Path | None = None,
    engine: Runner | None = None,
    progress: Show = None,
) -> SampledRepresentation:
    """Gather from all rows of files what can be merged, and a sample of rows for the rest.

    Two passes over the blocks: one for the ranges, the values of factors and the sample, by which bins are fixed; one
    for counts and sums. The result depends on the files, the options and the seed, and on no number of workers.

    Args:
        path: ``.parquet``, ``.arrow``, ``.npy`` or ``.zarr``, or a pattern or folder of the first two.
        factors: Labels of an ``.npy`` file, as a second ``.npy`` file.
        codes: Name of the array of codes in a ``.zarr`` group.
        code_columns: Which columns of a table are codes.
        factor_columns: Which are factors.
        kinds: Factor kinds by name.
        only: Names of the factors to keep.
        n_bins: Bins of each code.
        binning: Binning method; but for ``"uniform"``, bins are fixed by the sample.
        sample: Rows of the sample.
        seed: Same seed, same sample.
        work: Folder that keeps the evidence of every block; started again with it, only the missing blocks are read.
            By default a folder that is removed at the end.
        engine: Runs the jobs; this process by default.
        progress: As for :func:`~unbraid.evaluate`.

    Raises:
        ValueError: A file is damaged or does not fit the others, or ``work`` belongs to other files or options.
    """
    check_binning(n_bins, binning)
    check_at_least("sample", sample, 100)
    columns = {"code_columns": code_columns, "factor_columns": factor_columns}
    plan = plan_blocks(path, factors, codes=codes, **columns, kinds=kinds, only=only)
    check_shape(plan.n_rows, plan.table.n_codes)
    rows = _sampled_rows(plan.n_rows, sample, seed)
    key = plan.digest(kinds=kinds, n_bins=n_bins, binning=binning, sample=sample, seed=seed)
    with _folder(work, key) as folder, track(2 * len(plan.blocks), progress, doing="reading blocks") as bar:
        survey = _surveyed(plan, folder, rows, engine, bar)
        sampled_codes = np.ascontiguousarray(survey.codes, dtype=np.float64)
        found = _factors(plan, survey, kinds or {})
        rule = counting_rule(survey, sampled_codes, found, n_bins, binning)
        jobs = _jobs(plan, folder, rule, rows)
        _run(jobs, engine, bar)
        counted = merge_tree([BlockCounts.from_arrays(_arrays(job.path)) for job in jobs], merge_counted)
    return SampledRepresentation(
        sampled_codes,
        found,
        code_names=plan.table.code_names,
        active=check_active(active_codes(np.stack([survey.low, survey.high]))),
        n_all=plan.n_rows,
        whole=Whole(rule=rule, counted=counted),
    )


def _sampled_rows(n_rows: int, sample: int, seed: int) -> IntArray:
    """Draw rows without replacement, in order; all of them where they are few."""
    if n_rows <= sample:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, zlib.crc32(b"sample of rows")])
    return np.sort(rng.choice(n_rows, size=sample, replace=False, shuffle=False))


@contextmanager
def _folder(work: str | Path | None, key: str) -> Iterator[Path]:
    """Open the folder of results, a temporary one by default; raise where it belongs to other work."""
    if work is None:
        with temporary_folder() as made:
            yield made
        return
    folder = Path(work)
    known = folder / KEY_FILE
    if known.exists() and known.read_text(encoding="utf-8").strip() != key:
        raise ValueError(
            f"work {str(folder)!r} holds blocks of other files, columns or options; give another folder, or remove it."
        )
    if folder.exists() and not known.exists() and any(folder.iterdir()):
        raise ValueError(f"work {str(folder)!r} must be a new or empty folder, or that of the same work, got others.")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(known, lambda file: file.write(f"{key}\n".encode()))
    yield folder


def _jobs(plan: BlockPlan, folder: Path, rule: CountingRule | None, rows: IntArray) -> list[BlockJob]:
    jobs = []
    for block in plan.blocks:
        first, last = np.searchsorted(rows, [block.first_row, block.first_row + block.n_rows])
        own = rows[first:last] if rule is None else rows[:0]
        jobs.append(BlockJob(folder=str(folder), table=plan.table, block=block, rule=rule, sampled=own))
    return jobs


def _run(jobs: Sequence[BlockJob], engine: Runner | None, bar: Progress) -> None:
    """Run the jobs whose results are not there; raise with the reason of the first that fails."""
    missing = [job for job in jobs if not job.path.exists()]
    for _ in range(len(jobs) - len(missing)):
        bar.advance()
    if engine is None:
        for job in missing:
            job.run()
            bar.advance()
        return
    for job in missing:
        engine.submit(job)
    for _ in missing:
        ended = engine.wait()
        if ended.error is not None:
            raise ValueError(ended.error)
        bar.advance()


def _surveyed(plan: BlockPlan, folder: Path, rows: IntArray, engine: Runner | None, bar: Progress) -> Survey:
    jobs = _jobs(plan, folder, None, rows)
    _run(jobs, engine, bar)
    return merge_tree([Survey.from_arrays(_arrays(job.path)) for job in jobs], merge_surveys)


def _arrays(path: Path) -> dict[str, AnyArray]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _factors(plan: BlockPlan, survey: Survey, kinds: Mapping[str, str]) -> tuple[Factor, ...]:
    """Make the factors of the sample, with the kinds and levels that all rows have."""
    names = plan.table.factor_names
    for name in kinds:
        if name not in names:
            raise ValueError(f"kinds names factor {name!r}, which is not one of {', '.join(names)}.")
    made = []
    for name, labels, distinct in zip(names, survey.labels, survey.distinct, strict=True):
        kind, is_number = kinds.get(name), labels.dtype.kind == "f"
        if distinct is None and not is_number:
            raise ValueError(f"factor {name!r} is categorical but takes more than 1000 values; group its labels.")
        if is_number and kind is None and (distinct is None or len(distinct) > MAX_LEVELS):
            kind = "continuous"
        # With the values that the sample lacks below it, the levels are those of all rows.
        whole = labels if distinct is None else np.concatenate([labels, np.setdiff1d(distinct, labels)])
        column = pd.Series(whole) if is_number else pd.Series(whole, dtype=object).replace("", None)
        factor = make_factor(column, name=name, kind=kind)
        made.append(replace(factor.take(np.arange(len(labels))), inferred=name not in kinds))
    return tuple(made)
