"""What a machine lacks for a study is said in one sentence before anything starts."""

import sys

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid import Representation
from unbraid._base.optional import pip_install
from unbraid.representation.files import save
from unbraid.study import Store, load_study, make_plan, parse_study, run_study, status
from unbraid.study import state as needs

TRAINED = """\
name: tiny
data: [sprites_mini]
rows: 400
models:
  - {family: vae}
training: {n_steps: 3, n_codes: 4, width: 4, batch: 8}
scores: {metrics: [mig]}
"""


@pytest.fixture
def given(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (100, 2))
    save(Representation(factors + rng.normal(size=(100, 2)), factors), tmp_path / "one.npz")
    return f"name: given\nrepresentations: {{folder: {tmp_path}}}\nscores: {{metrics: [mig]}}\n"


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("no_torch")
def test_training_without_torch_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"^training the models of study 'tiny' needs torch") as caught:
        run_study(parse_study(TRAINED), tmp_path / "store")
    assert str(caught.value).endswith(f"which is not installed; run {pip_install('train')}.")
    assert not (tmp_path / "store").exists()


@pytest.mark.usefixtures("no_torch")
def test_the_command_line_says_so_before_any_estimate(capsys, tmp_path):
    status, out, err = run_cli(capsys, "study", "run", "mini", "--store", tmp_path / "store")
    assert (status, out) == (2, "")
    sentence = "training the models of study 'mini' needs torch, which is not installed"
    assert err == f"unbraid: {sentence}; run {pip_install('train')}.\n"


@pytest.mark.usefixtures("no_torch")
def test_what_is_trained_already_is_measured_without_torch(tmp_path):
    plan, store = make_plan(load_study("mini")), Store(tmp_path)
    for model in plan.models:
        store.write(model.codes, b"")
    needs.check_torch(status(store, plan))


@pytest.mark.usefixtures("no_torch")
def test_only_the_network_among_predictors_needs_torch(given, tmp_path):
    tasks = "tasks:\n  - {tasks: [factors], predictors: [PREDICTOR]}\n"
    needs.check_torch(status(Store(tmp_path), parse_study(given + tasks.replace("PREDICTOR", "forest"))))
    with pytest.raises(ValueError, match=r"^the predictor mlp of study 'given' needs torch") as caught:
        run_study(parse_study(given + tasks.replace("PREDICTOR", "mlp")), tmp_path / "store")
    assert pip_install("torch") in str(caught.value)


def test_files_of_data_sets_that_are_not_there_are_named(tmp_path):
    text = TRAINED.replace("[sprites_mini]", "[sprites_mini, dsprites]")
    with pytest.raises(ValueError, match="dsprites is not in the data folder; run `unbraid data fetch dsprites`"):
        run_study(parse_study(text), tmp_path / "store", data_folder=tmp_path, memory="100G")
    assert not (tmp_path / "store").exists()


def test_a_gpu_that_is_not_there_is_named(monkeypatch, tmp_path):
    text = TRAINED.replace("n_steps: 3", "n_steps: 3, device: cuda")
    monkeypatch.setattr(needs, "visible_cards", list)
    with pytest.raises(ValueError, match="study 'tiny' needs 1 GPU, and torch sees none here; write device: cpu"):
        run_study(parse_study(text), tmp_path / "store")
    monkeypatch.setattr(needs, "visible_cards", lambda: ["0"])
    needs.check_needs(status(Store(tmp_path), parse_study(text)))
