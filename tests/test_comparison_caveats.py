"""A sure difference may be one of nulls, or of the number of codes, and the comparison says so."""

import numpy as np
import pytest

from unbraid import METRICS, Report, Score, evaluate
from unbraid._comparison_caveats import MEANS_OVER_CODES, caveats
from unbraid._differences import Difference
from unbraid.metrics import Cost


def report(scores, n_codes=3):
    scored = {metric: Score(value=value, null=null) for metric, (value, null) in scores.items()}
    return Report(scores=scored, failures={}, interval_methods={}, notes=(), meta={"n_codes": n_codes})


def ahead(metric, better="a", *, sure=True):
    return Difference(metric=metric, first="a", second="b", value=0.1, p_value=0.01, better=better, sure=sure)


def said(a, b, metric="modularity", *, better="a", sure=True):
    return caveats({"a": report({metric: a}), "b": report({metric: b})}, [ahead(metric, better, sure=sure)])


def test_the_one_behind_may_have_come_further_from_chance():
    expected = (
        "Mind the nulls of modularity: a has 0.89 where chance alone gives it 0.66, b 0.84 where it gives 0.30; "
        "on the way from chance to the best, b is ahead.",
    )
    assert said((0.89, 0.66), (0.84, 0.30)) == expected
    assert said((0.84, 0.30), (0.89, 0.66), better="b")[0].startswith("Mind the nulls of modularity: b has 0.89")


def test_lower_is_better_turns_the_scale():
    assert said((0.10, 0.20), (0.15, 0.90), "orthogonality") != ()
    assert said((0.10, 0.90), (0.15, 0.20), "orthogonality") == ()
    assert said((0.00, 0.20), (0.15, 0.90), "orthogonality") == ()  # nothing is left to come


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((0.89, 0.30), (0.84, 0.66)),  # the null makes the lead longer
        ((0.89, 0.36), (0.81, 0.30)),  # a lead longer than the head start
        ((0.815, 0.34), (0.81, 0.30)),  # nulls too near to tell
        ((1.00, 0.73), (0.53, 0.24)),  # a head start, but all the way
        ((0.985, 0.98), (0.53, 0.24)),  # a null next to the best, which leaves nothing to measure
        ((0.89, None), (0.84, 0.30)),
        ((0.89, 0.66), (0.84, None)),
    ],
)
def test_nothing_is_said_where_the_order_stands(a, b):
    assert said(a, b) == ()


def test_nothing_is_said_of_what_is_not_sure_or_has_no_null_that_means_chance():
    assert said((0.89, 0.66), (0.84, 0.30), sure=False) == ()
    assert said((0.89, 0.66), (0.84, 0.30), "dci_es.explicitness") == ()
    assert said((0.10, 0.20), (0.15, 0.90), "total_correlation") == ()


def test_only_the_first_three_are_told():
    metrics = ["modularity", "mig", "sap", "r2", "mcc"]
    reports = {
        "a": report(dict.fromkeys(metrics, (0.89, 0.66))),
        "b": report(dict.fromkeys(metrics, (0.84, 0.30))),
    }
    told = caveats(reports, [ahead(metric) for metric in metrics])
    assert [one.split(":")[0] for one in told] == [
        "Mind the nulls of modularity",
        "Mind the nulls of mig",
        "Mind the nulls of sap",
        "The same holds for 2 more.",
    ]


@pytest.mark.parametrize("metric", MEANS_OVER_CODES)
def test_a_lead_of_fewer_codes_in_a_mean_over_codes_is_told(metric):
    reports = {"a": report({metric: (0.9, 0.3)}, 4), "b": report({metric: (0.8, 0.3)}, 10)}
    (told,) = caveats(reports, [ahead(metric)])
    assert told == (
        f"Mind the numbers of codes (a 4, b 10): codes that carry nothing count in the mean over codes of {metric}."
    )
    assert caveats(reports, [ahead(metric, sure=False)]) == ()
    assert caveats(reports, [ahead(metric, better="b")]) == ()
    same = {name: report({metric: (0.9, 0.3)}, 4) for name in ("a", "b")}
    assert caveats(same, [ahead(metric)]) == ()
    other = {name: report({"mig": (0.9, 0.3)}, number) for name, number in (("a", 4), ("b", 10))}
    assert caveats(other, [ahead("mig")]) == ()


def test_means_over_codes_are_those_that_codes_of_noise_pull_down():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (1000, 3))
    codes = factors + 0.1 * rng.normal(size=factors.shape)
    with_noise = np.hstack([codes, rng.normal(size=(1000, 6))])
    quick = [m.name for m in METRICS.values() if m.in_default and m.cost in (Cost.INSTANT, Cost.QUICK)]
    scores = [evaluate(z, factors, metrics=quick, intervals=False, nulls=False, n_jobs=1) for z in (codes, with_noise)]
    assert {name for name in quick if scores[0][name].value - scores[1][name].value > 0.3} == set(MEANS_OVER_CODES)
