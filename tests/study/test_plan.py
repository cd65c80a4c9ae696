"""Keys: what they depend on, and what they do not."""

import numpy as np
import pytest

from study.test_file import GOOD
from unbraid import Representation
from unbraid.representation.files import save
from unbraid.study import parse_study
from unbraid.study.plan import make_plan


def keys(text):
    plan = make_plan(parse_study(text))
    return {key for key, _, _ in plan.wanted(set())}


def model_keys(text):
    return [model.key for model in make_plan(parse_study(text)).models]


def test_every_model_is_measured_once_with_everything():
    plan = make_plan(parse_study(GOOD))
    found = list(plan.wanted(set()))
    assert len(found) == len({key for key, _, _ in found}) == 6 * (4 * 2 + 1)


def test_models_of_one_family_are_trained_together():
    plan = make_plan(parse_study(GOOD))
    assert [(one.family, len(one.members)) for one in plan.ensembles] == [("beta_vae", 4), ("vae", 2)]
    assert plan.ensembles[0].hyperparameters == {"beta": (1.0, 4.0, 1.0, 4.0)}
    assert [model.seed for model in plan.ensembles[0].members] == [0, 0, 1, 1]


def test_more_seeds_leave_the_models_of_whole_blocks_as_they_are():
    text = GOOD.replace("n_steps: 10", "n_steps: 10, ensemble_size: 4").replace("  - family: vae\n", "")
    assert set(model_keys(text)) < set(model_keys(text.replace("seeds: 2", "seeds: 4")))


@pytest.mark.parametrize(
    ("old", "new"), [("n_steps: 10", "n_steps: 20"), ("rows: 500", "rows: 501"), ("learning_rate: 1e-3", "width: 8")]
)
def test_other_training_makes_other_models(old, new):
    assert not set(model_keys(GOOD)) & set(model_keys(GOOD.replace(old, new, 1)))


def test_where_it_runs_and_what_it_is_called_change_nothing():
    other = GOOD.replace("name: small", "name: large\nabout: more").replace("n_steps: 10", "n_steps: 10, gpus: 0.5")
    assert keys(GOOD) == keys(other)


def test_an_option_of_a_metric_changes_only_that_metric():
    other = GOOD.replace("scores: {", "scores: {options: {mig: {n_bins: 7}}, ")
    lost = {one for key, _, one in make_plan(parse_study(GOOD)).wanted(set()) if key not in keys(other)}
    assert {one.name for one in lost} == {"mig"}


def test_an_option_at_its_default_changes_nothing():
    assert keys(GOOD) == keys(GOOD.replace("scores: {", "scores: {options: {mig: {n_bins: 20}}, "))


def test_tasks_may_be_for_some_data_only():
    text = GOOD.replace("predictors: [linear]", "predictors: [linear], only: [sprites]").replace(
        "[sprites_mini]", "[sprites_mini, sprites]"
    )
    solved = {model.dataset for _, model, one in make_plan(parse_study(text)).wanted(set()) if one.kind == "task"}
    assert solved == {"sprites"}


def test_agreement_is_within_settings_and_without_those_that_failed():
    plan = make_plan(parse_study(f"{GOOD}agreement: {{}}\n".replace("seeds: 2", "seeds: 3")))
    assert [len(group) for group in plan.settings] == [3, 3, 3]
    lost = plan.settings[0][0].key
    rest = [one for one in plan.wanted({lost}) if one[2].kind == "agreement"]
    assert len(rest) == 8
    whole = {key for key, _, one in plan.wanted(set()) if one.kind == "agreement"}
    assert len(whole & {key for key, _, _ in rest}) == 6  # two models are compared with others than before


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(2):
        save(Representation(rng.normal(size=(50, 3)), rng.integers(0, 3, (50, 2))), tmp_path / f"m{number}.npz")
    return tmp_path


def given(folder, index=""):
    return f"name: g\nrepresentations: {{folder: {folder}, index: '{index}'}}\nscores: {{metrics: [mig]}}\n"


def test_given_files_are_models_named_after_their_content(folder):
    plan = make_plan(parse_study(given(folder)))
    assert [(model.family, model.dataset) for model in plan.models] == [("m0", "given"), ("m1", "given")]
    before = {model.family: model.key for model in plan.models}
    save(Representation(np.random.default_rng(5).normal(size=(50, 3))), folder / "m1.npz")
    after = {model.family: model.key for model in make_plan(parse_study(given(folder))).models}
    assert before["m0"] == after["m0"]
    assert before["m1"] != after["m1"]


def test_an_index_says_what_files_are(folder):
    (folder / "runs.csv").write_text("file,dataset,family,hyperparameter,seed\nm0.npz,d,f,2,7\nm1.npz,d,f,,8\n")
    first, second = make_plan(parse_study(given(folder, "runs.csv"))).models
    assert (first.dataset, first.family, first.hyperparameter, first.seed) == ("d", "f", 2.0, 7)
    assert second.hyperparameter is None


def test_names_of_an_index_are_read_as_they_are_written(folder):
    """A first column that became row numbers, and words that were read as nothing or as numbers, changed models."""
    (folder / "runs.csv").write_text("file,family,hyperparameter,seed\nm0.npz,NA,2,7,\nm1.npz,01,NA,8,\n")
    first, second = make_plan(parse_study(given(folder, "runs.csv"))).models
    assert (first.family, first.hyperparameter, first.seed) == ("NA", 2.0, 7)
    assert (second.family, second.hyperparameter, second.seed) == ("01", None, 8)


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (
            "file,family\nm0.npz,f\n",
            "must have the columns file, family, hyperparameter, seed; hyperparameter is missing",
        ),
        ("file,family,hyperparameter,seed\nm9.npz,f,1,0\n", r"m9\.npz' of the index is not there"),
        ("file,family,hyperparameter,seed\nm0.npz,f,1,1.5\n", "seed of 'm0.npz' in the index must be a whole number"),
        (
            "file,family,hyperparameter,seed\nm0.npz,f,inf,1\n",
            "hyperparameter of 'm0.npz' in the index must be",
        ),
        ("file,family,hyperparameter,seed\nm0.npz,f,1,0,9\n", "must have 4 columns in each line"),
    ],
)
def test_a_bad_index_is_refused(folder, index, says):
    (folder / "runs.csv").write_text(index)
    with pytest.raises(ValueError, match=says):
        make_plan(parse_study(given(folder, "runs.csv")))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no \.npz files"):
        make_plan(parse_study(given(tmp_path)))
