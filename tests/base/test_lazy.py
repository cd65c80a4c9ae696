"""What a package lends is imported when it is used, and a quick command pays for little."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import unbraid
import unbraid.metrics
import unbraid.report
import unbraid.study

#: Packages that list their names once, in import statements; all but the metrics are imported on first use.
LAZY = [unbraid, unbraid.metrics, unbraid.report, unbraid.study]


def modules_after(code):
    """What a fresh interpreter has imported once it ran some code."""
    code = f"import sys\n{code}\nprint('modules:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("modules:")[2].split())


def promised(package):
    """What type checkers are told a package has, and which module each name is from."""
    tree = ast.parse(Path(package.__file__).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.name: node.module for node in nodes for name in node.names if name.asname == name.name}


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_every_name_is_there_and_is_what_type_checkers_are_told(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    for name, module in promised(package).items():
        there = (
            import_module(f"{module}.{name}") if module == package.__name__ else getattr(import_module(module), name)
        )
        assert getattr(package, name) is there
        assert name in package.__all__


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_public_names_are_those_that_type_checkers_are_told(package):
    assert package.__all__ == sorted(promised(package))


@pytest.mark.parametrize(
    ("package", "before", "now"),
    [
        ("study", "wide", "pivot"),
        ("study", "Cost", "StudyCost"),
        ("audit", "Finding", "CaseFinding"),
        ("audit", "Verdict", "CaseVerdict"),
        ("manifold", "Pictures", "DecoderPictures"),
        ("probes.capacity", "Rung", "CapacityLevel"),
    ],
)
def test_an_earlier_name_warns_and_is_the_new_one(package, before, now):
    module = import_module(f"unbraid.{package}")
    with pytest.warns(DeprecationWarning, match=f"unbraid.{package}.{before} is now called {now}"):
        assert getattr(module, before) is getattr(module, now)
    assert before not in module.__all__
    assert now in module.__all__


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_a_name_that_is_not_there_is_an_error(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


def test_the_package_alone_imports_nothing_else():
    found = modules_after("import unbraid; unbraid.__version__")
    assert not found & {"numpy", "pandas", "scipy", "duckdb"}


def test_a_name_brings_what_it_needs_and_no_more():
    found = modules_after("import unbraid; unbraid.Score")
    assert "unbraid.results.score" in found
    assert not found & {"pandas", "unbraid.metrics", "unbraid.study"}


def test_the_command_line_says_its_version_without_loading_a_command():
    code = "from unbraid.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass"
    assert not modules_after(code) & {"numpy", "pandas"}


@pytest.mark.slow
def test_status_of_a_study_loads_neither_special_functions_nor_what_jobs_need(tmp_path):
    code = "from unbraid.study import load_study, status\n"
    code += f"status({str(tmp_path / 'store')!r}, load_study('mini')).summary()"
    assert not modules_after(code) & {"scipy.special", "scipy.optimize", "sklearn", "torch", "unbraid.study.run"}
