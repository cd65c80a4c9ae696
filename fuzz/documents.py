"""Saved reports as JSON and study files as YAML, with parts replaced, taken away, renamed and repeated."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import GOOD, ContractError, Format, Input, Outcome
from fuzz.mutate import mutated
from unbraid import compare, evaluate
from unbraid.study import ready_studies, study_text

#: Values in places where another kind of value is expected.
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2, 10**6, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308, math.inf, -math.inf, math.nan),
    *("", "x", "mig", "\x1b[31m", "<script>alert(1)</script>", "=1+1", "\u202e", "1e-3", "a" * 300, "../x", "\ud800"),
    *([], {}, [0], [1, 2, 3], ["a", "b"], {"a": 1}, {"": None}, [[[]]], [None, 1.0]),
)
RESULT, PAGE = "result.json", "result.html"


def _parts(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every part of a tree."""
    steps = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in steps:
        yield (*above, key)
        yield from _parts(value, (*above, key))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


@st.composite
def pruned(draw: DrawFn, text: str) -> Any:
    """Return a tree, read from JSON, after one to three changes of its parts."""
    tree = json.loads(text)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        paths = list(_parts(tree))
        if not paths:
            return tree
        depth = draw(st.integers(1, max(map(len, paths))))  # few parts are near the root, and they matter most
        *above, key = draw(st.sampled_from([path for path in paths if len(path) == depth]))
        holder = _at(tree, tuple(above))
        change = draw(st.integers(0, 5))
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "x", "mig", "codes", "value", "\x1b"]))] = holder.pop(key)
        elif change == 2 and isinstance(holder[key], list):
            holder[key] = holder[key] * 2
        elif change == 3:
            holder[key] = _at(tree, draw(st.sampled_from(paths)))
        else:
            holder[key] = draw(st.sampled_from(ODD_VALUES))
        if _size(tree) > MOST_PARTS:
            return None
    return tree


#: Parts of a tree beyond which it is not written out; a part may be put into itself.
MOST_PARTS = 20_000


def _size(tree: Any, above: tuple[int, ...] = ()) -> int:
    if id(tree) in above or len(above) > 60:
        return MOST_PARTS + 1
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return 1 + sum(_size(one, (*above, id(tree))) for one in inner)


@cache
def reports() -> tuple[str, ...]:
    """Return saved reports: with intervals, with curves, without factors, and several in one file."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (40, 2))
    codes = factors + 0.3 * rng.normal(size=(40, 2))
    quick: dict[str, Any] = {"n_jobs": 1, "progress": False}
    first = evaluate(codes, factors, metrics="mig,sap", name="first", **quick)
    second = evaluate(codes[::-1], factors, metrics="mig,r2,dci_linear", nulls=False, name="second", **quick)
    third = evaluate(codes, metrics="total_correlation", intervals=False, name="third", **quick)
    both = compare({"first": first, "second": second})
    return tuple(one.to_json() for one in (first, second, third, both))


@st.composite
def _report_inputs(draw: DrawFn) -> Input:
    base = draw(st.sampled_from(reports()))
    if draw(st.integers(0, 2)) == 0:
        content = draw(mutated(base.encode(), [one.encode() for one in reports()]))
    else:
        content = json.dumps(draw(pruned(base))).encode()
    files = {"a.json": content, "b.json": reports()[0].encode()}
    page = ("--report", PAGE) if draw(st.integers(0, 7)) == 0 else ()
    return Input(files=files, command=("compare", "a.json", "b.json", "--json", RESULT, *page), outputs=(RESULT, PAGE))


def _same_scores(one: Input, outcome: Outcome, place: Path) -> None:
    """Raise unless the values that were read come back as they were."""
    if outcome.code != GOOD:
        return
    given, found = json.loads(one.files["a.json"]), json.loads((place / RESULT).read_text())["reports"]
    wanted = given.get("reports", {"a": given})
    for name, report in wanted.items():
        for metric, score in report["scores"].items():
            own = name if name in found else report["meta"]["name"]  # a report without a name has that of its codes
            value = found[own if own in found else "a"]["scores"][metric]["value"]
            read = math.nan if score["value"] is None else float(score["value"])
            if value != read and not (value is None and not math.isfinite(read)):
                raise ContractError(f"{metric} of {name} was {score['value']} and is {value}")


SMALL = """
name: tiny
data: [sprites_mini]
rows: 400
models:
  - {family: beta_vae, hyperparameters: {beta: [1, 4]}}
