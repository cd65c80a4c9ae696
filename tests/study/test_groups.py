import numpy as np
import pandas as pd
import pytest

from helpers.study_tables import study, two_columns
from unbraid.study import cell_correlations, correlations, grouped_correlations, mean_correlations, pivot

PAIR = ("mig", "task:shape/linear@100")


def simpson():
    """Within each family the task falls with the score; the families lie on a rising line."""
    x, y, family = [], [], []
    for place, name in enumerate(("beta_vae", "dip_vae", "factor_vae")):
        for step in np.linspace(-1, 1, 12):
            x.append(4 * place + step)
            y.append(4 * place - step + 0.1 * np.cos(40 * step))
            family.append(name)
    return pivot(two_columns(x, y, family=family))


def test_simpsons_case_is_found_and_said():
    found = grouped_correlations(simpson(), by="family")
    assert found.pooled.r.loc[PAIR] > 0.9
    assert all(one.r.loc[PAIR] < -0.9 for one in found.groups.values())
    reversals = found.reversals()
    assert sorted(reversals["family"]) == ["beta_vae", "dip_vae", "factor_vae"]
    assert reversals["is_clear"].all()
    (sentence,) = found.sentences()
    assert sentence.startswith("mig \u00d7 task:shape/linear@100: +0.9")
    assert "\u22120.99 within beta_vae" in sentence
    assert sentence.endswith(
        "no family has that sign, so the correlation over all models comes from differences between families."
    )


def test_one_family_against_the_others_is_said_otherwise():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    family = np.repeat(["a", "b", "c", "odd"], 20)
    y = np.where(family == "odd", -x, x) + 0.1 * rng.normal(size=80)
    found = grouped_correlations(pivot(two_columns(x, y, family=family)))
    (sentence,) = found.sentences()
    assert "within odd" in sentence
    assert "within a" not in sentence
    assert sentence.endswith("the correlation over all models does not hold in every family.")


def test_agreement_is_not_reversal():
    assert grouped_correlations(pivot(study()), ["mig"]).sentences() == []


def test_a_group_is_what_its_models_alone_give():
    models = pivot(study())
    found = grouped_correlations(models, by="family", correct="none")
    alone = correlations(pivot(study(), families=["dip_vae"]), correct="none")
    pd.testing.assert_frame_equal(found.groups["dip_vae"].r, alone.r)
    pd.testing.assert_frame_equal(found.groups["dip_vae"].low, alone.low)


def test_leaving_a_family_out_is_what_the_other_models_give():
    models = pivot(study())
    found = grouped_correlations(models, by="family", leave_out=True, n_bootstrap=0)
    alone = correlations(pivot(study(), without_family="dip_vae"), n_bootstrap=0)
    pd.testing.assert_frame_equal(found.groups["dip_vae"].r, alone.r)
    pooled, without = (one.r.loc["udr_lasso", "task:shape/linear@100"] for one in (found.pooled, alone))
    assert without > pooled + 0.1  # the shifted family hid the relation


def test_a_whole_that_hangs_on_one_family_is_said():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=40), 8 + rng.normal(size=20)])
    family = np.repeat(["a", "b", "far"], 20)
    y = np.where(family == "far", 12.0, -x) + 0.1 * rng.normal(size=60)
    found = grouped_correlations(pivot(two_columns(x, y, family=family)), leave_out=True, n_bootstrap=0)
    (sentence,) = found.sentences()
    assert "without far; the correlation over all models depends on that family." in sentence


def test_groups_are_corrected_together():
    found = grouped_correlations(pivot(study()), n_bootstrap=0)
    tidy = found.tidy()
    assert found.groups["dip_vae"].n_tests == len(tidy) == 18
    assert found.pooled.n_tests == 6
    smallest = tidy.sort_values("p").iloc[0]
    assert smallest["p_corrected"] == pytest.approx(18 * smallest["p"])


def test_by_data_set():
    found = grouped_correlations(pivot(study(datasets=("dots", "cars"))), by="dataset", n_bootstrap=0)
    assert list(found.groups) == ["cars", "dots"]
    assert set(found.tidy()["dataset"]) == {"cars", "dots"}


def test_cells_are_correlations_over_the_strengths_of_one_data_set_and_family():
    x = [0.0, 1, 2, 3, 0, 1, 2, 3]
    y = [0.0, 1, 2, 3, 3, 2, 1, 0]
    hyperparameter = [1.0, 2, 4, 8] * 2
    table = two_columns(x, y, hyperparameter=hyperparameter, dataset=["dots"] * 4 + ["cars"] * 4)
    cells = cell_correlations(pivot(table, per="setting"))
    assert cells[["dataset", "family", "r", "n"]].to_numpy().tolist() == [
        ["cars", "beta_vae", -1.0, 4],
        ["dots", "beta_vae", 1.0, 4],
    ]
    mean = mean_correlations(cells, "family").iloc[0]
    assert (mean["mean"], mean["std"], mean["n"]) == pytest.approx((0.0, np.sqrt(2), 2))
    assert mean_correlations(cells, "dataset")["mean"].tolist() == [-1.0, 1.0]


def test_cells_with_too_few_strengths_are_left_out():
    table = two_columns([0.0, 1.0], [0.0, 1.0], hyperparameter=[1.0, 2.0])
    cells = cell_correlations(pivot(table, per="setting"))
    assert cells.empty
    assert mean_correlations(cells).empty


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="by must be one of family, dataset, got 'seed'"):
        grouped_correlations(pivot(study()), by="seed")
    with pytest.raises(ValueError, match="leave_out needs at least two groups, got only dataset 'dots'"):
        grouped_correlations(pivot(study()), by="dataset", leave_out=True)


def test_the_earlier_name_of_sentences_and_summary_warns():
    found = grouped_correlations(pivot(study()), ["mig"])
    with pytest.warns(DeprecationWarning, match="sentences"):
        assert found.says() == found.sentences()
    with pytest.warns(DeprecationWarning, match="summary"):
        assert found.pooled.says == found.pooled.summary
