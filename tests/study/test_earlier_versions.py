"""Studies, stores and tables of earlier versions: found, read, and named as now.

``data/old_store`` and ``data/mini_keys.json`` were written by commit 0623468, which kept the kind of a failure in the
first words of its reason and called hyperparameters strengths.
"""

import json
import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest

from unbraid.study import Store, load_study, look, make_plan, parse_study, pivot, status
from unbraid.study.jobs.measure import measured_row
from unbraid.study.state import kept_study
from unbraid.study.table import SCHEMA, check_table

DATA = Path(__file__).parent / "data"
KEYS = json.loads((DATA / "mini_keys.json").read_text())
OLD = json.loads((DATA / "old_store.json").read_text())
EARLIER = """
name: small
data: [sprites_mini]
models:
  - {family: factor_vae, strengths: {gamma: [5, 20]}}
training: {steps: 10, codes: 3, judge: 2, together: 4}
"""
NOW = """
name: small
data: [sprites_mini]
models:
  - {family: factor_vae, hyperparameters: {gamma: [5, 20]}}
training: {n_steps: 10, n_codes: 3, discriminator_width: 2, ensemble_size: 4}
"""


@pytest.fixture
def of_that_version(monkeypatch):
    """Keys of measurements depend on the version of the package."""
    monkeypatch.setattr("unbraid.study.plan.__version__", KEYS["version"])


@pytest.fixture
def store(tmp_path):
    return Store(shutil.copytree(DATA / "old_store", tmp_path / "store"))


@pytest.mark.usefixtures("of_that_version")
def test_content_keys_of_a_study_are_those_of_earlier_versions():
    plan = make_plan(load_study("mini"))
    assert [one.key for one in plan.ensembles] == KEYS["ensembles"]
    assert [one.key for one in plan.models] == KEYS["models"]
    assert len(plan.measurements) == len(KEYS["measurements"])
    # Scores and agreements are of other rows than they were, without test rows, and are measured again; so are tasks
    # by forests, which grew on few rows for a while; other tasks are not.
    kept = set(KEYS["measurements"]) & {one.key for one in plan.measurements}
    assert kept == {one.key for one in plan.measurements if one.kind == "task" and one.predictor != "forest"}
    assert not set(KEYS["agreements"]) & {one.key for one in plan.agreements(plan.settings[0])}
    assert plan.rows_key == KEYS["rows"]


def test_a_file_with_earlier_keys_is_the_same_study_and_warns():
    with pytest.warns(DeprecationWarning, match="strengths is now called hyperparameters, steps is now called n_steps"):
        found = parse_study(EARLIER, source="small.yaml")
    assert found == parse_study(NOW)


def test_an_option_that_no_model_takes_is_read_from_a_store_and_refused_in_a_file(store):
    text = NOW.replace("factor_vae, hyperparameters: {gamma: [5, 20]}", "vae")
    with pytest.raises(ValueError, match=r"line 6: training\.discriminator_width is for factor_vae"):
        parse_study(text)
    store.write("studies/other.yaml", text.replace("small", "other").encode())
    assert kept_study(store, "other").training.discriminator_width == 2


def test_an_earlier_key_beside_its_new_name_is_given_twice():
    with pytest.raises(ValueError, match="line 6: 'n_steps' is given twice"):
        parse_study(NOW.replace("n_steps: 10", "n_steps: 10, steps: 20"))


@pytest.mark.usefixtures("of_that_version")
def test_an_old_store_has_the_status_it_had(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = status(store)
    summary = found.summary()
    kinds = [failure.pop("kind") for failure in summary["failures"]]
    assert summary["parts"]["models"] == OLD["summary"]["parts"]["models"]
    assert summary["collapsed"] == OLD["summary"]["collapsed"]
    # The failure of a score is of no interest any more, since scores are of other rows than they were.
    assert [one["why"] for one in summary["failures"]] == [one["why"] for one in OLD["summary"]["failures"]][:2]
    assert kinds == ["diverged", "failed"]
    assert sorted(found.lost) == OLD["lost"]
    assert [model.key for model in found.collapsed] == OLD["collapsed"]
    assert sorted(found.done) == OLD["done"]
    assert [one.family for one in found.to_train] == ["factor_vae"]  # the worker that died is tried again


def test_rows_of_an_old_store_have_the_columns_of_this_version(store):
    table = store.table()
    assert list(table) == SCHEMA.names
    assert table["hyperparameter"].tolist().count(5.0) == 6
    assert table["chance"].dtype == float
    assert table["failure_kind"].value_counts().to_dict() == {"": 3, "failed": 2, "collapsed": 2, "diverged": 1}


@pytest.mark.slow
@pytest.mark.usefixtures("of_that_version")
def test_old_and_new_shards_are_read_and_merged_as_one_table(store):
    before = status(store)
    key, model, sap = next(one for one in before.missing if one[0] not in before.done)
    store.add_rows([{**measured_row(model, sap), "value": 0.5, "chance": 0.1}])
    table = store.table()
    assert table.set_index("key").loc[key, "value"] == 0.5
    assert table.set_index("key").loc[key, "chance"] == 0.1
    store.merge(above=1)
    pd.testing.assert_frame_equal(store.table(), table)
    assert status(store).done == before.done | {key}


def test_an_old_table_is_read_with_a_warning():
    old = pd.read_csv(DATA / "old_table.csv")
    with pytest.warns(DeprecationWarning, match="strength of the table of a study is now called hyperparameter"):
        rows = check_table(old)
    assert sorted(set(rows["failure_kind"])) == ["", "collapsed", "diverged", "failed"]
    assert rows["chance"].equals(old["null"])


def test_earlier_names_of_arguments_and_functions_warn(store):
    rows = store.table()
    with pytest.warns(DeprecationWarning, match='per="setting"'):
        assert pivot(rows, per="strength").per == "setting"
    plan = make_plan(parse_study(NOW))
    with pytest.warns(DeprecationWarning, match=r"status\(store, plan\)"):
        assert look(plan, store).plan is plan
