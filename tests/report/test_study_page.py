import re

import numpy as np
import pandas as pd
import pytest

from helpers.study_tables import row, study, table, task
from unbraid.report import study_page
from unbraid.report.study import cell_tip, factor_maps, group_maps, main_maps
from unbraid.report.study_charts import (
    agreements,
    hyperparameter_places,
    hyperparameters,
    p_value,
    scatters,
    sizes,
    within_families,
)
from unbraid.study import analyze
from unbraid.study.analysis.findings import findings, in_words, opening


@pytest.fixture(scope="module")
def found():
    return analyze(study(datasets=("dots", "cars")), n_bootstrap=100)


def test_opens_with_the_strongest_relation(found):
    best = found.with_tasks["pearson"].tidy().iloc[0]
    text = opening(found)
    assert (
        f"is mig with size/linear@100 (r = \u2212{abs(best['r']):.2f}, confidence interval \u2212{abs(best['low']):.2f}"
        in text
    )
    assert "Here size/linear@100 is the task size, solved by a linear model trained on 100 rows. 4 of" in text
    assert "4 of 6 pairs are significant after Holm's correction at a level of 0.05." in text


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("mig", ""),
        ("task:factor:shape/mlp@50%", "Here factor:shape/mlp@50% is the factor shape, predicted by a small network "),
        ("task:factor:shape/mlp@50%", "trained on 50% of the largest training set of its data set. "),
        (
            "task:position_polar/boosting@1000",
            "the task position_polar, solved by boosted trees trained on 1,000",
        ),
    ],
)
def test_a_column_of_a_task_is_said_in_words(column, says):
    assert says in in_words(column)
    assert bool(in_words(column)) is bool(says)


def test_numbers_are_counted_once_and_factors_on_top():
    whole = study()
    parts = whole[whole["name"] == "mig"].assign(factor="x", key=lambda rows: rows["key"] + "x")
    loss = (
        whole[whole["name"] == "irs"].drop_duplicates("model").assign(kind="model", name="loss", n_rows=0, failure=None)
    )
    loss = loss.assign(key=loss["key"] + "loss", value=1.0)
    found = analyze(pd.concat([whole, parts, loss]), n_bootstrap=0, progress=False)
    assert found.runs["measurements"].sum() == len(whole) - 1  # one failed


def test_findings_say_what_predicts_what_and_what_does_not(found):
    text = " ".join(findings(found))
    assert "The score most strongly related to each task: mig for size/linear@100 and shape/linear@100." in text
    assert "Models with higher scores do worse at size/linear@100." in text
    assert "Not significant after Holm's correction: 2 pairs" in text
    assert "Scores without any significant relation: irs." in text
    assert "irs correlates least with the other scores" in text
    assert "No correlation within the families has a significantly different sign" in text
    assert "irs at 100 rows (rank correlation" in text


def test_findings_point_out_families_that_contradict_the_whole():
    rows = []
    for place, family in enumerate(("a", "b", "c")):
        for k, step in enumerate(np.linspace(-1, 1, 12)):
            about = {"family": family, "seed": k}
            rows.append(row(f"{family}{k}", 4 * place + step, **about))
            rows.append(task(f"{family}{k}", 4 * place - step + 0.1 * np.cos(40 * step), **about))
    found = analyze(table(rows), n_bootstrap=20)
    text = " ".join(findings(found))
    assert "1 pair where families contradict the correlation over all models. mig \u00d7 shape" in text
    assert "differences between families" in text


def test_a_score_that_is_better_when_lower_is_not_held_against_models():
    rows = []
    for k in range(20):
        rows += [row(f"m{k}", float(k), "total_correlation", seed=k), task(f"m{k}", 1.0 - k / 20, seed=k)]
    page = study_page(table(rows), name="Lower", n_bootstrap=20)
    assert "do worse at" not in page
    assert "Here: total_correlation." in page


