"""Codes of data that models were not trained on."""

import numpy as np
import pytest

from helpers.inline_engine import InlineEngine
from unbraid.data import DATASETS, load_dataset, sprites_mini, sprites_square
from unbraid.data.catalogue import DatasetEntry
from unbraid.models import load_models
from unbraid.study import Store, make_plan, parse_study, status
from unbraid.study.run import find_leftovers, run_jobs
from unbraid.study.state import keep_study
from unbraid.study.store import read_codes, read_factors

STUDY = """
name: elsewhere
data: [sprites_mini]
also: [square_mini]
rows: 300
models: [{family: beta_vae, hyperparameters: {beta: [1, 4]}}]
seeds: 2
training: {n_steps: 2, n_codes: 3, width: 4, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig]}
tasks:
  - {tasks: ["factor:shape"], predictors: [linear]}
  - {tasks: [square], predictors: [linear], only: [square_mini]}
agreement: {methods: [spearman], rows: 100}
"""


@pytest.fixture(autouse=True)
def squares(monkeypatch):
    first = DATASETS["sprites_mini"]
    entry = DatasetEntry(
        **{
            **{name: getattr(first, name) for name in DatasetEntry.__slots__},
            "name": "square_mini",
            "read": lambda: sprites_square(sprites_mini()),
        }
    )
    monkeypatch.setitem(DATASETS, "square_mini", entry)


@pytest.mark.slow
def test_models_encode_data_that_they_were_not_trained_on(tmp_path):
    store, plan = Store(tmp_path / "store"), make_plan(parse_study(STUDY))
    keep_study(plan.study, store)
    engine = InlineEngine()
    state = run_jobs(status(store, plan), engine)
    assert state.is_complete
    assert [job.kind for job in engine.ran].count("train") == 1
    table = state.table().query("factor == '' and kind != 'model'")
    measured = table.groupby(["dataset", "kind", "name"]).size()
    assert measured.to_dict() == {
        ("sprites_mini", "agreement", "udr_spearman"): 4,
        ("sprites_mini", "score", "mig"): 4,
        ("sprites_mini", "task", "factor:shape"): 4,
        ("square_mini", "agreement", "udr_spearman"): 4,
        ("square_mini", "task", "square"): 4,
    }
    assert not find_leftovers(store).files
    (ensemble,) = plan.ensembles
    rows = read_factors(store, plan, "square_mini")["rows"]
    pictures = load_dataset("square_mini").observations(rows)
    own = load_models(tmp_path / "store" / "models" / ensemble.key).encode(pictures)
    for number, model in enumerate(ensemble.elsewhere):
        np.testing.assert_allclose(read_codes(store, model)[0], own[number], atol=1e-5)


def test_a_study_without_other_data_has_the_keys_that_it_had():
    with_squares = make_plan(parse_study(STUDY))
    lines = [line for line in STUDY.splitlines() if "square_mini" not in line]
    without = make_plan(parse_study("\n".join(lines)))
    assert [one.key for one in without.ensembles] == [one.key for one in with_squares.ensembles]
    assert without.models == with_squares.ensembles[0].members


@pytest.mark.parametrize(
    ("also", "says"),
    [
        ("[sprites_square]", r"line 4: also must have pictures of the shape .* \(1, 64, 64\)"),
        ("[sprites_mini]", "line 4: also must name data sets once, and none of data"),
        ("[squares]", "line 4: also must be one of"),
    ],
)
def test_other_data_that_models_cannot_encode_are_refused(also, says):
    with pytest.raises(ValueError, match=says):
        parse_study(STUDY.replace("[square_mini]\nrows", f"{also}\nrows"))
