"""Opening of a session from files of codes, reports, decoders, runs and studies."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid._base.checks import did_you_mean_file
from unbraid._base.optional import is_installed, pip_install, require
from unbraid._base.text import file_name
from unbraid._base.user_code import kept_apart, load_object
from unbraid.explorer.decoding import PictureDecoder, make_decoder
from unbraid.explorer.runs import CHECKPOINT, RunView
from unbraid.explorer.session import Session, SubjectEntry
from unbraid.explorer.studies import StudyView
from unbraid.explorer.subject import RowPictures, Subject, pictures_from
from unbraid.panel.saved import read_reports, reports_in
from unbraid.representation.files import CODE_COLUMNS, FACTOR_COLUMNS, load, npz_arrays
from unbraid.representation.formats.shards import TABLES
from unbraid.representation.representation import Representation
from unbraid.results.report import Report
from unbraid.study.store import Store

CODES = (".npz", ".npy", *TABLES, ".h5ad", ".safetensors", ".zarr")
PAGES = (".html", ".htm")
#: Arrays of an ``.npz`` that are pictures of the rows.
PICTURES = ("pictures", "images", "observations")
CARRIED = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
ACCEPTED = "a file of codes, a saved report, a run folder, a checkpoint, a study's store or FILE.py:NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningOptions:
    """Options of what is opened.

    Attributes:
        factors: Labels as ``.npy`` or a table, or columns of obs for ``.h5ad``, as ``unbraid.load`` takes them.
        codes: Which array of the file holds the codes.
        code_columns: Columns of a table that are codes.
        factor_columns: Columns of a table that are factors.
        kinds: Factor kinds, over those in a file.
        blocks: Blocks of codes, in place of those in a file.
        decoder: ``FILE.py:NAME`` that decodes the codes of a file, or an object that does.
        latent_dim: Latents of a decoder, where codes do not tell.
        image: Shape of a picture, where outputs are flat.
        study: Name of a study, where a store has several.
        watching: Whether work goes on that the page should follow.
    """

    factors: str | Path | None = None
    codes: str | None = None
    code_columns: str = CODE_COLUMNS
    factor_columns: str = FACTOR_COLUMNS
    kinds: dict[str, str] | None = None
    blocks: str | None = None
    decoder: Any = None
    latent_dim: int | None = None
    image: tuple[int, ...] | None = None
    study: str | None = None
    watching: bool = False


def open_session(what: Sequence[Any], options: OpeningOptions) -> Session:
    """Open everything that the user named; nothing else is read later.

    Args:
        what: Paths, addresses ``FILE.py:NAME``, or objects: representations, reports and decoders.
        options: How to read them.

    Raises:
        ValueError: Something that is not there or cannot be shown.
    """
    if not what:
        raise ValueError(f"what must be {ACCEPTED}, got nothing.")
    if len(what) == 1 and isinstance(what[0], str | Path):
        place = str(what[0])
        if _is_store(place):
            view = StudyView(Store(place), options.study)
            return _warm(Session(view.title, view.entries, study=view, watching=options.watching))
        folder = _run_folder(place)
        if folder is not None:
            run = RunView(folder)
            return _warm(Session(file_name(folder.name), run.entries, run=run, watching=options.watching))
    entries = [entry for one in _paired(what) for entry in _entries(one, options)]
    title = entries[0].label if len(entries) == 1 else f"{len(entries)} representations"
    return _warm(Session(title, entries))


def _warm(session: Session) -> Session:
    """Make ready what the first view needs; a model that cannot be shown yet says so on the page."""
    if session.entries and not session.watching:
        with suppress(ValueError):
            session.subject("m0").about()
    return session


def _paired(what: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return things to open, each with the report that belongs to it: a report beside codes is about these codes."""
    reports = [one for one in what if _is_report(one)]
    others = [one for one in what if not _is_report(one)]
    if len(reports) == 1 and len(others) == 1:
        return [(others[0], reports[0])]
    return [(one, None) for one in what]


def _is_report(one: Any) -> bool:
    return isinstance(one, Report) or (isinstance(one, str | Path) and Path(one).suffix.lower() in (".json", *PAGES))


