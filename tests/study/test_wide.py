import numpy as np
import pandas as pd
import pytest

from helpers.study_tables import row, study, table, task
from unbraid.study import pivot


def test_a_line_for_each_model_and_a_column_for_each_score_and_task():
    found = pivot(table([row("b", 0.2), task("b", 0.7), row("a", 0.1, seed=1), task("a", 0.6, seed=1)]))
    assert list(found.values) == ["mig", "task:shape/linear@100"]
    assert found.values.loc["a"].tolist() == [0.1, 0.6]
    assert found.values.index.tolist() == ["b", "a"]  # by seed, the first thing in which they differ
    assert (found.scores, found.tasks) == (["mig"], ["task:shape/linear@100"])
    assert found.about.loc["a"].tolist() == ["dots", "beta_vae", 1.0, 1]


def test_columns_come_in_the_order_of_the_catalogue_then_agreements_then_tasks():
    rows = [task("a", 1.0), row("a", 1.0, "udr_lasso", kind="agreement"), row("a", 1.0, "sap"), row("a", 1.0, "z1")]
    assert list(pivot(table(rows)).values) == ["z1", "sap", "udr_lasso", "task:shape/linear@100"]


def test_the_largest_size_is_taken_unless_one_is_named():
    rows = table([row("a", 0.1, n_rows=100), row("a", 0.2, n_rows=1000), row("a", 0.3, "sap", n_rows=100)])
    assert pivot(rows).values.loc["a"].tolist() == [0.2, 0.3]
    assert pivot(rows, n_rows=100).values.loc["a"].tolist() == [0.1, 0.3]
    with pytest.raises(ValueError, match=r"n_rows must be a size in the table \(100, 1000\), got 50"):
        pivot(rows, n_rows=50)


def test_the_largest_size_is_each_data_sets_own():
    rows = table([row("a", 0.1, n_rows=100), row("b", 0.2, n_rows=1000, dataset="cars")])
    assert pivot(rows).values["mig"].to_dict() == {"a": 0.1, "b": 0.2}


def test_sizes_of_tasks_are_numbers_where_data_sets_share_them_and_shares_where_not():
    sizes = {"a": ("dots", (100, 1000)), "b": ("cars", (100, 400))}
    rows = table([task(m, n / 1000, dataset=data, n_rows=n) for m, (data, ns) in sizes.items() for n in ns])
    found = pivot(rows).values
    assert set(found) == {"task:shape/linear@100", "task:shape/linear@100%"}
    assert found["task:shape/linear@100%"].to_dict() == {"a": 1.0, "b": 0.4}
    only = pivot(rows, task_rows=100).values
    assert list(only) == ["task:shape/linear@100"]


def test_failures_are_missing_and_counted():
    rows = [row("a", 0.1), row("b", 0.2, failure="No."), row("c", np.inf), row("d", 0.4, "sap")]
    found = pivot(table(rows))
    assert found.values["mig"].isna().to_dict() == {"a": False, "b": True, "c": True, "d": True}
    assert found.counts.loc["mig"].to_dict() == {"values": 1, "failed": 1, "absent": 2}


def test_means_over_seeds_leave_out_what_failed():
    rows = [
        row("a", 0.1, seed=0),
        row("b", 0.3, seed=1),
        row("c", np.nan, seed=2, failure="No."),
        row("d", 0.9, hyperparameter=4),
    ]
    found = pivot(table(rows), per="setting")
    assert found.values["mig"].to_dict() == pytest.approx({"dots/beta_vae/1": 0.2, "dots/beta_vae/4": 0.9})
    assert found.about["n_models"].to_dict() == {"dots/beta_vae/1": 3, "dots/beta_vae/4": 1}


def test_a_family_without_strength_is_one_setting():
    rows = [
        row("a", 0.1, hyperparameter=np.nan, seed=0, family="pca"),
        row("b", 0.3, hyperparameter=np.nan, seed=1, family="pca"),
    ]
    assert pivot(table(rows), per="setting").values["mig"].to_dict() == pytest.approx({"dots/pca": 0.2})


