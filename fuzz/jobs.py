"""Commands that do work of some length: training, rows read by an engine, and studies on stores with damage."""

from __future__ import annotations

import io
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import GOOD, ContractError, Format, Input, Outcome
from fuzz.mutate import mutated, mutated_within
from fuzz.shards import row_inputs
from fuzz.tables import QUICK, RESULT
from helpers.official import write_dsprites
from unbraid import Representation, save
from unbraid.cli import main
from unbraid.study import run_study, status

DATA = "data/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
#: A training step of small networks on 32 pictures of 8 x 8, some tens of milliseconds.
SMALL = {"--steps": "1", "--codes": "3", "--width": "1", "--batch": "2"}
MODELS = (
    *("vae", "beta_vae", "annealed_vae", "factor_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii", "conditioned_vae"),
    *("diva", "vfae", "dc_ign", "info_gan"),
)
#: Options of training: values that make sense for some model, and values that make none.
OPTIONS: dict[str, tuple[str, ...]] = {
    "--seeds": ("0,1", "7", "0,0", "-1", "", "x", "4294967296", "1,", "0" * 30),
    "--set": (
        "beta=2",
        "beta=1,4",
        "gamma=3",
        "weight=0",
        "beta=nan",
        "beta=-1",
        "beta=1e308",
        "beta",
        "=",
        "nosuch=1",
    ),
    "--labels": ("y=shape,d=scale", "y=shape,s=scale", "shape,scale", "y=nosuch", "y", "=,", "y=shape,y=shape"),
    "--labelled": ("0.5", "1", "0", "-1", "2", "nan"),
    "--blocks": ("z_d=1,z_y=1,z_x=1", "z_d=2,z_y=0,z_x=1", "z_d=1", "z_d=x", "=", "z_d=-1,z_y=1,z_x=1"),
    "--hold-out": ("shape=1", "scale=0,1", "shape=9", "nosuch=1", "shape", "shape=x"),
    "--steps": ("2", "0", "-1", "x", "1e2"),
    "--codes": ("1", "5", "0", "-2", "1000000000"),
    "--width": ("2", "0", "-1", "10000000"),
    "--encoder": ("paper", "library", "other"),
    "--batch": ("1", "3", "64", "0", "-1", "1000000000000"),
    "--categories": ("2", "2,3", "0", "-1", "x", "3,3,3,3", "1000000"),
    "--noise": ("2", "0", "-1", "1000000000"),
    "--learning-rate": ("1e-3", "0", "-1", "nan", "inf", "1e30"),
    "--checkpoint-every": ("1", "0", "-1"),
    "--device": ("cpu", "cuda", "meta", "nosuch"),
    "--at-once": ("1", "2", "0", "-1"),
    "--preset": ("tiny", "published", "other"),
    "--data": ("dsprites", "shapes3d", "nosuch", ""),
    "--folder": ("data", "nowhere", "run", DATA),
    "--tensorboard": ("board", DATA),
}


@cache
def _data() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        write_dsprites(Path(place) / DATA, (1, 2, 2, 2, 2, 2), side=8)
        return (Path(place) / DATA).read_bytes()


