"""Study files: what is read, and what is said of those that are wrong."""

import time

import pytest

from unbraid.study import load_study, parse_study, ready_studies
from unbraid.study.plan import make_plan

GOOD = """\
name: small
data: [sprites_mini]
rows: 500
models:
  - {family: beta_vae, hyperparameters: {beta: [1, 4]}}
  - family: vae
seeds: 2
training: {n_steps: 10, learning_rate: 1e-3}
scores: {metrics: [mig, dci_linear], rows: [500, 100]}
tasks:
  - {tasks: [factors], predictors: [linear]}
"""


def test_a_study_says_what_it_said_in_yaml():
    study = parse_study(GOOD)
    assert study.seed_list == (0, 1)
    assert study.models[0].settings() == [{"beta": 1.0}, {"beta": 4.0}]
    assert study.models[1].settings() == [{}]
    assert study.score_rows == (500, 100)
    assert study.training.batch == 64


def test_numbers_that_yaml_takes_for_text_are_numbers():
    assert parse_study(GOOD).training.learning_rate == 0.001


@pytest.mark.parametrize(
    ("name", "n_models", "n_scores", "n_tasks"), [("thesis", 1800, 15, 12), ("iwo", 2160, 7, 3), ("mini", 36, 17, 12)]
)
def test_ready_studies_have_the_published_sizes(name, n_models, n_scores, n_tasks):
    plan = make_plan(load_study(name))
    trained = [model for ensemble in plan.ensembles for model in ensemble.members]
    assert len(trained) == len({model.key for model in trained}) == n_models
    scores = {one.name for one in plan.measurements if one.kind == "score"}
    solved = {(one.name, one.predictor) for one in plan.measurements_of(plan.models[0]) if one.kind == "task"}
    assert (len(scores), len(solved)) == (n_scores, n_tasks)


def test_the_studies_that_come_along_are_listed():
    assert ready_studies() == ["iwo", "mini", "thesis"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seeds: 2", "seed_count: 2", r"line 7: unknown key 'seed_count'; did you mean 'seeds'|line 7: unknown key"),
        ("seeds: 2", "seeds: many", "line 7: seeds has the wrong type"),
        ("seeds: 2", "seeds: 100000000", r"line 7: a study can have 1000000 models at most, got 300000000; give fewer"),
        ("seeds: 2", "seeds: [1, 99999999999999999999]", r"line 7: seeds must be at most 4294967295"),
        ("seeds: 2", "seeds: 2\nseed: -1", r"line 8: seed must be"),
        ("seeds: 2", "seeds: 2\nagreement: {rows: 0}", r"line 8: agreement.rows must be at least 10, got 0"),
        ("seeds: 2", "seeds: 2\nagreement: {rows: -1}", r"line 8: agreement.rows must be at least 10, got -1"),
        ("rows: [500, 100]", "rows: [2]", r"line 9: scores.rows must be at least 10, got 2"),
        ("seeds: 2", "seeds: 0", "line 7: seeds must be a number above 0"),
        ("seeds: 2", "seeds: [1, 1]", "line 7: seeds must be"),
        ("[sprites_mini]", "[sprites_mimi]", "line 2: .*sprites_mini"),
        ("name: small\n", "about: x\n", "line 1: name is missing"),
        ("n_steps: 10", "n_steps: -1", r"line 8: training.n_steps must be above 0, got -1"),
        ("n_steps: 10", "n_step: 10", "line 8: unknown key 'n_step'.*n_steps"),
        ("beta: [1, 4]", "betta: [1, 4]", "line 5: beta_vae has no hyperparameter 'betta'; it has beta"),
        ("beta: [1, 4]", "beta: []", "line 5: hyperparameters of beta_vae must be lists of equal length"),
        ("beta: [1, 4]", "beta: [1, x]", "line 5: .*wrong type"),
        ("family: vae", "family: veil", "line 6: .*'veil'"),
        ("[mig, dci_linear]", "[mig, dci_liner]", "line 9: Unknown metric 'dci_liner'.*dci_linear"),
        ("rows: [500, 100]", "rows: [5000]", "line 9: scores.rows must be at most rows, 500, got 5000"),
        ("tasks: [factors]", "tasks: [factor]", "line 11: .*factors"),
        ("predictors: [linear]", "predictors: [liner]", "line 11: .*linear"),
        ("seeds: 2", "seeds: 2\nseeds: 3", "line 8: 'seeds' is given twice"),
        ("seeds: 2", "seeds: [2", "line"),
        ("data: [sprites_mini]", "data: []", "data is missing"),
        ("seeds: 2", "seeds: 2\nrepresentations: {folder: .}", "not both"),
        ("seeds: 2", "seeds: 2\nagreement: {methods: [ridge]}", "line 8: .*lasso"),
        ("seeds: 2", "seeds: two", "expected a whole number or a list, got text; write lists in brackets"),
        ("[mig, dci_linear]", "mig", r"scores.metrics has the wrong type: expected a list, got text; .* \[a, b\]"),
        (
            "beta: [1, 4]",
            "beta: [1, x]",
            r"models\[0\].hyperparameters\[1\] has the wrong type: expected a number, got text",
        ),
        ("beta: [1, 4]", "beta: [1, -4]", "line 5: beta of beta_vae must be 0 or more, got -4"),
        ("beta: [1, 4]", "beta: .inf", "line 5: beta of beta_vae must be 0 or more, got inf"),
        ("name: small", "name: ../small", "line 1: name must be of letters, .* got '../small'"),
        ("name: small", "name: .hidden", "line 1: name must be of letters"),
        ("n_steps: 10", "noise_dim: 9", "line 8: training.noise_dim is for info_gan, which is not among the models"),
        ("tasks: [factors]", "tasks: ['factor:hue']", "line 11: factor of sprites_mini must be one of shape, .*'hue'"),
        ("predictors: [linear]", "train: [351]", "line 11: train must be at most 350, .* got 351"),
        ("predictors: [linear]", "train: [2.5]", "line 11: train must be whole numbers of rows or shares"),
        ("seeds: 2", "\tseeds: 2", "line 7: .*; indent with spaces"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, says):
    assert old in GOOD
    with pytest.raises(ValueError, match=says) as caught:
        parse_study(GOOD.replace(old, new, 1), source="my.yaml")
    assert str(caught.value).startswith("my.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b"])