@pytest.mark.slow
def test_filters():
    rows = study(datasets=("dots", "cars"))
    assert set(pivot(rows, families=["beta_vae"]).about["family"]) == {"beta_vae"}
    assert set(pivot(rows, without_family="beta_vae").about["family"]) == {"factor_vae", "dip_vae"}
    assert set(pivot(rows, datasets=["cars"]).about["dataset"]) == {"cars"}
    with pytest.raises(ValueError, match=r"families must be one of .*, got 'beta_va'; did you mean 'beta_vae'"):
        pivot(rows, families=["beta_va"])
    with pytest.raises(ValueError, match="without_family must be one of"):
        pivot(rows, without_family="vae")


def test_factors_get_columns_when_asked_for():
    rows = table([row("a", 0.1), row("a", 0.2, factor="shape")])
    assert list(pivot(rows).values) == ["mig"]
    assert pivot(rows, factors=True).values.loc["a"].to_dict() == {"mig": 0.1, "mig[shape]": 0.2}


@pytest.mark.slow
def test_order_of_rows_does_not_matter():
    rows = study()
    mixed = rows.sample(frac=1, random_state=0)
    for per in ("model", "setting"):
        pd.testing.assert_frame_equal(pivot(rows, per=per).values, pivot(mixed, per=per).values)


def test_rows_stored_twice_count_once_but_two_answers_are_refused():
    assert pivot(table([row("a", 0.1), row("a", 0.1)])).values.shape == (1, 1)
    with pytest.raises(
        ValueError, match="one row for each model, score and size, got two for mig of model 'a' at 1000"
    ):
        pivot(table([row("a", 0.1), row("a", 0.2) | {"key": "other"}]))


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="table must be a pandas DataFrame, got dict"):
        pivot({})
    with pytest.raises(ValueError, match="got none called value, failure"):
        pivot(study().drop(columns=["value", "failure"]))
    with pytest.raises(ValueError, match="must hold scores or tasks after filtering, got none"):
        pivot(table([row("a", 0.1, factor="shape")]))
    with pytest.raises(ValueError, match="kind must be one of score, agreement, task, model, got 'scores'"):
        pivot(table([row("a", 0.1, kind="scores")]))
    with pytest.raises(ValueError, match="per must be one of model, setting, got 'seed'"):
        pivot(study(), per="seed")


def test_words_may_be_of_any_kind():
    rows = study()
    words = {name: rows[name].astype("category") for name in ("model", "dataset", "family", "kind", "name", "failure")}
    changed = rows.assign(**words, predictor=rows["predictor"].where(rows["predictor"] != "", None), factor=None)
    pd.testing.assert_frame_equal(pivot(changed).values, pivot(rows).values)


def test_a_lost_job_that_does_not_know_its_size_fails_where_a_value_is_missing():
    rows = [task(m, 0.5, n_rows=n) for m in "ab" for n in (100, 1000)] + [task("c", 0.5, n_rows=1000)]
    lost = [task(m, None, n_rows=0, failure="Lost.") | {"key": f"{m}{k}"} for m, k in (("c", 1), ("d", 1), ("d", 2))]
    found = pivot(table(rows + lost))
    assert list(found.values) == ["task:shape/linear@1000", "task:shape/linear@100"]
    assert found.counts["failed"].tolist() == [1, 2]
    assert found.counts["values"].tolist() == [3, 2]
    assert found.values.loc["d"].isna().all()


def test_a_failure_at_a_size_that_was_never_reached_does_not_hide_what_worked():
    rows = [row("a", 0.5, n_rows=900), row("b", None, n_rows=5000, failure="Lost.")]
    found = pivot(table(rows))
    assert found.values["mig"].to_dict() == {"a": 0.5, "b": pytest.approx(np.nan, nan_ok=True)}
    assert found.counts.loc["mig"].to_dict() == {"values": 1, "failed": 1, "absent": 0}


def test_what_failed_everywhere_has_no_column():
    found = pivot(table([row("a", 0.5), row("a", None, "sap", failure="No.")]))
    assert list(found.values) == ["mig"]
