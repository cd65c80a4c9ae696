"""The panel with ladders of probes: asked for by name, intervals without refitting, nulls where they mean something."""

import json

import numpy as np
import pytest

import unbraid as ub
from unbraid.metrics import METRICS
from unbraid.metrics.table.sources import LOSS_CAPACITY
from unbraid.probes.capacity import CapacityLevel, EstimatorLadder, ForestLadder, MLPLadder
from unbraid.probes.sage import SageOptions

NAMES = [f"dci_es.{name}" for name in ("disentanglement", "completeness", "informativeness", "explicitness", "size")]
FOREST = {"ladder": ForestLadder(depths=(1, 2, 4, 8), n_trees=10)}
MLP = {"ladder": MLPLadder(widths=(2, 16), n_steps=30), "sage": SageOptions(max_rows=128, n_background=8)}


def world(n_samples=500, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.uniform(-1, 1, (n_samples, 2))
    codes = np.column_stack([factors[:, 0], factors[:, 1] ** 3 + 0.3 * factors[:, 0], rng.standard_normal(n_samples)])
    return codes + 0.1 * rng.standard_normal(codes.shape), factors


def evaluate(options, **more):
    return ub.evaluate(*world(), metrics="dci_es", options={"dci_es": options}, **more)


@pytest.fixture(scope="module")
def forest():
    return evaluate(FOREST)


def test_family_gives_five_scores(forest):
    assert list(forest) == NAMES
    assert forest.failures == {}


def test_ladder_by_name():
    report = evaluate({"ladder": "linear"}, nulls=False, intervals=False)
    assert list(report) == NAMES
    assert report.setup.options["dci_es.size"]["ladder"] == "linear"


def test_intervals_hold_their_values(forest):
    for name in NAMES[:4]:
        score = forest[name]
        assert score.low <= score.value <= score.high
        assert score.high - score.low < 0.3
    assert forest["dci_es.explicitness"].high - forest["dci_es.explicitness"].low > 1e-3
    assert "100 bootstraps of the held-out rows" in forest.interval_methods["dci_es.explicitness"]


def test_nulls_only_where_chance_has_a_meaning(forest):
    for name in NAMES:
        has_null = METRICS[name].has_null
        assert (forest[name].null is not None) == has_null
        assert (forest[name].beats_chance is not None) == has_null
    assert {name for name in NAMES if not METRICS[name].has_null} == {"dci_es.explicitness", "dci_es.size"}
    assert forest["dci_es.informativeness"].null < 0.1
    assert forest["dci_es.informativeness"].beats_chance is True


def test_no_interval_where_importances_have_no_errors():
    report = evaluate({"ladder": "linear"}, nulls=False)
    assert report["dci_es.disentanglement"].low is None
    assert "No interval: weights come without standard errors." in report["dci_es.disentanglement"].notes
    assert report["dci_es.informativeness"].low is not None


@pytest.mark.slow
@pytest.mark.parametrize("options", [FOREST, MLP], ids=["forest", "mlp"])
def test_any_number_of_workers_gives_identical_scores(options):
    one, two = (json.loads(evaluate(options, n_jobs=n).to_json())["scores"] for n in (1, 2))
    assert one == two


def test_settings_of_the_ladder_are_recorded():
    report = evaluate(MLP, nulls=False, intervals=False)
    kept = json.loads(report.to_json())["meta"]["options"]["dci_es.explicitness"]
    assert kept["ladder"]["type"] == "MLPLadder"
    assert kept["ladder"]["widths"] == [2, 16]
    assert kept["sage"]["max_rows"] == 128


def test_failure_says_why_and_leaves_the_others():
    levels = (CapacityLevel(capacity=1), CapacityLevel(capacity=2))
    report = ub.evaluate(
        *world(), metrics="dci_es,r2", options={"dci_es": {"ladder": EstimatorLadder(levels=levels)}}, nulls=False
    )
    assert list(report) == ["r2"]
    assert "level 1 has no regressor" in report.failures["dci_es.size"]


def test_without_importances_the_other_scores_remain():
    report = evaluate(FOREST | {"importance": "none"}, nulls=False, intervals=False)
    assert list(report) == NAMES[2:]
    assert "need importances" in report.failures["dci_es.disentanglement"]


def test_a_redraw_that_fails_costs_the_interval_only(monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("no luck")

    monkeypatch.setattr(type(LOSS_CAPACITY), "redraw", property(lambda self: fail), raising=False)
    report = evaluate(FOREST, nulls=False)
    assert list(report) == NAMES
    assert "No interval: RuntimeError: no luck" in report["dci_es.explicitness"].notes


def test_nulls_use_lighter_ladders():
    from unbraid.evidence.loss_capacity import LossCapacityOptions
    from unbraid.probes.capacity import as_ladder

    assert LOSS_CAPACITY.lighten(LossCapacityOptions(ladder="forest")).ladder.n_trees == 10
    networks = LOSS_CAPACITY.lighten(LossCapacityOptions())
    assert (networks.ladder.widths, networks.ladder.n_steps, networks.sage.max_rows) == ((2, 4, 8, 16), 300, 512)
    assert LOSS_CAPACITY.lighten(LossCapacityOptions(ladder="fourier")).ladder.n_features == (16, 32, 64, 128)
    assert LOSS_CAPACITY.lighten(LossCapacityOptions(ladder="linear")).ladder == as_ladder("linear")