def test_what_is_no_study_is_refused(text):
    with pytest.raises(ValueError, match="is not a study"):
        parse_study(text)


def test_an_unknown_study_is_told_from_a_file():
    with pytest.raises(ValueError, match=r"study must be a file, or one of iwo, mini, thesis, got 'minni'.*mini"):
        load_study("minni")


def test_options_of_metrics_are_checked():
    text = GOOD.replace("scores: {", "scores: {options: {mig: {n_bin: 3}}, ")
    with pytest.raises(ValueError, match=r"line 9: options for mig must be among .*'n_bin'"):
        parse_study(text)


def test_aliases_that_repeat_aliases_are_refused_before_they_are_built():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    started = time.perf_counter()
    with pytest.raises(ValueError, match="line 6: a study file can have 100000 parts at most"):
        parse_study("\n".join(lines))
    assert time.perf_counter() - started < 1


def test_an_alias_within_itself_is_refused():
    with pytest.raises(ValueError, match="line 2: an alias stands within what it repeats"):
        parse_study("name: x\nscores: &a {options: {mig: *a}}\n")


@pytest.mark.slow
def test_brackets_within_brackets_without_end_are_refused():
    for depth in (60, 5000):
        with pytest.raises(ValueError, match="parts must be at most 50 deep"):
            parse_study("name: " + "[" * depth + "]" * depth)


GAN = GOOD.replace("models:\n", "models:\n  - {family: info_gan, hyperparameters: {weight: [0, 1]}}\n").replace(
    "n_steps: 10,", "n_steps: 10, categories: [3, 2],"
)


def test_info_gan_says_how_its_codes_are_split():
    study = parse_study(GAN)
    assert study.training.categories == (3, 2)
    assert study.models[0].axis == "weight"
    keys = [{model.key for model in make_plan(one).models} for one in (parse_study(GOOD), study)]
    assert not keys[0] & keys[1]


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ("categories: [3, 8],", "training.categories must have at most as many values as n_codes, 10, got 11"),
        ("categories: [1],", "training.categories must be at least 2, got 1"),
        ("noise_dim: -1,", "training.noise_dim must be at least 0, got -1"),
    ],
)
def test_codes_that_do_not_fit_are_refused(training, message):
    with pytest.raises(ValueError, match=message):
        parse_study(GAN.replace("categories: [3, 2],", training))
