import numpy as np
import pandas as pd
import pytest

from helpers.study_tables import row, study, table
from unbraid.study import analyze, correlations, pivot


@pytest.fixture(scope="module")
def found():
    return analyze(study(datasets=("dots", "cars")), n_bootstrap=100)


def test_holds_what_the_functions_give(found):
    models = pivot(study(datasets=("dots", "cars")))
    alone = correlations(models, method="spearman", n_bootstrap=100)
    pd.testing.assert_frame_equal(found.with_tasks["spearman"].low, alone.low)
    assert set(found.between_scores["pearson"].r) == {"mig", "irs", "udr_lasso"}
    assert set(found.groups) == {(by, m) for by in ("family", "dataset") for m in ("pearson", "spearman")}
    assert found.over_settings["pearson"].n.iloc[0, 0] == 24
    assert found.with_tasks["pearson"].n.loc["irs"].unique().tolist() == [119]


def test_counts_what_was_run_and_what_failed(found):
    assert found.runs["models"].tolist() == [20] * 6
    assert found.runs["settings"].tolist() == [4] * 6
    assert found.runs["failures"].sum() == 1
    (failure,) = found.failures.to_dict("records")
    assert failure == {
        "kind": "score",
        "name": "irs",
        "reason": "codes must vary, got 10 constant columns.",
        "rows": 1,
        "models": 1,
        "example": "dots-beta_vae-0-0",
    }


def test_writes_csv_and_latex(found, tmp_path):
    files = found.to_csv(tmp_path) + found.to_latex(tmp_path)
    names = {file.name for file in files}
    assert {"models.csv", "with_tasks_pearson.csv", "by_family_spearman.csv", "with_tasks_pearson.tex"} <= names
    read = pd.read_csv(tmp_path / "models.csv", index_col="model")
    np.testing.assert_allclose(read["mig"], found.models.values["mig"])
    with pytest.raises(ValueError, match="give a file in a folder that exists"):
        found.to_csv(tmp_path / "none")


@pytest.mark.slow
def test_a_study_without_tasks_correlates_scores():
    rows = study()
    found = analyze(rows[rows["kind"] != "task"], n_bootstrap=20)
    assert found.with_tasks == {}
    assert found.groups["family", "pearson"].pooled is found.between_scores["pearson"]


def test_the_smallest_study_has_nothing_to_correlate():
    found = analyze(table([row("a", 0.5)]))
    assert (found.between_scores, found.with_tasks, found.groups, found.without_family) == ({}, {}, {}, {})
    assert found.hyperparameters["mean"].tolist() == [0.5]


def test_says_in_a_line_what_it_is(found):
    assert repr(found) == "<Analysis of 120 models: 3 scores, 2 tasks>"


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 5"):
        analyze(study(), level=5)
    with pytest.raises(ValueError, match="correct must be one of"):
        analyze(study(), correct="some")
