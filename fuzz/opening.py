"""What the explorer opens: codes with pictures, reports, pages, decoders, training runs and stores of studies."""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import Format, Input
from fuzz.documents import pruned, reports
from fuzz.mutate import mutated, mutated_within
from fuzz.programs import HEAD, OFFERS, RETURNS
from unbraid import Representation, evaluate, save
from unbraid.cli import _explore, main
from unbraid.explorer.session import Session
from unbraid.models import train
from unbraid.study import run_study

STUDY = "name: small\nrepresentations: {{folder: {folder}, index: index.csv}}\nscores: {{metrics: [mig]}}\n"
INDEX = "file,dataset,family,hyperparameter,seed\n0.npz,d,f,1,0\n1.npz,d,f,1,1\n"


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _world() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (24, 2))
    return factors + 0.1 * rng.normal(size=(24, 2)), factors


@cache
def _run() -> dict[str, bytes]:
    """Return the files of a training run."""
    with tempfile.TemporaryDirectory() as place:
        pictures = np.random.default_rng(0).integers(256, size=(8, 1, 8, 8), dtype=np.uint8)
        train("vae", pictures, n_steps=1, n_codes=2, width=1, batch_size=2, out=place, progress=False)
        codes, factors = _world()
        save(Representation(codes, factors), Path(place) / "codes_0.npz")
        return {f"run/{name}": one for name, one in _content(Path(place)).items()}


@cache
def _store() -> dict[str, bytes]:
    """Return the files of a store with the results of a study of two representations."""
    with tempfile.TemporaryDirectory() as place:
        given = Path(place) / "given"
        given.mkdir()
        codes, factors = _world()
        for number in range(2):
            save(Representation(codes + number, factors), given / f"{number}.npz")
        (given / "index.csv").write_text(INDEX)
        (Path(place) / "small.yaml").write_text(STUDY.format(folder=given))
        run_study(Path(place) / "small.yaml", Path(place) / "store", workers=1, progress=False)
        return {f"store/{name}": one for name, one in _content(Path(place) / "store").items()}


@cache
def _page() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        codes, factors = _world()
        report = evaluate(codes, factors, metrics="mig", nulls=False, intervals=False, n_jobs=1, progress=False)
        return report.to_html(Path(place) / "a.html").read_bytes()


#: What is opened: a run takes a tenth of a second and comes less often.
KINDS = ("codes", "codes", "report", "report", "page", "both", "both", "decoder", "with decoder", "run", "store")
#: Shapes and types of pictures beside 24 rows of codes.
PICTURES = (
    *(((24, 4, 4), "u1"), ((24, 4, 4, 3), "u1"), ((24, 1, 4, 4), "f4"), ((24, 3, 4, 4), "f8"), ((24, 4, 4), "i8")),
    *(((23, 4, 4), "u1"), ((24,), "u1"), ((), "u1"), ((24, 0, 0), "u1"), ((24, 2, 2, 2, 2), "u1"), ((24, 4, 4), "U3")),
    *(((24, 4, 4), "c16"), ((24, 4, 4), "b1"), ((0, 4, 4), "u1"), ((24, 4, 4, 9), "u1")),
)


@st.composite
def _codes(draw: DrawFn) -> dict[str, bytes]:
    codes, factors = _world()
    shape, dtype = draw(st.sampled_from(PICTURES))
    name = draw(st.sampled_from(["pictures", "images", "observations", "other"]))
    content: dict[str, Any] = {"codes": codes, "factors": factors, name: np.zeros(shape, dtype)}
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **content)
    file = out.getvalue()
    if draw(st.booleans()):
        file = draw(mutated(file) | mutated_within(file))
    return {"a.npz": file}


@st.composite
def _decoder(draw: DrawFn) -> dict[str, bytes]:
    source = HEAD.replace("(3, 5)", "(3, 5)[:2]") + draw(st.sampled_from(OFFERS))
    return {"m.py": source.format(body=draw(st.sampled_from(RETURNS))).encode()}


def _damaged(draw: DrawFn, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files, one of them changed or gone, as often as not."""
    found = dict(files)
    if draw(st.booleans()):
        chosen = draw(st.sampled_from(sorted(found)))
        content = found.pop(chosen)
        if draw(st.integers(0, 9)):
            packed = content[:2] == b"PK" and draw(st.booleans())
            found[chosen] = draw(mutated_within(content) if packed else mutated(content, list(files.values())))
    return found


@st.composite
def _explore_inputs(draw: DrawFn) -> Input:
    what = draw(st.sampled_from(KINDS))
    more: tuple[str, ...] = ()
    names: tuple[str, ...]
    if what == "codes":
        files, names = draw(_codes()), ("a.npz",)
        more = draw(st.sampled_from([(), ("--blocks", "a=0,b=1"), ("--blocks", "a=9"), ("--kinds", "factor_0=odd")]))
    elif what == "report":
        base = draw(st.sampled_from(reports()))
        files, names = {"a.json": draw(mutated(base.encode()) | pruned(base).map(_as_json))}, ("a.json",)
    elif what == "page":
        files, names = {"a.html": draw(st.just(_page()) | mutated(_page()))}, ("a.html",)
    elif what == "both":
        files, names = draw(_codes()) | {"a.json": reports()[draw(st.integers(0, 3))].encode()}, ("a.npz", "a.json")
    elif what == "decoder":
        files, names = draw(_decoder()), ("m.py:decoder",)
        more = draw(st.sampled_from([(), ("--latent-dim", "2"), ("--image", "5x1"), ("--image", "2x2")]))
    elif what == "with decoder":
        files, names = draw(_codes()) | draw(_decoder()), ("a.npz",)
        more = ("--decoder", "m.py:decoder")
    else:
        files, names = _damaged(draw, _run() if what == "run" else _store()), (what,)
    has_code = what in ("decoder", "with decoder")
    return Input(files=files, command=("explore", *names, "--no-browser", *more), prints=has_code)


def _as_json(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def _open(one: Input, folder: Path) -> None:
    """Open what the command names, and look at it as the page does at first; nothing is served."""
    with patch.object(_explore, "ExplorerServer", _unserved), patch.object(_explore, "serve", _look):
        main(one.command)


def _unserved(session: Session, *, port: int) -> Session:
    return session


def _look(session: Session, *, browser: bool) -> None:
    session.about()
    for number in range(min(2, len(session.entries))):
        with suppress(ValueError):  # a model that cannot be shown says so on the page
            session.subject(f"m{number}").about()


FORMATS = (Format(name="explore", inputs=_explore_inputs(), call=_open),)
