"""Files of the command line that are read in blocks, and the engine that reads them."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from unbraid._base.checks import check_at_least
from unbraid._base.progress import bar_or_lines
from unbraid._base.workers import usable_cores
from unbraid.evidence.information import Binning
from unbraid.panel.rows import scan
from unbraid.representation.representation import Representation
from unbraid.representation.row_blocks import can_be_blocks

EngineName = Literal["local", "ray"]


def read_in_blocks(
    path: Path,
    factors: str | None,
    *,
    engine: EngineName | None,
    address: str | None,
    work: Path | None,
    sample: int,
    jobs: int | None,
    codes: str | None,
    code_columns: str,
    factor_columns: str,
    kinds: Mapping[str, str] | None,
    only: list[str] | None,
    n_bins: int,
    binning: Binning,
    seed: int,
) -> Representation:
    """Read a file in blocks, by as many processes as there are jobs, or on a Ray cluster.

    Raises:
        ValueError: Files of this kind are not read in blocks, or an address is given to another engine.
    """
    from unbraid.study.engines import make_engine

    if address is not None and engine != "ray":
        raise ValueError(f"address {address!r} is of no use without --engine ray.")
    if not can_be_blocks(path):
        raise ValueError(
            f"path {str(path)!r} is not read in blocks, which .parquet, .arrow, .npy and .zarr are; leave --engine, "
            "--address and --work out."
        )
    workers = usable_cores() if jobs is None else jobs
    check_at_least("jobs", workers, 1)
    with ExitStack() as stack:
        running: Any = None
        if engine is not None or workers > 1:
            running = stack.enter_context(make_engine(engine or "local", workers=workers, address=address))
        return scan(
            path,
            factors,
            codes=codes,
            code_columns=code_columns,
            factor_columns=factor_columns,
            kinds=kinds,
            only=only,
            n_bins=n_bins,
            binning=binning,
            sample=sample,
            seed=seed,
            work=work,
            engine=running,
            progress=bar_or_lines(),
        )
