"""Every benchmark can be imported and run: at its smallest sizes, and without touching the numbers that are kept."""

import ast
import importlib
import json
import operator
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
#: Modules that other benchmarks import, and the one that fills a table in.
HELPERS = {"beside", "blocks", "measure", "readme", "stores", "structures", "worlds"}
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in HELPERS)
#: What is not there on a machine with NumPy and torch only.
MISSING = {"lightgbm", "msgspec", "pandas", "pyarrow", "scipy", "sklearn", "threadpoolctl", "yaml"}


@pytest.fixture
def benchmark(monkeypatch):
    """Import a benchmark as its own folder does, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for path in FOLDER.glob("*.py"):  # folders of tests have some of these names too
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    before = set(sys.modules)
    yield importlib.import_module
    for name in [name for name in set(sys.modules) - before if (FOLDER / f"{name}.py").is_file()]:
        del sys.modules[name]


def kept():
    return {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # two hundred rows are too few for many a fit
@pytest.mark.parametrize("script", SCRIPTS)
def test_runs_in_small_and_writes_nothing(benchmark, script, capsys):
    before = kept()
    benchmark(script).main(["--tiny"])
    assert capsys.readouterr().out
    assert kept() == before


@pytest.mark.parametrize("helper", sorted(HELPERS))
def test_helpers_are_imported(benchmark, helper):
    assert benchmark(helper)


def test_every_benchmark_has_a_main_that_takes_arguments():
    for script in SCRIPTS:
        tree = ast.parse((FOLDER / f"{script}.py").read_text(encoding="utf-8"))
        (main,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
        assert [argument.arg for argument in main.args.args] == ["arguments"], script


@pytest.mark.slow
def test_numbers_are_written_where_asked_beside_those_that_are_there(benchmark, tmp_path, capsys):
    output = tmp_path / "sprites.json"
    benchmark("sprites").main(["--tiny", "--output", str(output)])
    assert set(json.loads(output.read_text())) == {"machine", "pictures_per_second"}
    benchmark("measure").keep(output, {"more": 1}, beside_others=True)
    assert set(json.loads(output.read_text())) == {"machine", "pictures_per_second", "more"}


@pytest.mark.slow
@pytest.mark.parametrize("script", ["ensemble", "manifold", "orthogonality"])
def test_runs_where_only_numpy_and_torch_are_there(script):
    code = f"""
import sys
from importlib.machinery import PathFinder

found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in {MISSING!r} else found(name, *more)
sys.path.insert(0, {str(FOLDER)!r})
import {script}
{script}.main(["--tiny", "--arrays-only"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_work_is_measured_in_a_process_of_its_own(benchmark):
    found = benchmark("measure").measure(operator.is_, benchmark("worlds").dsprites_like, (50,))
    assert found.seconds > 0
