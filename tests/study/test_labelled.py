"""Families that read labels, in studies."""

import pytest

from helpers.inline_engine import InlineEngine
from unbraid.study import Store, estimate_cost, make_plan, parse_study, status
from unbraid.study.run import run_jobs
from unbraid.study.state import keep_study
from unbraid.study.store import read_blocks

STUDY = """\
name: labelled
data: [sprites_mini]
rows: 300
models:
  - {family: diva, labels: {y: shape, d: scale}, labelled: 0.5}
  - {family: vfae, hyperparameters: {mmd: [0, 10]}}
  - {family: dc_ign, labels: [x, y]}
seeds: 1
training: {n_steps: 2, n_codes: 6, width: 2, batch: 8, learning_rate: 1e-3}
scores: {metrics: [mig, blocks], rows: [300]}
"""
PLAIN = STUDY.replace(", labels: {y: shape, d: scale}, labelled: 0.5", "").replace(", labels: [x, y]", "")


@pytest.mark.slow
def test_models_are_trained_with_their_labels_and_scored_by_their_blocks(tmp_path):
    store, plan = Store(tmp_path), make_plan(parse_study(STUDY))
    keep_study(plan.study, store)
    state = run_jobs(status(store, plan), InlineEngine())
    table = state.table()
    assert not table["failure"].astype(bool).any()
    blocks = {model.family: read_blocks(store, model) for model in plan.models}
    assert blocks["diva"] == {"z_d": [0, 1], "z_y": [2, 3], "z_x": [4, 5]}
    assert blocks["dc_ign"] == {"x": [0], "y": [1], "rest": [2, 3, 4, 5]}
    assert blocks["vfae"] == {}
    assert set(table[(table["name"] == "blocks") & table["value"].notna()]["family"]) == set(blocks)


def test_cost_of_a_table_and_of_three_encoders_is_estimated(tmp_path):
    text = STUDY.replace("sprites_mini", "applicants").replace("  - {family: dc_ign, labels: [x, y]}\n", "")
    one = "  - {family: diva, labels: {y: shape, d: scale}, labelled: 0.5}\n"
    pictures = STUDY.replace("n_steps: 2,", "n_steps: 100000,")
    costs = {
        name: estimate_cost(status(Store(tmp_path / name), make_plan(parse_study(study))))
        for name, study in {"table": text.replace(one, ""), "all": pictures, "less": pictures.replace(one, "")}.items()
    }
    assert costs["table"].core_hours > 0
    assert costs["all"].core_hours - costs["less"].core_hours > 0.5 * costs["less"].core_hours  # two of three others


def test_labels_make_another_model_and_their_defaults_do_not():
    plain, labelled = (make_plan(parse_study(text)) for text in (PLAIN, STUDY))
    keys = [{model.family: model.key for model in plan.models} for plan in (plain, labelled)]
    assert keys[0]["vfae"] == keys[1]["vfae"]
    assert keys[0]["diva"] != keys[1]["diva"]
    assert keys[0]["dc_ign"] != keys[1]["dc_ign"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("labels: {y: shape, d: scale}", "labels: {y: shape}", "labels of diva must name a factor for y and d"),
        ("family: dc_ign", "family: vae", "labels are for diva, vfae, dc_ign, got them for vae"),
        ("labelled: 0.5", "labelled: 0", "labelled must be a share above 0 and at most 1, got 0"),
        ("labels: [x, y]", "labelled: 0.5", "labelled is for diva, vfae, got it for dc_ign"),
    ],
)
def test_bad_labels_are_found_before_anything_starts(before, after, message):
    with pytest.raises(ValueError, match=message):
        parse_study(STUDY.replace(before, after))


def test_a_family_may_be_called_a_model():
    with_model = parse_study(STUDY.replace("family: diva", "model: diva"))
    assert with_model == parse_study(STUDY)
    with pytest.raises(ValueError, match="'family' is given twice"):
        parse_study(STUDY.replace("family: diva", "model: diva, family: diva"))
