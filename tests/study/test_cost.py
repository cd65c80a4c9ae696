"""Estimates: of the size they should be, from numbers that were measured, and as the documentation says."""

import json
from pathlib import Path

import msgspec
import pytest

from unbraid._base.memory import TooMuchMemoryError
from unbraid.metrics import METRICS
from unbraid.study import Store, estimate_cost, load_study, make_plan, run_study, status
from unbraid.study.cost import (
    AGREEMENT_SECONDS,
    CLASS_TIMES,
    CPU_MULTIPLICATIONS,
    FACTOR_VAE_TIMES,
    GPU_MULTIPLICATIONS,
    PERMUTATION_TIMES,
    ROWS_MEASURED,
    TASK_SECONDS,
    StudyCost,
    check_study_memory,
    network_multiplications,
    training_bytes,
    worker_bytes,
)

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "benchmarks" / "study.json").read_text())


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    return {name: estimate_cost(status(Store(folder), load_study(name))) for name in ("mini", "thesis", "iwo")}


def test_speeds_are_those_measured():
    speeds = MEASURED["speeds"]
    for source in {metric.source for metric in METRICS.values()}:
        assert list(source.seconds) == pytest.approx(speeds["scores"][source.name], rel=0.06)
    for name, seconds in TASK_SECONDS.items():
        assert list(seconds) == pytest.approx(MEASURED["tasks"]["seconds"][name], rel=0.06)
    assert pytest.approx(speeds["agreement_of_a_pair"], rel=0.06) == AGREEMENT_SECONDS


def test_settings_of_the_thesis_take_as_long_as_measured():
    rows, scores = MEASURED["thesis"]["rows"], MEASURED["thesis"]["scores"]
    assert rows[0] == ROWS_MEASURED[0]
    default = MEASURED["speeds"]["scores"]
    assert scores["linear"][0] / default["linear"][0] == pytest.approx(CLASS_TIMES, rel=0.06)
    assert scores["forest"][0] / default["forest"][0] == pytest.approx(PERMUTATION_TIMES, rel=0.06)


@pytest.mark.slow
def test_forests_with_permutation_are_estimated_longer(tmp_path):
    study = load_study("thesis")
    options = {name: one for name, one in study.scores.options.items() if name != "dci_forest"}
    plain = msgspec.structs.replace(study, scores=msgspec.structs.replace(study.scores, options=options))
    hours = [estimate_cost(status(Store(tmp_path), one)).core_hours for one in (study, plain)]
    assert hours[0] > 1.5 * hours[1]


def test_the_speed_of_training_is_that_measured():
    gpu = json.loads((ROOT / "benchmarks" / "ensemble.json").read_text())["cuda, beta_vae"]
    assert 3 * gpu["images_per_second"] * network_multiplications(32, (1, 64, 64)) == pytest.approx(
        GPU_MULTIPLICATIONS, rel=0.05
    )
    families = json.loads((ROOT / "benchmarks" / "ensemble.json").read_text())
    slow, other = (families[f"cuda, family {name}"]["seconds_per_step"] for name in ("factor_vae", "beta_vae"))
    assert slow / other == pytest.approx(FACTOR_VAE_TIMES, rel=0.05)
    mini = load_study("mini")
    n_pictures = MEASURED["mini"]["models"] * mini.training.n_steps * mini.training.batch
    multiplications = 3 * n_pictures * network_multiplications(mini.training.width, (1, 32, 32))
    assert multiplications / MEASURED["mini"]["training_seconds"] == pytest.approx(CPU_MULTIPLICATIONS, rel=0.25)


@pytest.mark.parametrize(("name", "gpu", "core", "gigabytes"), [("thesis", 14, 150, 47), ("iwo", 17, 22, 21)])
def test_the_documentation_says_what_the_estimate_says(costs, name, gpu, core, gigabytes):
    cost = costs[name]
    assert (round(cost.gpu_hours), round(cost.core_hours), round(cost.gigabytes)) == (gpu, core, gigabytes)
    text = (ROOT / "docs" / "scale.md").read_text()
    assert all(f"{number} {unit}" in text for number, unit in ((gpu, "h"), (core, "h"), (gigabytes, "GB")))
    assert f"{cost.n_measurements:,}".replace(",", " ") in text


