"""The rooms of the house: which package may import which, read from the source with ``ast``."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unbraid"
#: Every edge between rooms that is allowed; imports inside functions and for type checkers count too.
ALLOWED = {
    "_base": set(),
    "representation": {"_base"},
    "data": {"_base", "representation"},
    "models": {"_base", "representation", "data"},
    "probes": {"_base", "representation"},
    "evidence": {"_base", "representation", "probes"},
    "results": {"_base", "representation", "probes", "evidence"},
    "metrics": {"_base", "representation", "probes", "evidence", "results"},
    "interpret": {"_base", "representation", "probes", "evidence", "results", "metrics"},
    "panel": {"_base", "representation", "evidence", "results", "metrics", "interpret"},
    "comparison": {"_base", "results", "metrics", "interpret"},
    "similarity": {"_base", "representation", "results"},
    "manifold": {"_base", "evidence", "results"},
    "downstream": {"_base", "representation", "probes"},
    "audit": {"_base", "representation", "results", "metrics", "panel"},
    "study": {"_base", "representation", "data", "models", "probes", "results", "metrics", "panel", "downstream"},
    "report": {
        "_base",
        "representation",
        "probes",
        "evidence",
        "results",
        "metrics",
        "interpret",
        "panel",
        "comparison",
        "similarity",
        "manifold",
        "audit",
        "study",
    },
    "explorer": {
        "_base",
        "representation",
        "data",
        "models",
        "evidence",
        "results",
        "interpret",
        "panel",
        "manifold",
        "study",
    },
    "reproduce": {
        "_base",
        "representation",
        "data",
        "models",
        "probes",
        "evidence",
        "results",
        "metrics",
        "panel",
        "comparison",
        "manifold",
        "study",
        "report",
    },
    "integrations": {"_base", "representation", "models", "results", "metrics", "panel", "report"},
    "cli": {
        "_base",
        "representation",
        "data",
        "models",
        "evidence",
        "results",
        "metrics",
        "interpret",
        "panel",
        "comparison",
        "similarity",
        "manifold",
        "downstream",
        "audit",
        "study",
        "report",
        "explorer",
        "reproduce",
    },
}
MOST_MODULES = 21
#: Most modules, as a share of all, that only one other module of their room imports without a reason below.
MOST_HALVES = 0.02
LATE = "loads torch or Triton, which its importer does only when asked to"
LONG = "together with its importer it would have more than 500 lines"
SUBJECT = "another subject than its importer"
#: Modules that only one other module of their room imports, each with the reason why both are not one.
HALVES = {
    "downstream.mask_network": LATE,
    "downstream.segmentation": LONG,
    "evidence.jacobians.autodiff": LONG,
    "evidence.subspaces.geometry": LONG,
    "evidence.subspaces.nested": LATE,
    "explorer.api": SUBJECT,  # answers; the importer has sockets and threads
    "explorer.findings": SUBJECT,  # the importer lists what was opened
    "integrations.scores": SUBJECT,  # public without Lightning
    "interpret.weak_factors": LONG,
    "manifold.pair": LATE,
    "models.ensemble.kernels": LATE,
    "models.ensemble.labels": SUBJECT,  # no torch; the importer trains
    "models.ensemble.losses": SUBJECT,  # the place for the loss of a new family
    "models.ensemble.products": LONG,
    "probes.effects": LONG,
    "probes.network": LATE,
    "report.sections": LONG,
    "report.stills": LONG,
    "representation.formats.tensors": LONG,
    "reproduce.explicitness.curves": LONG,
    "reproduce.torus_truth": LATE,
    "study.jobs.agreement": SUBJECT,  # one file for each kind of job
    "study.jobs.train": SUBJECT,
}


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCE.rglob("*.py")}


@cache
def imports_of(path: Path) -> set[str]:
    """Return the modules of unbraid that a file imports anywhere, a package's names by the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "unbraid"}


def room_of(module: str) -> str:
    return f"{module}.".split(".")[1]


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room):
    files = [path for module, path in MODULES.items() if room_of(module) == room]
    assert files
    strays = {
        f"{path.relative_to(SOURCE)} -> {name}"
        for path in files
        for name in imports_of(path)
        if room_of(name) not in {room, *ALLOWED[room], "_version"}
    }
    assert not strays


def test_every_room_is_named_and_the_rooms_form_no_cycle():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms == set(ALLOWED)
    list(TopologicalSorter(ALLOWED).static_order())  # raises CycleError on a cycle


def test_modules_form_no_cycle():
    graph = {module: imports_of(path) - {module, "unbraid"} for module, path in MODULES.items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_folder_has_too_many_modules():
    by_folder = defaultdict(list)
    for path in MODULES.values():
        if path.name != "__init__.py":
            by_folder[path.parent.relative_to(SOURCE)].append(path.name)
    assert {str(folder): len(names) for folder, names in by_folder.items() if len(names) > MOST_MODULES} == {}


def halves() -> set[str]:
    """Return the modules that exactly one other module imports, of the same room and no package's list of names."""
    importers = defaultdict(set)
    for module, path in MODULES.items():
        for name in imports_of(path) - {module}:
            importers[name].add(module)
    alone = {module: next(iter(found)) for module, found in importers.items() if len(found) == 1 and module in MODULES}
    return {
        module.removeprefix("unbraid.")
        for module, importer in alone.items()
        if room_of(module) == room_of(importer) and MODULES[importer].name != "__init__.py"
    }


def test_hardly_any_module_is_half_of_another():
    without_reason = halves() - set(HALVES)
    assert len(without_reason) <= MOST_HALVES * len(MODULES), without_reason


def test_reasons_are_of_modules_that_are_there():
    assert {f"unbraid.{module}" for module in HALVES} <= set(MODULES)


@pytest.mark.slow
def test_a_class_name_has_one_meaning():
    places = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}