def test_ranks_that_differ_are_pointed_out():
    x = np.arange(20.0)
    rows = [r for k in range(20) for r in (row(f"m{k}", x[k], seed=k), task(f"m{k}", float(np.exp(x[k])), seed=k))]
    text = " ".join(findings(analyze(table(rows), n_bootstrap=20)))
    assert "for 1 pair, most for mig \u00d7 shape/linear@100: Pearson 0.5" in text
    assert "Spearman 1.00" in text
    assert "Every pair is significant" in text


def test_cells_say_everything(found):
    one = found.with_tasks["pearson"]
    at = one.at("mig", "task:shape/linear@100")
    assert cell_tip(at).startswith(f"r {at.r:.3f} ({at.low:.3f} to {at.high:.3f}), p ")
    assert cell_tip(at).endswith(", n 120")
    assert cell_tip(found.between_scores["pearson"].at("mig", "mig")) == "r 1.000 (1.000 to 1.000), n 120"
    assert one.entries()[one.r.index.get_loc("mig")][0] == at


def test_maps_mark_what_is_significant(found):
    grid = main_maps(found)["with_tasks"][0]
    texts = {r.name: [cell.text for cell in r.cells] for r in grid.rows}
    assert grid.columns == ("shape/linear@100", "size/linear@100")
    assert texts["mig"][0].endswith("*")
    assert not texts["irs"][0].endswith("*")
    assert [cell.is_negative for cell in grid.rows[1].cells] == [False, True]


def test_groups_beyond_what_the_page_can_carry_are_named(found):
    whole, nothing = group_maps(found, 0)
    assert len(whole) == 2 * (3 + 2 + 3)
    assert nothing == ""
    some, left_out = group_maps(found, 6700 - 12)
    assert [grid.title for grid in some] == ["Within beta_vae, Pearson", "Within dip_vae, Pearson"]
    assert "heavy: within factor_vae, Pearson, within cars, Pearson, within dots, Pearson and 11 more." in left_out


def test_scatter_plots_are_bounded_and_say_so():
    rng = np.random.default_rng(0)
    rows = [r for k in range(400) for r in (row(f"m{k}", rng.normal(), seed=k), task(f"m{k}", rng.normal(), seed=k))]
    drawn = scatters(analyze(table(rows), n_bootstrap=0))
    assert [len(layer.marks) for layer in drawn.charts[0].layers] == [240]
    assert drawn.left_out == "Each plot shows 240 of 400 models, evenly spaced; r is computed over all models."
    tips = [mark.tip for mark in drawn.charts[0].layers[0].marks]
    assert tips[0].startswith("beta_vae 1, seed 0 (m0): ")
    assert tips[-1].startswith("beta_vae 1, seed 399 (m399): ")


def test_charts_against_strength_and_size(found):
    by_data = hyperparameters(found)
    assert [group.title for group in by_data] == ["cars", "dots"]
    marks = by_data[0].charts[0].layers[0].marks
    assert len(marks) == 4
    assert all(mark.whisker[1] < mark.y < mark.whisker[0] for mark in marks)
    assert [chart.title for chart in by_data[0].charts][:3] == ["irs", "mig", "udr_lasso"]
    line = found.hyperparameters.query("dataset == 'cars' and family == 'beta_vae' and column == 'irs'").iloc[0]
    assert marks[0].tip.startswith(f"beta_vae 1: {line['mean']:.3f}".replace("-", "\u2212"))
    settled = sizes(found).charts[0]
    assert [tick.text for tick in settled.x_ticks] == ["100", "1,000"]


@pytest.mark.slow
def test_names_from_the_data_stay_text():
    rows = study()
    rows["family"] = rows["family"].replace("dip_vae", "<b>dip</b>")
    rows.loc[rows["failure"].notna(), "failure"] = "<script>alert(1)</script>"
    page = study_page(rows, name="<i>Study</i>", about="<u>x</u>", n_bootstrap=20)
    assert "<script>alert" not in page
    assert not re.search(r"<b>dip|<i>Study|<u>x", page)
    assert "&lt;b&gt;dip" in page


@pytest.mark.slow
def test_failures_are_named_with_their_reason(found):
    page = study_page(found, name="Dots")
    assert "10 constant columns" in page
    assert "1 model, such as dots-beta_va" in page


