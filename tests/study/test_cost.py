"""Estimates: of the size they should be, from numbers that were measured, and as the documentation says."""

import json
from pathlib import Path

import pytest

from unbraid.metrics import METRICS
from unbraid.study import Store, estimate_cost, load_study, make_plan, status
from unbraid.study.cost import (
    AGREEMENT_SECONDS,
    CPU_MULTIPLICATIONS,
    FACTOR_VAE_TIMES,
    GPU_MULTIPLICATIONS,
    TASK_SECONDS,
    StudyCost,
    network_multiplications,
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


@pytest.mark.parametrize(("name", "gpu", "core", "gigabytes"), [("thesis", 22, 97, 32), ("iwo", 26, 23, 21)])
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
