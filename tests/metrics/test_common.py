"""What every row of the table of metrics promises, checked for all of them at once."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.worlds import random_factors, random_rotation, standardised
from unbraid import METRICS, Representation, Score
from unbraid.metrics import Invariance, Metric, Source
from unbraid.probes.capacity import MLPLadder
from unbraid.probes.sage import SageOptions

#: CPU seconds of gathering evidence of 2000 rows above which a metric is not among the fast tests.
DEAR = 0.3


def of_metrics(*metrics):
    """Return the metrics as parameters of a test, dear ones marked as slow."""
    return [
        pytest.param(metric, id=metric.name, marks=[pytest.mark.slow] if metric.source.seconds[0] > DEAR else [])
        for metric in metrics
    ]


every_metric = pytest.mark.parametrize("metric", of_metrics(*METRICS.values()))

CHANGES = {
    Invariance.PERMUTATION: lambda z, rng: z[:, rng.permutation(z.shape[1])],
    Invariance.SCALING: lambda z, rng: z * rng.choice([0.2, 7.0], z.shape[1]) + 3,
    Invariance.WARPING: lambda z, rng: np.exp(1.2 * z),
    Invariance.ROTATION: lambda z, rng: z @ random_rotation(z.shape[1], rng),
}


def entangled_world(n_samples: int = 1500, seed: int = 3) -> Representation:
    """Every kind of factor, codes that mix them, noise: no metric is at an end of its range."""
    rng = np.random.default_rng(seed)
    levels = random_factors(3, 5, 8, n_samples=n_samples, seed=seed)
    depth = rng.uniform(size=n_samples)
    s = standardised(np.column_stack([levels, depth]).astype(float))
    mix = np.eye(4) + 0.25 * rng.standard_normal((4, 4))
    codes = np.column_stack([s @ mix, s[:, 1] + s[:, 2] ** 2]) + 0.3 * rng.standard_normal((n_samples, 5))
    codes *= [1.0, 2.0, 0.5, 1.5, 1.0]
    factors = {
        "shape": np.array(["a", "b", "c"])[levels[:, 0]],
        "size": levels[:, 1],
        "turn": levels[:, 2],
        "depth": depth,
    }
    return Representation(codes, factors, kinds={"turn": "circular"})


WORLD = entangled_world()


#: Settings that keep the dearest metrics quick; what they promise must hold with these too.
QUICK: dict[str, dict[str, Any]] = {
    "dci_es": {"ladder": MLPLadder(widths=(8,), n_steps=200), "sage": SageOptions(n_background=16, max_rows=1024)},
    "dependent": {"n_trees": 8, "max_rows": 600},
    "sparse_probe": {"k": 2},  # of all five codes there is nothing to choose
    "unibound": {"n_trees": 5, "max_rows": 2000},
}


def score(metric: Metric, rep: Representation, seed: int = 0) -> Score:
    evidence, rest = metric.split_options(QUICK.get(metric.family, {}))
    return metric.score(gathered(metric.source, rep, evidence, seed), **rest)


@functools.cache
def gathered(source: Source, rep: Representation, options: Any, seed: int) -> Any:
    """Gather evidence; metrics that share it on the same world share the work."""
    return source.gather(rep, options, np.random.default_rng(seed))


@functools.cache
def changed_world(change: Invariance) -> Representation:
    return Representation(CHANGES[change](WORLD.codes, np.random.default_rng(1)), WORLD.factors)


@functools.cache
def world_in_other_order() -> Representation:
    return WORLD.take(np.random.default_rng(2).permutation(WORLD.n_samples))


@functools.cache
def world_with_factors_turned_round() -> Representation:
    return WORLD.select_factors(WORLD.factor_names[::-1])


@functools.cache
def world_of_one_factor(kind: str | None = None) -> Representation:
    return WORLD.select_factors(["turn" if kind == "circular" else "size"])


@functools.cache
def world_with_a_dead_code() -> Representation:
    return Representation(np.column_stack([np.full(WORLD.n_samples, 2.0), WORLD.codes]), WORLD.factors)


@functools.cache
def world_with_hidden_labels() -> Representation:
    rng = np.random.default_rng(4)
    codes = np.concatenate([WORLD.codes, WORLD.codes[rng.permutation(WORLD.n_samples)[:300]]])
    columns = {}
    for factor in WORLD.factors:
        values = np.array(factor.levels, dtype=object)[factor.labels] if not factor.is_numeric else factor.numbers
        columns[factor.name] = np.concatenate([values, np.full(300, None if not factor.is_numeric else np.nan)])
    return Representation(codes, columns, kinds={"turn": "circular"})


@functools.cache
def score_of_world(name: str) -> float:
    return score(METRICS[name], WORLD).value


@every_metric
@pytest.mark.parametrize("change", Invariance)
def test_invariances_hold_as_declared_and_no_others(metric, change):
    before, after = score_of_world(metric.name), score(metric, changed_world(change)).value
    if change in metric.invariant_to:
        assert after == pytest.approx(before, abs=metric.tolerance)
    else:
        assert after != pytest.approx(before, abs=max(1e-3, metric.tolerance))


@every_metric
def test_order_of_rows_does_not_matter_beyond_the_choice_of_held_out_rows(metric):
    assert score(metric, world_in_other_order()).value == pytest.approx(score_of_world(metric.name), abs=0.08)


@every_metric
def test_order_of_factors_does_not_matter_beyond_the_choice_of_held_out_rows(metric):
    assert score(metric, world_with_factors_turned_round()).value == pytest.approx(
        score_of_world(metric.name), abs=0.08
    )


@every_metric
def test_value_is_a_plain_float_within_its_bounds(metric):
    value = score_of_world(metric.name)
    low, high = metric.bounds
    assert type(value) is float
    assert low <= value <= high


@every_metric
def test_detail_has_the_shapes_it_should(metric):
    found = score(metric, WORLD)
    if found.per_factor is not None:
        assert found.per_factor.shape == (WORLD.n_factors,)
    if found.per_code is not None:
        assert found.per_code.shape == (WORLD.n_codes,)
    whole = metric.min_factors == 0 or metric.name == "dci_es.size"
    assert found.per_factor is not None or found.per_code is not None or whole


@pytest.mark.parametrize("metric", of_metrics(*{metric.source.name: metric for metric in METRICS.values()}.values()))
def test_same_seed_same_score(metric):
    first = score(metric, WORLD, seed=5).value
    gathered.cache_clear()
    assert score(metric, WORLD, seed=5).value == first


@functools.cache
def result_of_function(function: Callable[..., Any], family: str) -> Any:
    return function(WORLD, **QUICK.get(family, {}))


@every_metric
def test_public_function_gives_what_the_panel_reads(metric):
    found = result_of_function(metric.function, metric.family)
    headline = found if isinstance(found, Score) else getattr(found, metric.name.partition(".")[2])
    if metric.name != "infomec.explicitness":  # its function spends the seed on one of two kinds of evidence
        assert float(headline) == score_of_world(metric.name)


@every_metric
def test_a_dead_code_first_in_line_changes_little(metric):
    """It must not count as a factor's code, divide by zero or end a loop early."""
    found = score(metric, world_with_a_dead_code())
    expected = score_of_world(metric.name)
    if metric.name == "dci_es.size":
        expected = WORLD.n_factors / (WORLD.n_codes + 1)
    if metric.name.endswith(".completeness"):  # its entropy is in base n_codes, dead ones counted
        expected = 1 - (1 - expected) * math.log(WORLD.n_codes) / math.log(WORLD.n_codes + 1)
    assert found.value == pytest.approx(expected, abs=0.04)


@every_metric
def test_unlabelled_rows_are_left_out_not_filled_in(metric):
    """Rows whose labels are hidden carry nonsense codes; the score must not see them where a label is needed."""
    assert score(metric, world_with_hidden_labels()).value == pytest.approx(score_of_world(metric.name), abs=0.08)


@pytest.mark.parametrize("metric", of_metrics(*(m for m in METRICS.values() if m.min_factors == 1)))
def test_one_factor_is_enough_where_the_definition_allows(metric):
    found = score(metric, world_of_one_factor(metric.factor_kind))
    assert metric.bounds[0] <= found.value <= metric.bounds[1]


@pytest.mark.parametrize("metric", of_metrics(*(m for m in METRICS.values() if m.min_factors == 2)))
def test_one_factor_is_refused_where_the_definition_does_not_cover_it(metric):
    with pytest.raises(ValueError, match=r"factors must have at least two columns for .*, got 1"):
        metric.function(WORLD.select_factors(["size"]))


@pytest.mark.parametrize("metric", of_metrics(*(m for m in METRICS.values() if m.min_factors > 0)))
def test_codes_without_factors_are_refused_by_labelled_metrics(metric):
    with pytest.raises(ValueError, match="factors must have at least"):
        metric.function(WORLD.codes)
