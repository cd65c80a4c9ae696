import re
import time

import numpy as np
import pytest

from helpers.worlds import full_grid
from unbraid import METRICS, Representation, evaluate
from unbraid.evidence.dependence import LEVEL, MAX_LEVELS, coarse_labels, factor_dependence
from unbraid.representation.factor import make_factor


def diagnose(factors):
    n_rows = len(next(iter(factors.values()))) if isinstance(factors, dict) else len(factors)
    codes = np.random.default_rng(99).standard_normal((n_rows, 2))
    return factor_dependence(Representation(codes, factors), np.random.default_rng(0))


def test_a_full_grid_is_independent():
    found = diagnose(np.tile(full_grid(4, 5, 6), (3, 1)))
    assert found.dependent_pairs == ()
    assert all(pair.strength == 0 for pair in found.pairs)


@pytest.mark.slow
def test_false_alarms_are_no_more_than_the_level():
    """150 small worlds of independent factors: at 1 % one or two alarms; more than 7 has a chance of 1 in 1000."""
    n_rows, sizes = 60, (2, 3, 5, 8)
    alarms = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, n_rows])
        factors = {f"f{k}": [f"v{v}" for v in rng.integers(size, size=n_rows)] for k, size in enumerate(sizes)}
        found = factor_dependence(Representation(np.zeros((n_rows, 2)) + rng.random((n_rows, 2)), factors), rng)
        alarms += bool(found.dependent_pairs)
    assert alarms <= 7
    assert LEVEL == 0.01


@pytest.mark.slow
def test_strength_is_1_for_a_function_and_what_paper_says_between():
    rng = np.random.default_rng(0)
    coin = rng.integers(2, size=20_000)
    flipped = np.where(rng.random(20_000) < 0.1, 1 - coin, coin)
    other = rng.integers(4, size=20_000)
    found = diagnose({"coin": coin, "flipped": flipped, "other": other, "half": other // 2})
    by_name = {(pair.first, pair.second): pair for pair in found.pairs}
    channel = 1 + (0.1 * np.log2(0.1) + 0.9 * np.log2(0.9))  # capacity of a binary symmetric channel, in bits of one
    assert by_name["coin", "flipped"].strength == pytest.approx(channel, abs=0.02)
    assert by_name["other", "half"].strength == pytest.approx(1, abs=0.01)
    assert {(p.first, p.second) for p in found.dependent_pairs} == {("coin", "flipped"), ("other", "half")}
    assert found.pairs[0].strength == max(pair.strength for pair in found.pairs)


def test_curved_and_circular_dependence_is_seen():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 360, 1000)
    found = factor_dependence(
        Representation(
            rng.random((1000, 2)),
            {"angle": angle, "height": np.cos(np.deg2rad(angle)), "apart": rng.random(1000)},
            kinds={"angle": "circular:360"},
        ),
        rng,
    )
    assert [(pair.first, pair.second) for pair in found.dependent_pairs] == [("angle", "height")]


def test_rows_with_one_label_only_do_not_count():
    rng = np.random.default_rng(2)
    a = rng.integers(3, size=600).astype(float)
    b = a.copy()
    a[:200], b[200:400] = np.nan, np.nan
    found = diagnose({"a": a, "b": b})
    assert found.pairs[0].strength == pytest.approx(1, abs=0.02)


def test_many_values_are_cut_into_ten():
    factor = make_factor(np.random.default_rng(0).random(1000), name="x")
    counts = np.bincount(coarse_labels(factor))
    assert len(counts) == MAX_LEVELS
    assert counts.min() == counts.max() == 100


def test_fewer_than_two_factors_are_not_diagnose():
    assert factor_dependence(Representation(np.eye(4)[:, :2], [0, 0, 1, 1]), np.random.default_rng(0)) is None


def test_one_factor_that_is_the_exclusive_or_of_two_others_is_noticed():
    rng = np.random.default_rng(4)
    a, b = rng.integers(2, size=(2, 400))
    found = diagnose({"a": a, "b": b, "both": a ^ b, "apart": rng.integers(3, size=400)})
    assert found.dependent_pairs == ()
    assert [triple.names for triple in found.triples] == [("a", "b", "both")]
    assert found.triples[0].strength == pytest.approx(1, abs=0.02)
    assert found.found


def test_three_numbers_with_signs_that_belong_together_are_noticed():
    rng = np.random.default_rng(5)
    a, b, c = rng.standard_normal((3, 1000))
    found = diagnose(np.column_stack([a, b, np.sign(a * b) * np.abs(c)]))
    assert found.dependent_pairs == ()
    assert len(found.triples) == 1


def test_a_sum_is_noticed_by_its_pairs():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, 600))
    found = diagnose({"a": a, "b": b, "sum": a + b})
    assert {(pair.first, pair.second) for pair in found.dependent_pairs} == {("a", "sum"), ("b", "sum")}
    assert found.triples == ()  # its pairs tell it already


