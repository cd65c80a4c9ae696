"""The core needs none of the heavy libraries that may or may not be there."""

import json
import subprocess
import sys

import pytest

from helpers.small import save_npz
from unbraid._base.optional import pip_install

pytestmark = pytest.mark.slow

HEAVY = ("torch", "lightgbm", "matplotlib")


def run_python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


NO_TORCH = """
import sys


class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoTorch())
"""


def test_scores_where_torch_cannot_be_imported(tmp_path):
    code = """
import unbraid
from unbraid.cli import main
main(["score", sys.argv[1], "--metrics", "mig,dci_linear,z_diff", "--json", "-"])
"""
    done = run_python(NO_TORCH + code, save_npz(tmp_path))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["scores"]) == 5
    assert report["failures"] == {}


def test_the_mlp_ladder_says_what_to_install_and_the_others_do_without(tmp_path):
    code = """
import unbraid
rep = unbraid.load(sys.argv[1])
try:
    unbraid.metrics.dci_es(rep)
except ValueError as error:
    print(error)
unbraid.metrics.dci_es(rep, ladder="linear", importance="sage")
unbraid.metrics.dci_es(rep, ladder="fourier", importance="permutation")
unbraid.metrics.dci_es(rep, ladder="forest")
"""
    done = run_python(NO_TORCH + code, save_npz(tmp_path))
    assert done.returncode == 0, done.stderr
    said = done.stdout.strip()
    assert said.startswith("the mlp ladder needs torch,")
    assert said.endswith(f"run {pip_install('torch')}, or choose ladder='forest', 'fourier' or 'linear'.")


def test_importing_the_library_loads_nothing_heavy():
    code = f"""
import sys
import unbraid, unbraid.metrics, unbraid.cli
print([name for name in {HEAVY} if name in sys.modules])
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_tasks_are_solved_and_the_network_says_what_to_install():
    code = """
import numpy as np
from unbraid import Representation
from unbraid.downstream import solve_all
codes = np.random.default_rng(0).normal(size=(60, 2))
table = solve_all(Representation(codes, {"v": codes[:, 0]}), tasks=["factors"], predictors=["mlp", "linear"])
print(table.failure.tolist(), table.value.round(3).tolist())
"""
    done = run_python(NO_TORCH + code)
    assert done.returncode == 0, done.stderr
    sentence = f"the mlp predictor needs torch, which is not installed; run {pip_install('torch')}."
    assert done.stdout.strip() == f"{[sentence, '']} [nan, 1.0]"


def test_a_study_that_trains_is_refused_at_once(tmp_path):
    code = """
from unbraid.cli import main
main(["study", "run", "mini", "--store", sys.argv[1]])
"""
    done = run_python(NO_TORCH + code, tmp_path / "store")
    assert (done.returncode, done.stdout) == (2, "")
    sentence = "unbraid: training the models of study 'mini' needs torch, which is not installed; run "
    assert done.stderr == f"{sentence}{pip_install('train')}.\n"
    assert not (tmp_path / "store").exists()