def _entries(pair: tuple[Any, Any], options: OpeningOptions) -> list[SubjectEntry]:
    one, beside = pair
    report = None if beside is None else next(iter(_reports(beside).values()))
    if _is_report(one):
        return [_ready(name, report=found) for name, found in _reports(one).items()]
    if isinstance(one, Representation):
        label = "a representation" if report is None else report.setup.name
        return [_ready(label, rep=one, report=report, options=options)]
    if not isinstance(one, str | Path):
        decoder = make_decoder(one, n_codes=options.latent_dim, image=options.image)
        return [_ready(type(one).__name__, decoder=decoder)]
    path = Path(one)
    if path.suffix.lower() in CODES:
        rep = load(
            path,
            options.factors,
            codes=options.codes,
            code_columns=options.code_columns,
            factor_columns=options.factor_columns,
            kinds=options.kinds,
            blocks=options.blocks,
        )
        return [_ready(file_name(path.name), rep=rep, report=report, pictures=_pictures(path, rep), options=options)]
    folder = _run_folder(str(one))
    if folder is not None:
        return RunView(folder).entries()
    if ".py" in str(one):
        require("a decoder", "torch", extra="torch")
        with kept_apart("decoder"):
            name, model = load_object("what", str(one), default="decoder", make=True)
        decoder = make_decoder(model, n_codes=options.latent_dim, image=options.image)
        return [_ready(name, decoder=decoder)]
    if not path.exists():
        raise ValueError(f"what {str(one)!r} is not there{did_you_mean_file(path)}.")
    raise ValueError(f"what must be {ACCEPTED}, got {str(one)!r}.")


def _ready(
    label: str,
    *,
    rep: Representation | None = None,
    report: Report | None = None,
    decoder: PictureDecoder | None = None,
    pictures: RowPictures | None = None,
    options: OpeningOptions | None = None,
) -> SubjectEntry:
    """Return an entry whose subject is in memory already."""
    if rep is not None and options is not None and options.decoder is not None:
        decoder = named_decoder(options.decoder, rep, image=options.image)
    if rep is not None and report is not None and tuple(report.setup.code_names) != rep.code_names:
        raise ValueError(f"the report must be about the codes of {label}, but its codes have other names.")
    return SubjectEntry(
        label=label,
        load=lambda key: Subject(key, label, rep=rep, report=report, decoder=decoder, pictures=pictures),
    )


def named_decoder(decoder: Any, rep: Representation, *, image: tuple[int, ...] | None = None) -> PictureDecoder:
    """Return the decoder of a representation, from ``FILE.py:NAME`` or an object.

    Raises:
        ValueError: No torch, no such object, or one that does not accept the codes.
    """
    require("a decoder", "torch", extra="torch")
    with kept_apart("decoder"):
        model = (
            load_object("decoder", decoder, default="decoder", make=True)[1] if isinstance(decoder, str) else decoder
        )
        return make_decoder(model, n_codes=rep.n_codes, codes=rep.codes, image=image)


def _reports(one: Any) -> dict[str, Report]:
    if isinstance(one, Report):
        return {one.setup.name: one}
    path = Path(one)
    if path.suffix.lower() not in PAGES:
        return read_reports(path)
    if not path.is_file():
        raise ValueError(f"what {str(path)!r} is not there{did_you_mean_file(path)}.")
    carried = CARRIED.search(path.read_text(encoding="utf-8", errors="replace"))
    if carried is None:
        raise ValueError(f"{path} is no report that carries its numbers; give what --json wrote.")
    try:
        return reports_in(_in_order(json.loads(carried[1])), path)
    except (json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is a damaged report: {error}.") from error


def _in_order(data: dict[str, Any]) -> dict[str, Any]:
    """Put the factors and codes of scores in the order of the report; a page carries them by the alphabet."""
    for report in data.get("reports", {"": data}).values():
        for score in report["scores"].values():
            for part, names in (("per_factor", "factor_names"), ("per_code", "code_names")):
                if score.get(part) is not None:
                    score[part] = {name: score[part][name] for name in report["meta"][names]}
    return data


def _pictures(path: Path, rep: Representation) -> RowPictures | None:
    """Return the pictures that an ``.npz`` holds beside its codes."""
    if path.suffix.lower() != ".npz":
        return None
    arrays, _ = npz_arrays(path, PICTURES)
    name = next(iter(arrays), None)
    if name is None:
        return None
    array = arrays[name]
    if array.shape[:1] != (rep.n_samples,):
        raise ValueError(
            f"{name} of {path.name!r} must have {rep.n_samples} rows like the codes, got shape {array.shape}."
        )
    return pictures_from(array)


def _is_store(place: str) -> bool:
    return "://" in place or Path(place).expanduser().joinpath("studies").is_dir()


def _run_folder(place: str) -> Path | None:
    """Return the folder of a training run, from the folder or from its checkpoint."""
    path = Path(place).expanduser()
    if path.name == CHECKPOINT and path.is_file():
        path = path.parent
    if path.suffix == ".pt" and path.is_file():
        raise ValueError(
            f"what {place!r} is no checkpoint of `unbraid train`, which is called {CHECKPOINT}; "
            "name the decoder in a file of yours, FILE.py:NAME."
        )
    if not path.is_dir() or path.suffix.lower() in CODES:
        return None
    if not (path / CHECKPOINT).is_file() and not any(path.glob(f"group_*/{CHECKPOINT}")):
        raise ValueError(f"folder {place!r} holds neither a study nor trained models ({CHECKPOINT}).")
    if not is_installed("torch"):
        raise ValueError(
            f"a trained model needs torch, which is not installed; run {pip_install('torch')}, or open its codes, "
            f"{path / 'codes_0.npz'}."
        )
    return path
