import numpy as np
import pytest

from helpers.study_tables import row, study, table, task
from unbraid.study import against_hyperparameter, convergence, pivot, scatter


def test_mean_and_spread_over_seeds():
    rows = [
        row("a", 1.0, seed=0),
        row("b", 3.0, seed=1),
        row("c", 5.0, hyperparameter=16.0),
        row("d", np.nan, seed=3, failure="No."),
    ]
    found = against_hyperparameter(pivot(table(rows)))
    assert found["place"].tolist() == [1, 2]
    first = found.iloc[0]
    assert (first["mean"], first["std"], first["low"], first["high"], first["n"]) == pytest.approx(
        (2.0, np.sqrt(2), 1, 3, 2)
    )
    assert np.isnan(found.iloc[1]["std"])


def test_a_family_without_strength_has_one_place():
    found = against_hyperparameter(
        pivot(table([row("a", 1.0, hyperparameter=np.nan), row("b", 3.0, hyperparameter=np.nan, seed=1)]))
    )
    assert found[["place", "mean", "n"]].to_numpy().tolist() == [[1, 2.0, 2]]


def test_convergence_by_hand():
    values = {10: (1.0, 2.0, 4.0), 100: (2.0, 1.0, 3.0)}
    rows = [row(f"m{k}", value, n_rows=n) for n, each in values.items() for k, value in enumerate(each)]
    found = convergence(table(rows)).set_index("n_rows")
    assert found.loc[
        10, ["models", "mean", "change", "absolute_change", "ratio", "rank_correlation"]
    ].tolist() == pytest.approx([3, 7 / 3, 1 / 3, 1.0, 7 / 6, 0.5])
    assert found.loc[100, ["change", "absolute_change", "ratio", "rank_correlation"]].tolist() == pytest.approx(
        [0, 0, 1, 1]
    )


def test_convergence_leaves_out_what_has_one_size_and_pairs_models():
    rows = [row("a", 1.0, n_rows=10), row("a", 2.0, n_rows=100), row("b", 9.0, n_rows=10), row("a", 1.0, "sap")]
    found = convergence(table(rows))
    assert found["column"].unique().tolist() == ["mig"]
    assert found["models"].tolist() == [1, 1]
    assert found["mean"].tolist() == [1.0, 2.0]
    assert found["rank_correlation"].isna().all()


def test_tasks_converge_too():
    found = convergence(table([task("a", 0.5, n_rows=10), task("a", 0.7, n_rows=100)]))
    assert found["column"].unique().tolist() == ["task:shape/linear"]
    assert found["ratio"].tolist() == pytest.approx([0.5 / 0.7, 1.0])


def test_scatter_names_models_and_leaves_out_what_is_missing():
    found = scatter(pivot(study()), "irs", "task:size/linear@100")
    assert len(found) == 59  # one irs failed
    assert {"model", "family", "hyperparameter", "seed", "x", "y"} <= set(found)
    with pytest.raises(ValueError, match=r"y must be one of .*, got 'size'"):
        scatter(pivot(study()), "mig", "size")


def test_losses_of_models_are_not_scores():
    rows = table([row("a", 0.5), *(row("a", 1.0, "loss", kind="model", n_rows=n) for n in (0, 10))])
    assert convergence(rows).empty
    assert list(pivot(rows).values) == ["mig"]
