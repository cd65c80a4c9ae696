import numpy as np
import pytest

from helpers.thesis_rows import thesis_state, thesis_table
from unbraid.reproduce import thesis_study
from unbraid.reproduce.thesis.figures import SCORES, SUPERVISED, thesis_figures, thesis_figures_page
from unbraid.study import correlations, pivot

#: Every figure of the thesis that is computed; 5.1, 5.2 and 5.9 are a design, samples, and figures of another paper.
COMPUTED = {
    *(f"Figure 5.{n}" for n in (*range(3, 9), *range(10, 16))),
    *("Figure 6.1", "Figure 6.2", "Figure C.1", "Figure C.2"),
    *(f"Figure E.{n}" for n in range(1, 10)),
}


@pytest.fixture(scope="module")
def table():
    return thesis_table()


@pytest.fixture(scope="module")
def figures(table):
    return {figure.number: figure for figure in thesis_figures(thesis_state(table))}


def titles(figure):
    return [chart.title for group in figure.groups for chart in group.charts]


def test_every_computed_figure_is_drawn(figures):
    assert set(figures) == COMPUTED
    assert not [figure.number for figure in figures.values() if figure.missing]
    assert all(figure.maps or all(group.charts for group in figure.groups) for figure in figures.values())


def test_matrices_have_the_rows_and_columns_of_the_thesis(figures):
    shape = {name: (len(one.maps[0].rows), len(one.maps[0].columns)) for name, one in figures.items() if one.maps}
    assert shape == {
        "Figure 5.5": (16, 16),
        "Figure 5.6": (16, 12),
        "Figure 5.11": (1, 12),
        "Figure 5.12": (16, 13),
        "Figure 5.13": (16, 12),
        "Figure 5.15": (16, 9),
        "Figure E.1": (15, 8),
        "Figure E.6": (16, 12),
        "Figure E.7": (16, 13),
        "Figure E.8": (16, 12),
        "Figure E.9": (16, 9),
    }
    assert [row.name for row in figures["Figure 5.5"].maps[0].rows] == list(SCORES)


def test_annealed_models_are_left_out_where_the_thesis_does(figures, table):
    others = pivot(table, datasets=["sprites_mini"], without_family="annealed_vae")
    for name, few, method in (("Figure 5.12", False, "pearson"), ("Figure E.8", True, "spearman")):
        column = f"task:factor:shape/linear@{140 if few else 700}"
        r = correlations(others, ["mig"], [column], method=method, n_bootstrap=0).at("mig", column).r
        grid = figures[name].maps[0]
        cells = {row.name: row.cells for row in grid.rows}["mig"]
        assert f"r {r:.3f}" in cells[grid.columns.index(column.removeprefix("task:"))].exact


def test_position_is_the_mean_of_x_and_y(table):
    factors = {"position": ("x", "y"), "shape": ("shape",)}
    found = pivot(table, datasets=["sprites_mini"], factors=factors).values
    whole = pivot(table, datasets=["sprites_mini"], factors=True).values
    np.testing.assert_allclose(found["mig[position]"], (whole["mig[x]"] + whole["mig[y]"]) / 2)
    np.testing.assert_allclose(found["mig[shape]"], whole["mig[shape]"])
    assert "mig[x]" not in found
    with pytest.raises(ValueError, match="factors must be one of orientation"):
        pivot(table, factors={"colour": ("hue",)})


def test_scatter_plots_are_of_udr(figures):
    for name, n_plots in (("5.7", 6), ("5.8", 6), ("5.10", 3), ("5.14", 2), ("E.2", len(SUPERVISED))):
        assert titles(figures[f"Figure {name}"]) == ["udr_lasso"] * n_plots
    colours = [layer.name for layer in figures["Figure 5.14"].groups[0].charts[0].layers]
    assert colours == ["beta_vae", "factor_vae"]  # without CCI-VAE


def test_families_are_coloured_by_hyperparameter(figures):
    charts = figures["Figure 6.2"].groups[0].charts
    assert [chart.title.partition(":")[0] for chart in charts] == ["annealed_vae", "beta_vae", "factor_vae"]
    assert [layer.name for layer in charts[0].layers] == ["1", "2", "4"]
    assert [len(layer.marks) for layer in charts[0].layers] == [3, 3, 3]
    assert "r = " in charts[0].caption
    assert "standard deviations" in charts[0].caption


def test_the_first_model_is_drawn_against_rows(figures, table):
    charts = {chart.title: chart for chart in figures["Figure C.1"].groups[0].charts}
    assert list(charts) == ["z_diff", "z_min_var", "z1", "z2", "irs", "modularity"]
    assert len(charts["irs"].layers[0].marks) == 3
    one = table.query("model == 'beta_vae-0-0' and name == 'irs' and n_rows == 500")["value"].item()
    assert f"{one:.3f}".replace("-", "\u2212") in charts["irs"].layers[0].marks[1].tip
    assert "udr_lasso" in titles(figures["Figure C.2"])


def test_modularity_stands_beside_the_printed_numbers_with_p_values(figures):
    grid = figures["Figure E.1"].maps[0]
    cells = {row.name: [cell.text for cell in row.cells] for row in grid.rows}["irs"]
    assert cells[2:4] == ["\u22120.16", "<0.01"]
    assert cells[6:8] == ["\u22120.07", "<0.01"]
    assert float(cells[1].replace("\u2212", "-")) < 0.01


@pytest.mark.slow
def test_what_the_study_lacks_is_said():
    table = thesis_table(with_square=False, with_sizes=False)
    found = {figure.number: figure for figure in thesis_figures(thesis_state(table, also=()))}
    assert set(found) == COMPUTED
    empty = {number for number, figure in found.items() if figure.missing}
    assert empty == {"Figure 5.3", "Figure 5.4", "Figure C.1", "Figure C.2", "Figure 6.1"}


@pytest.mark.slow
def test_the_page_has_every_figure_in_order(table):
    page = thesis_figures_page(thesis_state(table))
    places = [page.index(f"<h2>{name}</h2>") for name in ("Figure 5.3", "Figure 5.15", "Figure 6.1", "Figure E.9")]
    assert places == sorted(places)


def test_figures_need_a_folder(tmp_path):
    with pytest.raises(ValueError, match=r"figures .* must be in a folder that exists"):
        thesis_study(figures=tmp_path / "none" / "figures.html")