@cache
def _run() -> dict[str, bytes]:
    """Return the files of a training run, as the command writes them."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "data").mkdir()
        (Path(place) / DATA).write_bytes(_data())
        sizes = [word for pair in SMALL.items() for word in pair]
        where = ["--folder", f"{place}/data", "--out", f"{place}/run"]
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                main(["train", "--model", "vae", "--data", "dsprites", *where, *sizes])
        except SystemExit as stop:
            if stop.code != GOOD:
                raise RuntimeError(f"training ended with {stop.code}") from stop
        return _content(Path(place) / "run", "run/")


def _content(folder: Path, prefix: str) -> dict[str, bytes]:
    return {f"{prefix}{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _changed(draw: DrawFn, files: dict[str, bytes]) -> tuple[dict[str, bytes], bool]:
    """Return files, one of them damaged or gone as often as not, and whether one is."""
    found = dict(files)
    if draw(st.booleans()):
        return found, False
    chosen = draw(st.sampled_from(sorted(found)))
    content = found.pop(chosen)
    if draw(st.integers(0, 9)):
        packed = content[:2] == b"PK" and draw(st.booleans())
        found[chosen] = draw(mutated_within(content) if packed else mutated(content, list(files.values())))
    return found, True


@st.composite
def _train_inputs(draw: DrawFn) -> Input:
    words = dict(SMALL) | {"--data": "dsprites", "--folder": "data", "--out": "run", "--model": "vae"}
    files: dict[str, bytes] = {DATA: _data()}
    outputs = ("run/", "board/")
    there = draw(st.integers(0, 5))
    if there == 0:
        files |= _changed(draw, _run())[0]
    elif there == 1:
        theirs = draw(st.sampled_from(["decoder.py", "codes_0.npz", "data.json", "traversals_0.png", "notes.txt"]))
        files[f"run/{theirs}"] = b"mine"
    elif there == 2:
        files["run"] = b"a file"
    else:
        words["--model"] = draw(st.sampled_from(MODELS))
        words |= {"--categories": "2", "--noise": "2"} if words["--model"] == "info_gan" else {}
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from(sorted(OPTIONS)))
        words[option] = draw(st.just(OPTIONS[option][0]) | st.sampled_from(OPTIONS[option]))
    more = draw(st.sampled_from([()] * 9 + [("--overwrite",)]))
    command = ("train", *(f"{option}={value}" for option, value in words.items()), *more)
    return Input(files=files, command=command, outputs=outputs)


def _kept_theirs(one: Input, outcome: Outcome, place: Path) -> None:
    """Raise if files in the folder that no run wrote were replaced unasked, a run is not whole, or for nothing."""
    for name in ("run", "board"):
        if (place / name).is_dir() and not any((place / name).iterdir()):
            raise ContractError(f"left the empty folder {name}")
    for name, content in one.files.items():
        if content == b"mine" and "--overwrite" not in one.command and (place / name).read_bytes() != content:
            raise ContractError(f"replaced {name}")
    if outcome.code == GOOD and not (place / "run" / "decoder.py").is_file():
        raise ContractError("trained, and wrote no decoder")


@st.composite
def _engine_inputs(draw: DrawFn) -> Input:
    """Score rows that an engine reads in blocks, with a folder of evidence or without."""
    rows = draw(row_inputs())
    path, factors = rows.command
    more = ("--factors", factors) if factors else ()
    files = dict(rows.files)
    work = draw(st.sampled_from([()] * 4 + [("--work", "work")] * 4 + [("--work", path), ("--work", "")]))
    if work == ("--work", "work") and draw(st.booleans()):
        files |= {f"work/{name}": draw(st.binary(max_size=20)) for name in draw(st.sampled_from(OLD_WORK))}
    sample = draw(st.sampled_from([()] * 7 + [("--sample", "40"), ("--sample", "0"), ("--sample", "1000000000000")]))
    command = ("score", path, *more, *QUICK, "--engine", "local", *work, *sample, "--json", RESULT)
    return Input(files=files, command=command, outputs=(RESULT, "work/"))


#: Names of files in a folder of evidence that was there before.
OLD_WORK = (("plan.json",), ("survey.npz",), ("x.npz", "notes.txt"))


STUDY = b"""\
name: small
representations: {folder: given, index: index.csv}
scores: {metrics: [mig], rows: [60, 30]}
tasks:
  - {tasks: ["factor:x"], predictors: [linear], train: [1.0]}
agreement: {methods: [spearman], rows: 40}
"""
INDEX = b"file,dataset,family,hyperparameter,seed\n0.npz,d,f,1,0\n1.npz,d,f,1,1\n"
#: Exit code of a study with measurements that failed.
SOME_FAILED = 1


@cache
def _given() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        for number in range(2):
            factors = rng.integers(0, 3, (60, 2))
            rep = Representation(factors + 0.1 * rng.normal(size=(60, 2)), factors, names=["x", "y"])
            save(rep, Path(place) / f"{number}.npz")
        return {"given/index.csv": INDEX, **_content(Path(place), "given/")}


@cache
def _stored() -> tuple[dict[str, bytes], pd.DataFrame]:
    """Return the files of the store of a whole study, and its table."""
    with tempfile.TemporaryDirectory() as place:
        for name, content in {"study.yaml": STUDY, **_given()}.items():
            (Path(place) / name).parent.mkdir(exist_ok=True)
            (Path(place) / name).write_bytes(content)
        with chdir(place):
            state = run_study("study.yaml", "store", workers=1, progress=False)
        return _content(Path(place) / "store", "store/"), state.table().drop(columns="seconds")


@st.composite
def _run_inputs(draw: DrawFn) -> Input:
    """Run a study whose files or whose store are damaged; a damaged store must come to the same table."""
    given, is_other = dict(_given()), False
    store: dict[str, bytes] = {}
    what = draw(st.integers(0, 3))
    if what == 0:
        given, is_other = _changed(draw, given)
    else:
        store, _ = _changed(draw, _stored()[0])
        if draw(st.integers(0, 9)) == 0:
            store["store/results/x.parquet"] = draw(st.sampled_from([b"", b"x", next(iter(store.values()))]))
    odd = [()] * 9 + [("--memory", "1"), ("--engine", "none"), ("--address", "x"), ("--data", ""), ("--nosuch",)]
    workers = draw(st.sampled_from(["1"] * 9 + ["0"]))
    command = ("study", "run", "study.yaml", "--store", "store", "--workers", workers, *draw(st.sampled_from(odd)))
    return Input(
        files={"study.yaml": STUDY, **given, **store},
        command=command,
        outputs=("store/",),
        codes=(GOOD, 2, SOME_FAILED),
        arrays=None if is_other else _stored()[1],
    )


def _same_table(one: Input, outcome: Outcome, place: Path) -> None:
    """Raise unless a study of sound files comes to its table."""
    wanted: Any = one.arrays
    if wanted is None or outcome.code == 2:
        return
    if outcome.code != GOOD:
        raise ContractError("failed on sound files")
    found = status(place / "store").table().drop(columns="seconds")
    try:
        pd.testing.assert_frame_equal(found, wanted, check_exact=True)
    except AssertionError as error:
        raise ContractError(f"the table is another: {error}") from error


FORMATS = (
    Format(name="train", inputs=_train_inputs(), check=_kept_theirs),
    Format(name="engine", inputs=_engine_inputs()),
    Format(name="run", inputs=_run_inputs(), check=_same_table),
)
