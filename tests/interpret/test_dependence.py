"""Dependence judged by size: which scores it moves, by how much, and what the default panel adds."""

from dataclasses import replace

import numpy as np
import pytest

from unbraid import METRICS, evaluate
from unbraid.evidence.dependence import FactorDependence, FactorPair, FactorTriple
from unbraid.interpret.dependence import MOVES_NOTHING, dependence_notes, distrusted, expected_move, moves_much

DEFAULT = [name for name, metric in METRICS.items() if metric.in_default]
NAMES = ("a", "b", "c", "d")


def tied(strength, *tied_pairs, triples=()):
    """Return the dependence of four factors; the pairs named depend by one strength."""
    pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    found = [
        FactorPair(first=a, second=b, strength=strength, p_value=0.005, depends=True)
        if (a, b) in tied_pairs
        else FactorPair(first=a, second=b, strength=0.0, p_value=1.0, depends=False)
        for a, b in pairs
    ]
    return FactorDependence(pairs=tuple(found), level=0.01, n_shuffles=199, triples=triples)


BOTH = (("a", "b"), ("c", "d"))


def test_weak_dependence_puts_a_few_scores_in_doubt_and_strong_dependence_many():
    n_misled = sum(bool(METRICS[name].misled_by_dependence) for name in DEFAULT)
    weak, strong = distrusted(DEFAULT, tied(0.015, *BOTH)), distrusted(DEFAULT, tied(0.3, *BOTH))
    assert len(weak) < n_misled / 2 < len(strong)
    assert "sap" in weak
    assert "mig" not in weak
    assert set(weak) <= set(strong)


def test_a_move_is_shared_by_the_factors_that_depend():
    sap = METRICS["sap"]
    one, two = (expected_move(sap, tied(0.1, *pairs)) for pairs in (BOTH[:1], BOTH))
    assert one == pytest.approx(two / 2)
    assert two < -0.3
    assert (
        expected_move(sap, None) == expected_move(sap, tied(0.1)) == expected_move(METRICS["r2"], tied(0.1, *BOTH)) == 0
    )


def test_a_score_whose_move_was_not_measured_is_doubted_at_any_strength():
    row = replace(METRICS["mig"], name="capture")
    assert expected_move(row, tied(0.02, *BOTH)) is None


def test_the_measured_move_is_that_of_codes_that_are_the_factors():
    """The table says what happens to a score of faithful codes, here measured afresh."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((3000, 4))
    factors = base.copy()
    factors[:, 1::2] = 0.6 * base[:, ::2] + 0.8 * base[:, 1::2]
    noise = 0.2 * rng.standard_normal(base.shape)
    scores = {}
    for name, v in (("free", base), ("tied", factors)):
        scores[name] = evaluate(v + noise, v, metrics="sap,mig", intervals=False, nulls=False, n_jobs=1)
    for metric in ("sap", "mig"):
        moved = scores["tied"][metric].value - scores["free"][metric].value
        assert expected_move(METRICS[metric], scores["tied"].dependence) == pytest.approx(moved, abs=0.03)


def test_notes_say_that_weak_dependence_moves_nothing_and_how_far_strong_dependence_does():
    quiet = dependence_notes(tied(0.012, *BOTH[:1]), ["mig", "r2"])
    assert quiet[1] == MOVES_NOTHING
    loud = dependence_notes(tied(0.3, *BOTH), ["mig", "r2"])
    assert loud[1].startswith("Dependence between factors misleads mig (by about -0.2")
    triple = FactorTriple(names=("a", "b", "c"), strength=1.0, p_value=0.005)
    assert "a, b and c together 1.00" in dependence_notes(tied(0.0, triples=(triple,)), ["mig"])[0]


def test_notes_say_how_many_misled_scores_they_leave_out(monkeypatch):
    monkeypatch.setattr("unbraid.interpret.dependence.MOST_NAMES", 1)
    note = dependence_notes(tied(0.3, *BOTH), ["mig", "mig_sup", "dcimig"])[1]
    assert "mig_sup" not in note
    assert " and 2 more." in note


def test_only_large_moves_call_for_other_scores():
    assert not moves_much(DEFAULT, None)
    assert not moves_much(DEFAULT, tied(0.02, *BOTH))
    assert moves_much(DEFAULT, tied(0.3, *BOTH))


@pytest.mark.slow
@pytest.mark.parametrize(("correlation", "added"), [(0.4, False), (0.9, True)])
def test_the_default_panel_adds_scores_for_strongly_dependent_factors_by_itself(correlation, added):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 400))
    factors = np.column_stack([a, correlation * a + np.sqrt(1 - correlation**2) * b])
    codes = factors + 0.1 * rng.standard_normal(factors.shape)
    report = evaluate(codes, factors, n_jobs=1, progress=False)
    assert report.dependence.dependent_pairs
    assert ("dependent.modularity" in report.scores) is added
    asked = evaluate(codes, factors, metrics=["mig", "sap"], intervals=False, nulls=False, n_jobs=1)
    assert set(asked.scores) == {"mig", "sap"}
    if added:
        assert report["dependent.modularity"].low is None  # intervals would cost more than the rest of the panel
        assert "dependent.modularity" not in report.interval_methods
        assert report.setup.options["dependent.modularity"]["n_trees"] == 10
        assert not any("ask for" in note for note in report.notes)
