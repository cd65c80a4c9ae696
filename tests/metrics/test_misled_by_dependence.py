"""The flag ``misled_by_dependence`` is measured: same codes of the same factors, independent and dependent."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid.metrics
from unbraid import METRICS
from unbraid.data import cosine_dependence

SCORED = [name for name, row in METRICS.items() if row.family != "dependent" and row.factor_kind is None]


@functools.cache
def gathered(source: str, scenario: str) -> Any:
    found = next(metric.source for metric in METRICS.values() if metric.source.name == source)
    options = found.options()
    if found.lighten is not None:
        options = found.lighten(options)
    return found.gather(cosine_dependence(scenario, n_samples=1500), options, np.random.default_rng(0))


MOVES = json.loads((Path(unbraid.metrics.__file__).parent / "dependence_moves.json").read_text(encoding="utf-8"))[
    "moves"
]


def value(name: str, scenario: str) -> float:
    return METRICS[name].score(gathered(METRICS[name].source.name, scenario)).value


@pytest.mark.parametrize("name", [name for name in SCORED if not METRICS[name].misled_by_dependence])
def test_a_score_without_the_flag_does_not_mind(name):
    assert value(name, "Cos1D") == pytest.approx(value(name, "Cos1I"), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCORED if METRICS[name].misled_by_dependence])
def test_a_score_with_the_flag_moves_or_does_not_see_codes_get_worse(name):
    """Either dependence alone moves it, here or in the kept table, or it does not fall as codes mix more and more."""
    one, two, three = (value(name, scenario) for scenario in ("Cos1D", "Cos2D", "Cos3D"))
    moved = abs(one - value(name, "Cos1I")) > 0.01 or max(map(abs, MOVES.get(name, [0.0]))) > 0.05
    fell = one > two + 0.02 and two > three + 0.02
    assert moved or not fell


def test_the_scores_for_dependent_factors_have_no_flag():
    assert not any(metric.misled_by_dependence for metric in METRICS.values() if metric.family == "dependent")
