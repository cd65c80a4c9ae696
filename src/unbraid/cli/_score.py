"""``unbraid score`` and ``unbraid demo``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from unbraid._base.checks import check_at_least
from unbraid._base.memory import TooMuchMemoryError
from unbraid._base.progress import bar_or_lines
from unbraid._base.workers import usable_cores
from unbraid.cli._io import (
    check_outputs,
    check_pair,
    check_writable,
    distinct_names,
    json_file,
    read_all,
    read_groups,
    read_pairs,
    read_shape,
    say,
)
from unbraid.cli._table import print_comparison, print_report
from unbraid.comparison.result import Comparison, compare
from unbraid.data import example
from unbraid.evidence.information import Binning
from unbraid.panel.evaluation import evaluate
from unbraid.panel.plan import resolve_metrics
from unbraid.panel.rows import SAMPLE_ROWS, scan
from unbraid.representation.blocks import check_blocks
from unbraid.representation.files import load
from unbraid.representation.formats.anndata import OBS
from unbraid.representation.representation import Representation
from unbraid.representation.row_blocks import can_be_blocks
from unbraid.representation.sampled import SampledRepresentation
from unbraid.results.finding import FactorStrips
from unbraid.results.report import Report

if TYPE_CHECKING:
    from unbraid.explorer.scoring import LiveScores
EngineName = Literal["local", "ray"]


def score(
    file: Path,
    *others: Path,
    factors: str | None = None,
    codes: str | None = None,
    metrics: Annotated[str, Parameter(name=["--metrics", "--preset"])] = "default",
    only: str | None = None,
    kinds: str | None = None,
    join: str | None = None,
    blocks: str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    bins: int = 20,
    binning: Binning = "robust",
    option: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    intervals: bool = True,
    nulls: bool = True,
    memory: str | None = None,
    time: str | None = None,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    csv: Path | None = None,
    report: Path | None = None,
    decoder: str | None = None,
    image: str | None = None,
    code_columns: str = "code_*",
    factor_columns: str = "factor_*",
    engine: EngineName | None = None,
    address: str | None = None,
    work: Path | None = None,
    sample: int | None = None,
    watch: Annotated[bool, Parameter(negative=())] = False,
    browser: bool = True,
) -> None:
    """Score a representation: how well its codes separate the factors, with confidence intervals.

    FILE is `.npz` with arrays `codes` and `factors` (optional `factor_names`, `factor_kinds`, `code_names`, `blocks`),
    `.csv`, `.parquet` or `.arrow` with `code_*` and `factor_*` columns (or those you name; a column may hold lists), a
    quoted pattern or a folder of such tables, `.h5ad`, `.safetensors`, `.pt` or `.zarr`, or `.npy` codes with
    `--factors`. NaN in a factor means "not labelled". Without factors only label-free metrics run. Give several files
    to see their scores side by side. Sparse codes stay sparse. Tables and arrays that do not fit into memory are read
    in blocks: counts, correlations and covariances see all rows, probes a sample, and the notes say which.

    Examples:
        unbraid score codes.npz --report report.html

        unbraid score codes.npz --metrics mig,dci_forest --json -

        unbraid score table.csv --kinds angle=circular:360,shape=categorical

        unbraid score codes.npz --metrics z_diff,z_min_var,irs --join position=x+y

        unbraid score table.csv --code-columns 'z*' --factor-columns shape,size,azimuth

        unbraid score codes.npy --factors labels.npy --option dci_forest.n_trees=100

        unbraid score vae.npz flow.npz --metrics dci_es --report compared.html

        unbraid score cells.h5ad --codes obsm:X_scVI --factors obs:cell_type,batch

        unbraid score 'shards/*.parquet' --code-columns embedding --factor-columns label

        unbraid score codes.npz --blocks z_y=0-7,z_d=8-15

        unbraid score codes_sparse.npz --factors labels.csv

        unbraid score 'shards/*.parquet' --engine ray --work evidence

        unbraid score codes.npz --decoder model.py:decoder --report report.html

        unbraid score embeddings.npz --time 10m

        unbraid score codes.npz --metrics all --report report.html --watch

    Parameters
    ----------
    file
        The representation to score.
    others
        More files, each scored as if it were alone and shown beside the first.
    factors
        Labels as `.npy`, `.csv` or `.parquet`: needed when FILE has none, otherwise taken in place of the file's own
        factors. For AnnData (`.h5ad` or `.zarr`), columns of obs: `obs:cell_type,batch`.
    codes
        Which array of FILE holds the codes: `X`, `obsm:KEY`, `layers:KEY` or `raw:X` of AnnData, the name of a tensor
        of `.safetensors`, `.pt` or `.zarr`.
    metrics
        Comma-separated names, families or panels (default, vae, identifiability, embeddings, sparse, single-cell, all);
        `unbraid metrics` lists them. `--preset` is the same option.
    only
        Comma-separated factors to score; the others are left out.
    kinds
        Factor kinds, as `name=kind` separated by commas: categorical, ordinal, continuous, circular or circular:PERIOD.
    join
        Factors to make into one, as `position=x+y` separated by commas: metrics that hold a factor fixed then hold x
        and y fixed together.
    blocks
        Names for groups of codes, as `name=columns` separated by commas: numbers from 0, spans such as `0-7`, names of
        codes or patterns of names; in place of those in FILE. The default metrics then score the blocks too.
    seed
        Same seed, same numbers, for any number of jobs.
    jobs
        Workers: threads, or processes for work of more than a few seconds; all cores by default.
    bins
        Bins of each code, for metrics from mutual information.
    binning
        How codes are cut into bins.
    option
        A metric's own option, as `metric.option=value`; may be repeated.
    intervals
        Compute 95 % confidence intervals.
    nulls
        Compute chance levels: the scores with shuffled factors.
    memory
        Memory that reading a file and scoring it may each take, such as `8G`. It is estimated beforehand, and more is
        refused; by default what is available.
    time
        Time that scoring a file may take, such as `10m` or `2h`. It is estimated beforehand, and the dearest metrics
        are left out until the others fit; the report says which.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    csv
        Write the table as CSV.
    report
        Write a self-contained HTML page.
    decoder
        Decoder of the codes, as `FILE.py:NAME`, which is run: the page then shows what it draws along each factor.
    image
        Shape of an image, such as `28x28` or `3x64x64`, where outputs of the decoder are flat.
    code_columns
        Columns of a table that are codes: names and patterns, separated by commas.
    factor_columns
        Columns of a table that are factors: names and patterns, separated by commas.
    engine
        Read rows in blocks, in processes of this machine (`local`) or on a Ray cluster (`ray`). By default rows that do
        not fit into memory are read in blocks, in `--jobs` processes.
    address
        Address of the Ray cluster, `host:port` or `auto`; by default one is started on this machine.
    work
        Folder that keeps the evidence of every block: started again with the same folder, reading goes on where it was
        broken off.
    sample
        Rows of the sample that probes are fitted to where rows are read in blocks; 100 000 by default.
    watch
        Open `unbraid explore` on the codes while they are scored: progress, and scores as they come.
    browser
        Open a browser to watch; with `--no-browser`, only print the address.
    """
    files = [file, *others]
    labels = [Path(factors)] if factors and not factors.startswith(OBS) else []
    check_outputs([*files, *labels], json, csv, report)
    resolve_metrics(metrics)
    names, given, groups = distinct_names(files), read_pairs("kinds", kinds), read_groups("join", join)
    check_pair(files, factors)
    kept = None if only is None else [part.strip() for part in only.split(",")]
    if decoder is not None and (others or report is None):
        raise ValueError("decoder must go with one file and --report, on which its pictures are shown.")
    if image is not None and decoder is None:
        raise ValueError("image is for the pictures of a decoder; give --decoder, or leave it out.")

    def read(path: Path) -> Representation:
        if engine is None and work is None and address is None:
            try:
                whole = load(
                    path,
                    factors,
                    codes=codes,
                    code_columns=code_columns,
                    factor_columns=factor_columns,
                    kinds=given,
                    only=kept,
                    blocks=blocks,
                    memory=memory,
                )
                return whole.with_joined_factors(groups) if groups else whole
            except TooMuchMemoryError:
                if not can_be_blocks(path):
                    raise
        if groups:
            raise ValueError("join is for rows that fit into memory, and these are read in blocks; leave it out.")
        found = read_in_blocks(
            path,
            factors,
            engine=engine,
            address=address,
            work=work,
            sample=SAMPLE_ROWS if sample is None else sample,
            jobs=jobs,
            codes=codes,
            code_columns=code_columns,
            factor_columns=factor_columns,
            kinds=given,
            only=kept,
            n_bins=bins,
            binning=binning,
            seed=seed,
        )
        found.blocks = check_blocks(blocks, found.code_names)
        return found

    reps = read_all(files, read)
    if sample is not None and not any(isinstance(rep, SampledRepresentation) for rep in reps):
        say("note: --sample changes nothing: rows were not read in blocks, and all of them are used.")
    shown = None if decoder is None else _decoder(decoder, reps[0], image)
    followed: AbstractContextManager[dict[str, LiveScores]] = (
        _watching(names, reps, browser=browser) if watch else nullcontext({})
    )
    with followed as live:
        results = {}
        for name, rep in zip(names, reps, strict=True):
            results[name] = evaluate(
                rep,
                metrics=metrics,
                seed=seed,
                n_jobs=jobs,
                n_bins=bins,
                binning=binning,
                options=_options(option),
                intervals=intervals,
                nulls=nulls,
                memory=memory,
                time=time,
                progress=bar_or_lines(),
                on_step=live[name].take if name in live else None,
                name=name,
            )
            if name in live:
                live[name].finish(results[name])
    if not any(result.scores for result in results.values()):
        raise ValueError(next(reason for result in results.values() for reason in result.failures.values()))
    strips = None if shown is None else shown(results[names[0]])
    drawn = {} if others or report is None else run_pictures(file)
    _write(compare(results) if others else results[names[0]], json, csv, report, strips, drawn)


@contextmanager
def _watching(
    names: Sequence[str], reps: Sequence[Representation], *, browser: bool
) -> Iterator[dict[str, LiveScores]]:
    """Serve the explorer while representations are scored, and yield what follows each."""
    from unbraid.cli._explore import watching
    from unbraid.explorer.scoring import ScoringView
    from unbraid.explorer.session import Session

    view = ScoringView(names, reps)
    title = f"scoring {names[0]}" if len(names) == 1 else f"scoring {len(names)} files"
    with watching(Session(title, view.entries, scoring=view, watching=True), browser=browser):
        yield view.live


#: Pictures that ``unbraid train`` leaves beside the codes of a member, and their captions on the page.
RUN_PICTURES = {
    "traversals": "Traversals: a row for each code, from its lowest to its highest value",
    "blocks": "Blocks: pictures, their reconstructions, each block of codes alone, each block from the next picture",
}


def run_pictures(codes: str | Path) -> dict[str, bytes]:
    """Return the pictures that a run of training left beside its codes, ``codes_N.npz``, by their captions."""
    member = re.fullmatch(r"codes_(\d+)", Path(codes).stem)
    if member is None:
        return {}
    paths = {caption: Path(codes).with_name(f"{name}_{member[1]}.png") for name, caption in RUN_PICTURES.items()}
    return {caption: path.read_bytes() for caption, path in paths.items() if path.is_file()}


def _decoder(address: str, rep: Representation, image: str | None) -> Callable[[Report], FactorStrips]:
    """Try the decoder at once, and return what makes its strips once the axes of the factors are known."""
    from unbraid.explorer.opening import named_decoder
    from unbraid.explorer.subject import factor_strips

    ready = named_decoder(address, rep, image=None if image is None else read_shape(image))
    if ready.layout is None:
        raise ValueError("decoder must return pictures; give --image, such as 28x28, where its outputs are flat.")
    return lambda result: factor_strips(rep, result, ready)


def _write(
    result: Report | Comparison,
    json: str | None,
    csv: Path | None,
    report: Path | None,
    strips: FactorStrips | None = None,
    pictures: Mapping[str, bytes] | None = None,
) -> None:
    if json == "-":
        print(result.to_json())
    elif isinstance(result, Comparison):
        print_comparison(result)
    else:
        print_report(result)
    for note in _notes(result):
        say(f"note: {note}")
    written = []
    if (path := json_file(json)) is not None:
        result.to_json(path)
        written.append(str(path))
    if csv is not None:
        written.append(str(result.to_csv(csv)))
    if report is not None:
        if isinstance(result, Report):
            written.append(str(result.to_html(report, strips=strips, pictures=pictures)))
        else:
            written.append(str(result.to_html(report)))
    for name in written:
        say(f"wrote {name}")


def _notes(result: Report | Comparison) -> list[str]:
    """What concerns a representation as a whole; said once where it is true of all that are compared."""
    if isinstance(result, Report):
        return list(result.notes)
    about: dict[str, list[str]] = {}
    for name, report in result.items():
        for note in report.notes:
            about.setdefault(note, []).append(name)
    return [note if len(names) == len(result) else f"{', '.join(names)}: {note}" for note, names in about.items()]


def _options(entries: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Read ``metric.option=value`` entries; a value is a number, true, false or a word."""
    options: dict[str, dict[str, Any]] = {}
    for entry in entries:
        path, equals, value = entry.partition("=")
        metric, dot, name = path.rpartition(".")
        if not equals or not dot:
            raise ValueError(f"option must be metric.option=value, got {entry!r}.")
        options.setdefault(metric, {})[name] = _value(value)
    return options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
        Workers: threads, or processes for work of more than a few seconds; all cores by default.
    """
    check_writable("report", report)
    check_at_least("seed", seed, 0)
    result = evaluate(example(seed=seed), seed=seed, n_jobs=jobs, progress=bar_or_lines(), name="the embedded example")
    print_report(result)
    for note in result.notes:
        say(f"note: {note}")
    print(f"\nReport: {result.to_html(report).resolve()}")


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
