"""A metric is one place: its name stands in ``metrics/`` only; one file and one line of another add one."""

import ast
import importlib.util
import pkgutil
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import unbraid as ub
from unbraid import audit, metrics
from unbraid.comparison.result import Comparison
from unbraid.downstream import PREDICTORS
from unbraid.evidence.classes import By
from unbraid.evidence.linear.classifiers import Classifier
from unbraid.evidence.regressors import ByBlock, RegressorName
from unbraid.manifold.result import ManifoldAnalysis
from unbraid.metrics import METRICS
from unbraid.metrics.table.catalogue import ceiling
from unbraid.metrics.table.listing import describe_metric, list_metrics, meant
from unbraid.models import objectives
from unbraid.models.families import TAKEN_BY
from unbraid.probes.capacity import LADDERS
from unbraid.report import render
from unbraid.representation.representation import Representation
from unbraid.similarity.measures import Distance, Kernel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unbraid"
HEADLINES = {f".{name.partition('.')[2]}" for name in METRICS if "." in name}
NAMES = {*METRICS, *HEADLINES} | {word for row in METRICS.values() for word in (row.family, row.source.name)}

#: Rooms that name metrics by right: their own, and published tables of numbers with the commands that print them.
ROOMS_THAT_NAME = ("metrics/", "reproduce/", "cli/_reproduce")
#: Other vocabularies that share words with it, and where they are spoken. Each is read from the code that defines it,
#: but LightGBM's, which has a parameter and an objective of these names.
VOCABULARIES = {
    "representation/": set(Representation.__slots__),
    "cli/": set(Representation.__slots__),
    "explorer/": set(Representation.__slots__),
    "downstream/": set(PREDICTORS),
    "study/": {*PREDICTORS, *Representation.__slots__},
    "manifold/": {"classes", *(field.name for field in fields(ManifoldAnalysis))},
    "models/": set(TAKEN_BY),
    "models/objectives/": set(objectives.__all__),
    "evidence/": {*get_args(RegressorName), *get_args(ByBlock), *get_args(Classifier), *get_args(By)},
    "probes/capacity/": set(LADDERS),
    "cli/_flow.py": {"total_correlation"},
    "probes/trees.py": {"boosting", "regression"},
    "similarity/": {*get_args(Kernel), *get_args(Distance)},
    "report/comparison.py": {field.name for field in fields(Comparison)},
}


def named(text: str) -> set[str]:
    """Return the names of metrics and evidence that a module has as literals, less words it defines for itself.

    A module defines a word as a field or method of a class of its own, or as the value of a member of an enumeration.
    """
    tree = ast.parse(text)
    found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in NAMES}
    return found - {word for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for word in defined(node)}


