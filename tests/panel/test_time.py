import numpy as np
import pytest

import unbraid as ub
from unbraid._base.text import parse_time
from unbraid.metrics.table.metric import InputSize
from unbraid.panel.cost import dearest_first, in_turn, panel_seconds, within_a_day, within_time
from unbraid.panel.plan import plan_evidence, resolve_metrics
from unbraid.results.note import NoteKind

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 4, (200, 2))
CODES = FACTORS + 0.1 * RNG.normal(size=(200, 2))
DRAWS = {"n_jobs": 2, "intervals": True, "nulls": True}


def size(n_rows: int = 10_000, n_codes: int = 10, n_factors: int = 5) -> InputSize:
    return InputSize(n_rows=n_rows, n_codes=n_codes, n_factors=n_factors, n_levels=10)


def plans(metrics: str | list[str] = "default"):
    return plan_evidence(resolve_metrics(metrics), {}, {})


def test_more_rows_codes_and_factors_take_longer():
    least = panel_seconds(size(), plans(), **DRAWS)
    for larger in (size(n_rows=20_000), size(n_codes=100), size(n_factors=10)):
        assert panel_seconds(larger, plans(), **DRAWS) > 1.2 * least
    assert panel_seconds(size(), plans(), n_jobs=2, intervals=False, nulls=False) < least / 3


def test_the_dearest_are_left_out_until_the_rest_fits():
    every, wide = plans(), size(50_000, 4096, 40)
    kept, notes = within_time(wide, every, 600.0, **DRAWS)
    assert 0 < len(kept) < len(every)
    assert panel_seconds(wide, kept, **DRAWS) <= 600
    assert [note.kind for note in notes] == [NoteKind.LEFT_OUT]
    assert within_time(wide, every, 1e9, **DRAWS) == (every, ())


def test_evidence_that_draws_all_replicates_in_one_task_is_not_left_for_the_end():
    wanted = plans(["mcc", "code_mutual_information", "dci_forest"])
    names = [plan.source.name for plan in dearest_first(size(n_codes=128), wanted)]
    assert names == ["forest", "code_information", "correlation"]


def test_tasks_of_compiled_code_and_others_are_begun_in_turn():
    tasks = [(plan, number) for plan in plans(["dci_forest", "mcc", "mig"]) for number in range(3)]
    ordered = in_turn(tasks)
    assert sorted(ordered, key=tasks.index) == tasks
    assert [plan.source.name == "forest" for plan, _ in ordered] == [True, False] * 3 + [False] * 3
    assert [number for plan, number in ordered if plan.source.name == "forest"] == [0, 1, 2]


def test_a_report_has_the_metrics_that_fit_and_names_the_others():
    report = ub.evaluate(CODES, FACTORS, metrics=["mcc", "dependent"], time=0.05, n_jobs=1)
    assert list(report.scores) == ["mcc"]
    assert not report.failures
    (note,) = [note for note in report.notes if note.kind is NoteKind.LEFT_OUT]
    assert "dependent." in note


def test_a_metric_that_should_take_longer_than_a_day_says_so_before_it_starts(monkeypatch):
    monkeypatch.setattr("unbraid.panel.cost.A_DAY", 0.05)
    report = ub.evaluate(CODES, FACTORS, metrics=["mcc", "unibound"], n_jobs=1)
    assert list(report.scores) == ["mcc"]
    assert report.failures["unibound"].startswith("unibound would take about")
    assert "for 2 codes and 200 rows" in report.failures["unibound"]


def test_a_metric_that_takes_less_is_begun():
    wanted = plans(["best_single", "med", "rankme", "mcc", "dependent.modularity", "unibound"])
    assert within_a_day(size(n_codes=16_384), wanted, **DRAWS) == (wanted, {})
    kept, late = within_a_day(size(n_codes=10**6), wanted, **DRAWS)
    assert "unibound" in late
    assert 0 < len(kept) < len(wanted)


def test_enough_time_changes_nothing():
    free, limited = (ub.evaluate(CODES, FACTORS, metrics=["mcc", "sap"], time=limit) for limit in (None, "1h"))
    assert free["sap"].value == limited["sap"].value
    assert free.notes == limited.notes


@pytest.mark.parametrize("wrong", ["soon", "0m", "-3s", "m", 0, float("inf")])
def test_a_length_of_time_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="time must be a length of time"):
        parse_time(wrong)


def test_too_little_time_for_any_metric_is_refused():
    with pytest.raises(ValueError, match="time must allow for one kind of metric"):
        ub.evaluate(CODES, FACTORS, metrics=["dependent"], time="0.01s", n_jobs=1)


@pytest.mark.parametrize(("n_codes", "refits", "halves"), [(64, 10, 24), (65, 5, 12)])
def test_wide_codes_have_fewer_replicates(n_codes, refits, halves):
    codes = RNG.normal(size=(200, n_codes))
    codes[:, :2] += FACTORS
    report = ub.evaluate(codes, FACTORS, metrics=["mcc", "mig"], progress=False, nulls=False)
    assert len(report["mcc"].replicates) == refits
    assert len(report["mig"].replicates) == halves
    assert report.interval_methods["mcc"].startswith(f"{refits} refits")