@pytest.mark.slow
def test_independent_factors_are_no_dependent_triples():
    alarms = sum(bool(diagnose(np.random.default_rng(seed).integers(4, size=(80, 4))).triples) for seed in range(60))
    assert alarms <= 4  # at 1 %, five or more of sixty once in 3000 runs


@pytest.mark.slow
def test_two_hundred_factors_take_seconds():
    factors = np.random.default_rng(7).standard_normal((300, 200))
    factors[:, 1] += factors[:, 0]
    started = time.process_time()
    found = diagnose(factors)
    assert time.process_time() - started < 20
    assert [(pair.first, pair.second) for pair in found.dependent_pairs] == [("factor_0", "factor_1")]


def test_unlabelled_rows_give_what_the_labelled_ones_alone_give():
    rng = np.random.default_rng(8)
    a = rng.integers(4, size=500).astype(float)
    b, c = np.where(rng.random(500) < 0.7, a, rng.integers(4, size=500)), rng.integers(3, size=500).astype(float)
    whole = diagnose({"a": a[:400], "b": b[:400], "c": c[:400]})
    a[400:], c[450:] = np.nan, np.nan
    holed = diagnose({"a": a, "b": b, "c": c})
    assert (holed.pairs[0].first, holed.pairs[0].second) == ("a", "b")
    assert holed.pairs[0].strength == pytest.approx(whole.pairs[0].strength, abs=0.01)


class TestInThePanel:
    RNG = np.random.default_rng(3)
    A = RNG.integers(6, size=500)
    FACTORS = np.column_stack([A, (A + RNG.integers(2, size=500)) % 6, RNG.integers(4, size=500)])
    CODES = FACTORS + 0.1 * RNG.standard_normal(FACTORS.shape)

    def test_scores_that_dependence_misleads_say_why_and_others_do_not(self):
        report = evaluate(self.CODES, self.FACTORS, metrics="mig,r2", intervals=False, nulls=False, n_jobs=1)
        assert [(p.first, p.second) for p in report.dependence.dependent_pairs] == [("factor_0", "factor_1")]
        assert any(
            note.startswith(f"Factors depend on each other: {METRICS['mig'].misled_by_dependence}")
            for note in report["mig"].notes
        )
        assert not any("depend on each other" in note for note in report["r2"].notes)
        told = " ".join(report.notes)
        assert "factor_0 and factor_1 0." in told
        assert re.search(
            r"misleads mig \(by about -0\.\d\d\)\. Read dependent.compactness, dependent.explicitness", told
        )
        assert 'ask for --metrics default,dependent (in Python, metrics="default,dependent")' in told

    def test_independent_factors_raise_no_doubt(self):
        grid = np.tile(full_grid(4, 5), (10, 1))
        report = evaluate(grid + 0.0, grid, metrics="mig,r2", intervals=False, nulls=False, n_jobs=1)
        assert report.dependence.dependent_pairs == ()
        assert not any("depend" in note for note in [*report.notes, *report["mig"].notes])

    def test_it_is_in_the_json(self):
        report = evaluate(self.CODES, self.FACTORS, metrics="mig", intervals=False, nulls=False, n_jobs=1)
        found = report.to_dict()["dependence"]
        assert found["level"] == 0.01
        assert found["pairs"][0]["depends"] is True
        assert set(found["pairs"][0]) == {"first", "second", "strength", "p_value", "depends"}
        assert found["triples"] == ()

    def test_same_seed_same_test_whatever_else_is_scored(self):
        one, two = (
            evaluate(self.CODES, self.FACTORS, metrics=names, intervals=False, nulls=False, n_jobs=jobs)
            for names, jobs in (("mig", 1), ("mig,sap,r2", 2))
        )
        assert one.dependence == two.dependence
