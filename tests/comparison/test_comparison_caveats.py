"""A sure difference may be one of chance, or of codes that carry nothing, and the comparison says so."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.reports import build_report
from unbraid import Finding, FindingKind, Score, compare, evaluate
from unbraid.comparison.differences import Difference
from unbraid.comparison.verdict import caveats


def report(scores, *, empty=(), **more):
    scored = {
        metric: Score(value=value, low=value - 0.001, high=value + 0.001, null=null, **more)
        for metric, (value, null) in scores.items()
    }
    found = (Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=tuple(empty)),) if empty else ()
    return replace(build_report(scored), findings=found)


def ahead(metric, value=0.05, better="a", *, sure=True):
    return Difference(metric=metric, first="a", second="b", value=value, p_value=0.01, better=better, sure=sure)


def said(a, b, metric="modularity", *, better="a", sure=True):
    item = ahead(metric, a[0] - b[0], better, sure=sure)
    return caveats({"a": report({metric: a}), "b": report({metric: b})}, [item])


def test_the_one_behind_may_have_come_further_from_chance():
    assert said((0.89, 0.66), (0.84, 0.30)) == (
        "Read modularity with care: the chance level is 0.66 for a and 0.30 for b; on the scale from chance to best, "
        "a is not ahead.",
    )
    (told,) = said((0.84, 0.30), (0.89, 0.66), better="b")
    assert told.endswith(", b is not ahead.")


def test_a_lead_that_is_no_better_than_chance_is_none():
    (told,) = said((0.89, 0.8895), (0.84, 0.30))
    assert told == "Read modularity with care: a is ahead, but no better than chance (0.889)."


def test_lower_is_better_turns_the_scale():
    assert said((0.10, 0.20), (0.15, 0.90), "orthogonality") != ()
    assert said((0.10, 0.90), (0.15, 0.20), "orthogonality") == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((0.89, 0.30), (0.84, 0.66)),  # chance makes the lead longer
        ((0.89, 0.36), (0.79, 0.30)),  # a lead longer than the head start
        ((0.815, 0.34), (0.79, 0.30)),  # chance levels too near to tell
        ((0.89, None), (0.84, 0.30)),
        ((0.89, 0.66), (0.84, None)),
    ],
)
def test_nothing_is_said_where_the_order_stands(a, b):
    assert said(a, b) == ()


def test_nothing_is_said_of_what_is_not_sure_or_has_no_chance_to_speak_of():
    assert said((0.89, 0.66), (0.84, 0.30), sure=False) == ()
    assert said((0.10, 0.20), (0.15, 0.90), "total_correlation") == ()


def test_only_the_first_three_are_told_at_length():
    metrics = ["modularity", "mig", "sap", "r2", "mcc"]
    reports = {
        "a": report(dict.fromkeys(metrics, (0.89, 0.66))),
        "b": report(dict.fromkeys(metrics, (0.84, 0.30))),
    }
    told = caveats(reports, [ahead(metric) for metric in metrics])
    assert [one.split(" with")[0] for one in told] == ["Read modularity", "Read mig", "Read sap", told[-1]]
    assert told[-1] == "The same applies to r2, mcc."


@pytest.mark.parametrize(("per_code", "is_told"), [([0.95, 0.95, 0.1], True), ([0.7, 0.7, 0.6], False)])
def test_codes_that_carry_nothing_may_be_what_puts_one_behind(per_code, is_told):
    behind = report({"modularity": (0.67, 0.3)}, empty=["z2"], per_code=np.array(per_code))
    told = caveats({"a": report({"modularity": (0.9, 0.3)}), "b": behind}, [ahead("modularity", 0.23)])
    sentence = "Read modularity with care: b has 1 code that encodes no factor; the mean over its other codes is 0.95."
    assert told == ((sentence,) if is_told else ())


@pytest.mark.slow
def test_clean_codes_beside_noise_are_not_called_worse_than_a_rotation():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 6, (2000, 3))
    clean = factors + 0.1 * rng.normal(size=factors.shape)
    beside_noise = np.hstack([clean, rng.normal(size=(2000, 6))])
    turned = clean @ np.linalg.qr(rng.normal(size=(3, 3)))[0]

    def compared(**options):
        wanted = {"metrics": ["modularity", "dci_linear"], "options": {"modularity": options}, "progress": False}
        reports = [evaluate(codes, factors, **wanted) for codes in (turned, beside_noise)]
        return compare(dict(zip(("turned", "clean"), reports, strict=True)))

    assert any("clean has 6 codes" in one for one in compared(bias_correction="none").verdict)
    assert {item.better for item in compared().differences if item.sure} == {"clean"}


def test_scores_over_other_factors_do_not_rank_models():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (300, 2))
    a, b, c = (
        evaluate(factors + 0.0, factors, names=names, kinds=kinds, metrics="mig", n_jobs=1, progress=False)
        for names, kinds in ((["x", "y"], None), (["x", "z"], None), (["x", "y"], ["categorical", None]))
    )
    first = compare({"a": a, "b": b}).verdict[0]
    assert first == (
        "a and b were scored over different factors (x ordinal and y ordinal; x ordinal and z ordinal): scores over "
        "different factors do not rank models, so what follows compares numbers only."
    )
    assert "different factors" in compare({"a": a, "c": c}).verdict[0]
    assert "different factors" not in " ".join(compare({"a": a, "again": a}).verdict)
    assert "and so were 1 more of the pairs" in compare({"a": a, "b": b, "c": c}, against="a").verdict[0]


def test_a_lead_with_a_wide_interval_is_not_told_from_chance():
    wide = Score(value=0.9, low=0.2, high=1.0, null=0.5)
    reports = {"a": report({}), "b": report({"modularity": (0.6, 0.5)})}
    reports["a"] = build_report({"modularity": wide})
    (told,) = caveats(reports, [ahead("modularity", 0.3)])
    assert told == "Read modularity with care: a is ahead, but not distinguished from chance (0.500)."