def test_only_long_studies_ask_to_be_confirmed(costs):
    assert costs["thesis"].is_large
    assert not costs["mini"].is_large
    assert not costs["mini"].gpu_hours


def test_a_cost_is_said_in_words():
    cost = StudyCost(n_models=3, n_measurements=40, gpu_hours=0.5, core_hours=2.0, gigabytes=1.5)
    assert cost.sentence(4) == (
        "To do: 3 models to train, 40 measurements; about 30 min of an H200 and 2 h of one core "
        "(30 min on 4 cores), 1.5 GB in the store."
    )


def test_little_is_said_without_many_digits_and_nothing_as_nothing():
    cost = StudyCost(n_models=0, n_measurements=4, gpu_hours=0, core_hours=1e-6, gigabytes=1e-9)
    assert cost.sentence(2).endswith("about 1 s of one core (1 s on 2 cores), less than 0.01 GB in the store.")
    done = StudyCost(n_models=0, n_measurements=0, gpu_hours=0, core_hours=0, gigabytes=0)
    assert done.sentence().startswith("To do: nothing;")


def test_what_is_done_costs_nothing(tmp_path):
    plan = make_plan(load_study("mini"))
    before = estimate_cost(status(Store(tmp_path), plan))
    for model in plan.ensembles[0].members:
        Store(tmp_path).write(model.codes, b"")
    after = estimate_cost(status(Store(tmp_path), plan))
    assert before.n_models - after.n_models == len(plan.ensembles[0].members)
    assert after.core_hours < before.core_hours


def test_a_large_store_says_how_far_it_is_at_once():
    status = MEASURED["status"]
    assert status["models"] > 10_000
    assert status["status_seconds"] < MEASURED["targets"]["status_seconds"]
    assert MEASURED["mini"]["mini_seconds"] < MEASURED["targets"]["mini_seconds"]


def test_workers_that_would_not_fit_are_refused_before_any_job(tmp_path):
    state = status(Store(tmp_path), load_study("mini"))
    one = worker_bytes(state)
    check_study_memory(state, workers=3, memory=int(3.01 * one))
    with pytest.raises(
        TooMuchMemoryError, match=r"^study 'mini' on 4 workers would take about .* give fewer --workers"
    ):
        check_study_memory(state, workers=4, memory=int(3.01 * one))
    with pytest.raises(TooMuchMemoryError, match=r"on 2 workers"):
        run_study("mini", tmp_path, workers=2, memory="1M", on_start=lambda before: None)
    assert not list(tmp_path.rglob("*.parquet"))


def test_absurd_options_of_scores_count(tmp_path):
    study = load_study("mini")
    more = msgspec.structs.replace(study.scores, options={"dci_forest": {"n_trees": 10**9}})
    absurd = msgspec.structs.replace(study, scores=more)
    states = [status(Store(tmp_path), one) for one in (study, absurd)]
    assert worker_bytes(states[1]) > 1000 * worker_bytes(states[0])


@pytest.mark.parametrize(("width", "batch"), [(8, 32), (32, 64), (8, 256)])
def test_memory_of_training_is_near_that_of_a_step(width, batch, tmp_path):
    pytest.importorskip("torch")
    from unbraid.models.ensemble.memory import member_bytes
    from unbraid.models.ensemble.settings import Settings

    study = load_study("mini")
    study = msgspec.structs.replace(
        study, training=msgspec.structs.replace(study.training, width=width, batch=batch, n_codes=6)
    )
    settings = Settings(
        model="vae",
        data="",
        n_rows=100,
        shape=(1, 32, 32),
        seeds=(0,),
        hyperparameters=(),
        places=(),
        network="conv",
        likelihood="bernoulli",
        n_codes=6,
        width=width,
        discriminator_width=10,
        batch_size=batch,
        learning_rate=1e-3,
        precision="float32",
    )
    assert 0.6 < training_bytes(study, make_plan(study).ensembles[0]) / member_bytes(settings) < 2
