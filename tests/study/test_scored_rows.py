"""Rows that are scored: those that predictors train on, never those they are tested on."""

import numpy as np
import pytest

from helpers.inline_engine import InlineEngine
from unbraid.downstream import split_rows
from unbraid.study import Store, load_study, make_plan, parse_study, status
from unbraid.study.plan import scored_rows
from unbraid.study.run import run_jobs

N_ROWS = 200
TASKS = "tasks:\n  - {tasks: [factors], predictors: [linear], train: [1.0, 50]}\n"
STUDY = """
name: given
representations: {{folder: {folder}}}
scores: {{metrics: [mig, irs], rows: [1.0, 50], {scores}}}
agreement: {{methods: [spearman], rows: 60}}
"""


def given(folder, *, tasks=TASKS, scores=""):
    return parse_study(STUDY.format(folder=folder, scores=scores) + tasks)


@pytest.fixture
def codes():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (N_ROWS, 2))
    # Ten codes of different sizes, some of them unused.
    scales = np.array([5.0, 1.0, 0.003, 0.002])
    return np.hstack([factors, np.zeros((N_ROWS, 2))]) * scales + scales * 0.3 * rng.normal(size=(N_ROWS, 4)), factors


def scores(study, folder, name):
    found = run_jobs(status(Store(folder / name), make_plan(study)), InlineEngine()).table()
    return found.query("kind == 'score' and factor == ''").set_index(["name", "n_rows"])["value"]


def test_scored_rows_are_the_training_rows(tmp_path):
    np.savez(tmp_path / "a.npz", codes=np.eye(3), factors=np.eye(3))
    study = given(tmp_path)
    split = split_rows(N_ROWS, seed=study.seed)
    for size, rows in ((1.0, split.train), (50, split.train_rows(50)), (0.5, split.train_rows(0.5))):
        assert set(scored_rows(study, N_ROWS, size)) == set(rows)
        assert not set(scored_rows(study, N_ROWS, size)) & set(split.test)
    assert len(scored_rows(study, N_ROWS, 500)) == len(split.train)
    assert len(scored_rows(given(tmp_path, tasks=""), N_ROWS, 1.0)) == N_ROWS


@pytest.mark.parametrize("name", ["thesis", "iwo", "mini"])
def test_published_studies_score_what_predictors_are_trained_on(name):
    study = load_study(name)
    split = split_rows(study.rows, seed=study.seed)
    sizes = study.tasks[0].train
    assert study.score_rows[0] == sizes[0]
    for size in study.score_rows:
        rows = scored_rows(study, study.rows, size)
        assert not np.isin(rows, split.test).any()
        if size in sizes:
            assert set(rows) == set(split.train_rows(size if size <= 1 else int(size)))


def test_codes_of_test_rows_change_no_score(tmp_path, codes):
    z, v = codes
    np.savez(tmp_path / "a.npz", codes=z, factors=v)
    before = scores(given(tmp_path), tmp_path, "before")
    test = split_rows(N_ROWS, seed=0).test
    z[test] = np.random.default_rng(1).normal(size=(len(test), 4))
    np.savez(tmp_path / "a.npz", codes=z, factors=v)
    after = scores(given(tmp_path), tmp_path, "after")
    assert len(before) == 4
    np.testing.assert_array_equal(before, after)
    z[scored_rows(given(tmp_path), N_ROWS, 50)[:20]] = 0.0
    np.savez(tmp_path / "a.npz", codes=z, factors=v)
    assert (before != scores(given(tmp_path), tmp_path, "other")).all()


def robustness(codes, factors):
    """IRS as the authors' code has it: largest distances, values alike, codes by their largest distance."""
    whole = np.abs(codes - codes.mean(axis=0)).max(axis=0)
    best = np.zeros(codes.shape[1])
    for column in factors.T:
        parts = [codes[column == value] for value in np.unique(column)]
        within = np.mean([np.abs(part - part.mean(axis=0)).max(axis=0) for part in parts], axis=0)
        best = np.maximum(best, 1 - within / whole)
    return (best * whole).sum() / whole.sum()


def test_robustness_of_the_thesis_is_the_authors_on_standardised_codes(tmp_path, codes):
    z, v = codes
    np.savez(tmp_path / "a.npz", codes=z, factors=v)
    published = load_study("thesis").scores
    assert published.standardise
    options = f"options: {{irs: {{variant: {published.options['irs']['variant']}}}}}, standardise: true, classes: true"
    found = scores(given(tmp_path, scores=options), tmp_path, "store")
    rows = scored_rows(given(tmp_path), N_ROWS, 1.0)
    scaled = (z[rows] - z[rows].mean(axis=0)) / z[rows].std(axis=0)
    assert found["irs", len(rows)] == pytest.approx(robustness(scaled, v[rows]), abs=1e-12)
    raw = scores(given(tmp_path, scores=options.replace("true", "false")), tmp_path, "raw")
    assert raw["irs", len(rows)] == pytest.approx(robustness(z[rows], v[rows]), abs=1e-12)
    assert raw["irs", len(rows)] > found["irs", len(rows)] + 0.1
