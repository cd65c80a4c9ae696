"""Scoring in the explorer while it goes on: steps, scores as they come, and the end."""

import json
import threading
import time

import numpy as np
import pytest

import unbraid as ub
from helpers.exploring import nameless, settled
from helpers.watching import Watched
from unbraid.explorer.scoring import ScoringView
from unbraid.explorer.server import ExplorerServer
from unbraid.explorer.session import LATELY, Session
from unbraid.panel.steps import StepRole

METRICS = "mig,sap,dci_linear"


@pytest.fixture(scope="module")
def scored(example):
    """Some rows of the example, the steps of their evaluation, and the report."""
    rep, steps = example.take(np.arange(300)), []
    return rep, steps, ub.evaluate(rep, metrics=METRICS, n_jobs=2, progress=False, on_step=steps.append, name="codes")


def test_steps_are_counted_and_carry_plain_estimates(scored):
    _, steps, report = scored
    assert [step.n_done for step in steps] == list(range(len(steps)))
    assert steps[0].role is StepRole.START
    assert steps[-1].n_done == steps[-1].n_steps == len(steps) - 1
    assert set(steps[0].planned) == set(report.scores)
    points = {name: value for step in steps if step.role is StepRole.POINT for name, value in step.values.items()}
    assert set(points) == set(report.scores)
    assert points["sap"] == pytest.approx(report["sap"].value, abs=0.1)
    for name, n in steps[0].planned.items():
        assert sum(name in step.values for step in steps[1:]) == n
    nulls = [step.values["mig"] for step in steps if step.role is StepRole.NULL and "mig" in step.values]
    assert np.mean(nulls) == pytest.approx(report["mig"].null, abs=1e-9)


def test_scores_come_one_after_the_other_and_the_report_last(scored):
    rep, steps, report = scored
    view = ScoringView(["codes"], [rep])
    known = []
    for step in steps:
        view.live["codes"].take(step)
        (part,) = view.about()["parts"]
        known.append(sum(row["value"] is not None for row in part["rows"]))
        assert (part["n_done"], part["n_steps"]) == (step.n_done, step.n_steps)
    assert known == sorted(known)
    assert (known[0], known[-1]) == (0, len(report.scores))
    assert all(row["n_done"] == row["n_steps"] and row["low"] is None for row in part["rows"])
    view.live["codes"].finish(report)
    (part,) = view.about()["parts"]
    assert {row["name"]: row["low"] for row in part["rows"]} == {name: one.low for name, one in report.scores.items()}
    assert [one["kind"] for one in part["findings"]] == [str(one.kind) for one in report.findings]


def test_the_end_waits_for_a_page_that_follows_and_for_no_other():
    session = Session("nothing", [], watching=True)
    started = time.monotonic()
    session.end()
    assert time.monotonic() - started < LATELY / 2
    session = Session("nothing", [], watching=True)
    assert session.now(None) == {"watching": True}
    threading.Timer(0.3, lambda: session.now(None)).start()
    started = time.monotonic()
    session.end()
    assert 0.2 < time.monotonic() - started < LATELY


def test_codes_that_a_command_scores_are_not_scored_twice(scored):
    view = ScoringView(["codes"], [scored[0]])
    assert Session("codes", view.entries, scoring=view).findings("m0").answer()["state"] == "absent"


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_fills_as_scores_come_and_says_when_it_ends(explore, scored):
    rep, steps, report = scored
    view = ScoringView(["codes"], [rep])
    session = Session("scoring codes", view.entries, scoring=view, watching=True)
    with ExplorerServer(session) as server:
        page = explore(server)
        half = len(steps) // 2
        for step in steps[:half]:
            view.live["codes"].take(step)
        page.wait_for_selector(f"progress[value='{half - 1}']")
        assert page.locator(".runs tbody tr").count() == len(report.scores)
        for step in steps[half:]:
            view.live["codes"].take(step)
        view.live["codes"].finish(report)
        session.end()
        page.wait_for_selector(".finding")
        settled(page)
        assert page.locator(".finding").count() == len(report.findings)
        assert nameless(page) == []
        assert page.inner_text(".scoring [role=status]") == "Scoring has ended."
        page.get_by_role("button", name="Codes and factors").click()
        page.wait_for_selector(".histogram canvas")
        settled(page)


@pytest.mark.slow
def test_a_command_that_scores_can_be_watched_to_its_end(tmp_path, example):
    ub.save(example.take(np.arange(600)), tmp_path / "codes.npz")
    watched = Watched("score", tmp_path / "codes.npz", "--metrics", "mig,dci_forest", "--jobs", 1, "--json", "-")
    found = json.loads(watched.wait_for("scoring", lambda told: json.loads(told)["parts"][0]["rows"]))
    assert found["watching"]
    last = json.loads(watched.wait_for("scoring", lambda told: not json.loads(told)["watching"]))
    output, errors = watched.process.communicate(timeout=300)
    assert watched.process.returncode == 0, errors
    scores = json.loads(output)["scores"]
    assert {row["name"] for row in found["parts"][0]["rows"]} == set(scores)
    assert {row["name"]: row["low"] for row in last["parts"][0]["rows"]} == {
        name: score["low"] for name, score in scores.items()
    }
