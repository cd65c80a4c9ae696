"""The examples run, from a folder of their own, and say what their pages promise."""

import runpy
from pathlib import Path

import pytest

from unbraid.study import load_study, make_plan

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "score_codes.py": ("MIG 0.", "wrote report.html"),
    "compare_models.py": ("sharp is surely better than blurred at", "wrote compared.html"),
    "train_and_score.py": ("modularity", "wrote codes.npz"),
    "own_metric.py": ("passed 4 of 5 cases", "independent/duplicated: should get worse"),
    "explore_shapes.py": ("wrote codes.npz; next: unbraid explore codes.npz --decoder",),
    "explore_faults.py": ("wrote faults.npz; next: unbraid explore faults.npz",),
    "analyse_decoder.py": ("latents by importance: [0, 1, 2]", "active: [True, True, False]"),
}


def test_every_example_is_tested_and_listed():
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert scripts == set(SAYS)
    assert all(f"]({name})" in listed for name in scripts)


def test_the_study_for_a_gpu_shares_one_card_between_two_programs():
    plan = make_plan(load_study(EXAMPLES / "gpu_study.yaml"))
    assert (len(plan.models), len(plan.ensembles), plan.study.training.gpus) == (36, 3, 0.5)
    assert "](gpu_study.yaml)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAYS)
def test_runs_and_says_what_it_should(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    out = capsys.readouterr().out
    for part in SAYS[name]:
        assert part in out
    for line in out.splitlines():
        if line.startswith("wrote "):
            assert (tmp_path / line.split()[1].rstrip(";")).stat().st_size > 0