@pytest.mark.parametrize(
    "rows",
    [
        [row("a", None, failure="No.")],
        [row("a", 0.5)],
        [task("a", 0.5)],
        [row("a", np.nan, failure="No."), task("a", 0.5)],
    ],
)
def test_the_smallest_study_has_a_page(rows):
    page = study_page(table(rows), name="Small")
    assert "What was run" in page
    assert "to correlate" in page or "could be correlated" in page


@pytest.mark.slow
def test_a_large_study_stays_light():
    rng = np.random.default_rng(0)
    families = ["beta_vae", "beta_tc_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "annealed_vae"]
    rows = []
    for k in range(252):
        about = {"family": families[k % 6], "hyperparameter": 2.0 ** (k // 6 % 6), "seed": 1000 + k}
        model = f"{k:032x}"
        for j in range(26):
            rows.append(row(model, rng.normal(), f"dci_forest.disentanglement_{j}", **about))
        for j in range(24):
            rows.append(task(model, rng.normal(), f"position_polar_{j}", n_rows=100_000, **about))
    page = study_page(table(rows), name="Large", n_bootstrap=5)
    assert len(page.encode()) < 1_600_000
    assert "Shown: the 24 of 26 rows with the largest correlation" in page
    assert "Not on this page, which would get heavy" in page


def test_options_after_the_analysis_are_refused(found):
    with pytest.raises(TypeError, match="options must be given where the analysis is made, got seed after it"):
        study_page(found, name="Dots", seed=1)


def test_agreement_is_drawn_against_every_score_and_task(found):
    by_score, by_task = agreements(found)
    assert [chart.x_label for chart in by_score.charts] == ["irs", "mig"]
    assert [chart.x_label for chart in by_task.charts] == ["shape/linear@100", "size/linear@100"]
    at = found.with_tasks["pearson"].at("udr_lasso", "task:shape/linear@100")
    assert by_task.charts[0].caption == f"r = {at.r:.2f}, p = {p_value(at.p)}"


@pytest.mark.slow
def test_many_plots_of_agreement_stay_light():
    rng = np.random.default_rng(0)
    rows = []
    for k in range(300):
        about = {"family": f"family {k % 6}", "seed": k}
        model = f"{k:032x}"
        rows.append(row(model, rng.normal(), "udr_lasso", kind="agreement", **about))
        rows += [row(model, rng.normal(), f"score_{j}", **about) for j in range(40)]
    (group,) = agreements(analyze(table(rows), n_bootstrap=0, progress=False))
    assert len(group.charts) == 30
    assert sum(len(layer.marks) for chart in group.charts for layer in chart.layers) <= 4000
    assert "Shown: the first 30 of 40 columns." in group.left_out


def test_families_are_drawn_apart_and_coloured_by_hyperparameter(found):
    groups = within_families(found)
    assert [group.title for group in groups] == ["udr_lasso and shape/linear@100", "udr_lasso and size/linear@100"]
    charts = groups[0].charts
    assert [chart.title for chart in charts] == [f"{name}: udr_lasso" for name in ("beta_vae", "dip_vae", "factor_vae")]
    assert [layer.name for layer in charts[0].layers] == ["1", "2", "4", "8"]
    assert [layer.style for layer in charts[0].layers] == [0, 1, 2, 3]
    assert hyperparameter_places(found.models) == [
        (0, "hyperparameter 1, the smallest"),
        (1, "hyperparameter 2"),
        (2, "hyperparameter 3"),
        (3, "hyperparameter 4"),
    ]


def test_scores_of_single_factors_have_a_map_each():
    rows = study()
    parts = [rows[rows["name"] == "mig"].assign(factor=one, key=rows["key"] + one) for one in ("x", "y", "shape")]
    factors = {"shape": ["shape"], "position": ["x", "y"]}
    maps = factor_maps(analyze(pd.concat([rows, *parts]), n_bootstrap=0, progress=False, factors=factors))
    assert [grid.title for grid in maps] == ["mig, Pearson", "mig, Spearman"]
    assert [line.name for line in maps[0].rows] == ["mig", "mig[position]", "mig[shape]"]
    assert "p " in maps[0].rows[1].cells[0].exact