seeds: 2
training: {n_steps: 3, n_codes: 4, width: 4, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig, sap], rows: [400, 100], options: {mig: {n_bins: 10}}}
tasks:
  - {tasks: [position_cartesian, "factor:x"], predictors: [linear], train: [1.0, 50]}
agreement: {methods: [spearman], rows: 200}
"""
#: Families with labels, blocks of codes or a generator.
FAMILIES = """
name: families
data: [sprites_mini]
rows: 400
models:
  - {family: diva, hyperparameters: {alpha_y: [1, 2], warm_up: 1}, labels: {y: shape, d: size}, labelled: 0.5}
  - {family: vfae, hyperparameters: {mmd: 1}, labels: {y: shape, s: size}, labelled: 0.5}
  - {family: dc_ign, labels: [shape, size]}
  - {family: info_gan, hyperparameters: {weight: [1, 2]}}
  - {family: conditioned_vae, hyperparameters: {beta: 2}}
seeds: [0, 3]
training: {n_steps: 3, n_codes: 8, width: 4, batch: 8, categories: [3, 2], noise_dim: 2, device: cpu}
scores: {metrics: [mig], rows: [400]}
"""
GIVEN = "name: given\nrepresentations: {folder: given, index: index.csv}\nscores: {metrics: [mig]}\n"
INDEX = b"file,dataset,family,hyperparameter,seed\na.npz,d,f,1,0\nb.npz,d,f,1,1\n"
#: What YAML can say and a study cannot.
TWISTS = (
    "&a [*a]",
    "!!python/object/apply:os.system [true]",
    "!!binary aGk=",
    "!!set {a, b}",
    "2026-01-01",
    "0o17",
    ".nan",
    "-.inf",
    "1_000",
    "0x1F",
    "1:30",
    "~",
    "? [a, b] : c",
    "{[a]: b}",
    "|\n  text",
    "<<: {a: 1}",
    "&a [x, x, x, x, x, x, x, x, x, x]",
    "[" * 80 + "]" * 80,
)


#: Values that a study can have.
SOUND: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["tiny", "a.b", "ü 1", "x" * 200]),
    "about": st.text(max_size=20),
    "rows": st.integers(400, 10**6),
    "seeds": st.integers(1, 50) | st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5, unique=True),
    "data": st.sampled_from([["sprites_mini"], ["sprites_mini", "sprites"]]),
    "seed": st.integers(0, 2**32 - 1),
}


@cache
def _studies() -> tuple[str, ...]:
    return (SMALL, FAMILIES, GIVEN, *(study_text(name) for name in ready_studies()))


@st.composite
def _twisted(draw: DrawFn, text: str) -> str:
    """Return a study with the value of one line replaced."""
    lines = text.splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    key, colon, _ = lines[at].partition(":")
    twist = draw(st.sampled_from(TWISTS))
    lines[at] = f"{key}: {twist}" if colon else twist
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from(["--- {}", "...", "name: again", "about: *a", "\ttab: 1", "%YAML 9.9"])))
    return "\n".join(lines)


@st.composite
def _study_inputs(draw: DrawFn) -> Input:
    base = draw(st.sampled_from(_studies()))
    how = draw(st.integers(0, 4))
    if how == 4:
        content = yaml.safe_dump({**yaml.safe_load(SMALL), **draw(st.fixed_dictionaries(SOUND))}).encode()
    elif how == 0:
        content = draw(mutated(base.encode(), [one.encode() for one in _studies()]))
    elif how == 1:
        content = draw(_twisted(base)).encode()
    else:
        tree = draw(pruned(json.dumps(yaml.safe_load(base), default=str)))
        content = yaml.safe_dump(tree, allow_unicode=draw(st.booleans())).encode("utf-8", "surrogatepass")
    index = draw(st.just(INDEX) | mutated(INDEX))
    files = {"study.yaml": content, "given/index.csv": index, "store/.keep": b""}
    command = draw(st.sampled_from([("show", "study.yaml"), ("status", "--store", "store", "--study", "study.yaml")]))
    return Input(files=files, command=("study", *command))


FORMATS = (
    Format(name="report", inputs=_report_inputs(), check=_same_scores),
    Format(name="study", inputs=_study_inputs()),
)