def defined(cls: ast.ClassDef) -> set[str]:
    own = {node.target.id for node in cls.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    own |= {node.name for node in cls.body if isinstance(node, ast.FunctionDef)}
    if any(isinstance(base, ast.Name) and base.id.endswith("Enum") for base in cls.bases):
        values = [node.value for node in cls.body if isinstance(node, ast.Assign)]
        own |= {value.value for value in values if isinstance(value, ast.Constant)}
    return own


def strays() -> set[tuple[str, str]]:
    """Return every module and name of a metric or evidence that stands in it, outside the rooms that name them."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).as_posix()
        if not module.startswith(ROOMS_THAT_NAME):
            other = {word for place, words in VOCABULARIES.items() if module.startswith(place) for word in words}
            found |= {(module, name) for name in named(path.read_text(encoding="utf-8")) - other}
    return found


def test_no_name_of_a_metric_stands_outside_its_room():
    assert strays() == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('report.scores["mig"]', {"mig"}),
        ('SECONDS = {"linear": 1.0}', {"linear"}),
        ('f"{family}.informativeness"', {".informativeness"}),
        ('if metric.source.name == "information": pass', {"information"}),
        ('"""Like mig, but kinder."""', set()),
        ('class Options:\n    forest: str\n    def check(self):\n        check_choice("forest")', set()),
        ('class Claim(StrEnum):\n    MODULARITY = "modularity"', set()),
        ('class Reader:\n    best = "modularity"', {"modularity"}),
    ],
)
def test_the_search_finds_names_and_passes_over_other_words(text, found):
    assert named(text) == found


def modules():
    names = [found.name for found in pkgutil.walk_packages(metrics.__path__, "unbraid.metrics.")]
    return [importlib.import_module(name) for name in names]


def test_every_row_of_every_file_is_in_the_table_and_its_function_is_public():
    rows = {row.name: row for module in modules() for row in getattr(module, "ROWS", ())}
    assert rows == METRICS
    for row in rows.values():
        assert getattr(metrics, row.function.__name__) is row.function
        assert row.function.__name__ in metrics.__all__


def statements(text: str, module: str) -> int:
    """Count the statements of a file in which the name of a module stands."""
    return sum(re.search(rf"\b{module}\b", ast.unparse(node)) is not None for node in ast.parse(text).body)


@pytest.mark.parametrize("module", [module.__name__ for module in modules() if hasattr(module, "ROWS")])
def test_a_file_of_metrics_is_registered_by_one_statement(module):
    lists = [(SOURCE / "metrics" / name).read_text(encoding="utf-8") for name in ("__init__.py", "table/catalogue.py")]
    assert [statements(text, re.escape(module)) for text in lists] == [1, 0]


def test_a_metric_stands_on_one_line_outside_its_own_file():
    # mcc shares no word with another vocabulary, and no other metric is computed from it.
    lines = [
        f"{path.name}: {line}"
        for path in SOURCE.rglob("*.py")
        if path.name != "mcc.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\b_?mcc\b", line)
    ]
    assert lines == ["__init__.py: from unbraid.metrics.identification.mcc import mcc as mcc"]


def blocks(section: str) -> list[str]:
    """Return the Python of one section of the page on adding a metric."""
    page = (ROOT / "docs" / "adding_a_metric.md").read_text(encoding="utf-8")
    [text] = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Write the one file that the documentation shows, import it, and put its row into the table."""
    [source] = blocks("The file")
    path = tmp_path / "capture.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("capture", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [row] = module.ROWS
    monkeypatch.setitem(METRICS, row.name, row)
    return row


def test_a_metric_of_one_file_is_listed_and_found(row):
    assert row.name not in NAMES
    assert list_metrics().loc[row.name, "question"] == row.summary
    assert list_metrics().index[-1] == row.name
    assert describe_metric(row)["options"]["n_bins"] == 20
    assert meant("capture score") == meant(row.other_names[0]) == [row.name]


def test_a_metric_of_one_file_is_scored_and_drawn(row):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 40, (2000, 2))
    report = ub.evaluate(factors + 0.0, factors, metrics=f"{row.name},mig", n_jobs=1, progress=False)
    score = report[row.name]
    assert score.low <= score.value <= score.high
    assert score.null < score.value
    top = ceiling(row.name, score.value, report.setup)
    assert top.value == pytest.approx(np.log(20) / np.log(40))
    page = render(report)
    assert all(text in page for text in (row.title, row.summary, row.reference))


def test_a_metric_of_one_file_says_that_dependence_misleads_it_and_what_replaces_it(row):
    first = np.random.default_rng(0).integers(0, 4, 400)
    factors = np.stack([first, (first + (np.arange(400) % 5 == 0)) % 4], axis=1)
    report = ub.evaluate(factors + 0.0, factors, metrics=row.name, intervals=False, nulls=False, n_jobs=1)
    assert any(row.misled_by_dependence in note for note in report[row.name].notes)
    assert any("Read dependent.explicitness instead" in note for note in report.notes)


def test_a_metric_of_one_file_is_audited_with_its_known_failures(row):
    cases = ["independent/duplicated", "continuous/identity"]
    found = audit.run(row.name, cases=cases, n_seeds=2, n_rows=300, n_jobs=1, progress=False)
    reasons = {one["case"]: one["reason"] for one in found.to_dict()["findings"]}
    [edges] = row.known_failures
    assert reasons["continuous/identity"].startswith(edges.sentence)
    assert reasons["independent/duplicated"] is None
