import pytest

from helpers.study_tables import study
from unbraid.report import study_page
from unbraid.study import analyze

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def found():
    return analyze(study(datasets=("dots", "cars")), n_bootstrap=100)


@pytest.fixture(scope="module")
def address(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.html"
    path.write_text(study_page(found, name="Dots and cars", about="Made up."), encoding="utf-8")
    return path.as_uri()


def test_hovering_a_cell_gives_the_numbers_of_the_data_frame(visit, address, found):
    page = visit(address)
    page.locator("#map-with_tasks-pearson tbody tr").nth(1).locator("td").nth(0).hover()
    one = found.with_tasks["pearson"]
    row, column = one.r.index[1], one.r.columns[0]
    at = one.at(row, column)
    text = page.locator("#tip").inner_text().replace("\u2212", "-")
    assert text.startswith(f"mig \u00d7 shape/linear@100: r {at.r:.3f} ({at.low:.3f} to {at.high:.3f})")
    assert f"p {at.p:.1e}, corrected {at.p_corrected:.1e}, n {at.n}" in text


def test_methods_and_groups_can_be_switched(visit, address, found):
    page = visit(address)
    assert page.locator("#maps-tasks .map:visible h3").inner_text() == "Pearson"
    page.locator("[data-pick=maps-tasks]").select_option(label="Spearman")
    assert page.locator("#maps-tasks .map:visible h3").inner_text() == "Spearman"
    assert page.locator("#maps-scores .map:visible h3").inner_text() == "Pearson"  # its own switch
    rank = found.with_tasks["spearman"].at("mig", "task:shape/linear@100").r
    assert f"{rank:.2f}" in page.locator("#map-with_tasks-spearman tbody tr").nth(1).locator("td").nth(0).inner_text()
    page.locator("[data-pick=maps-groups]").select_option(label="Without dip_vae, Pearson")
    assert page.locator("#maps-groups .map:visible h3").inner_text() == "Without dip_vae, Pearson"
    page.locator("[data-pick=hyperparameter-list]").select_option("hyperparameter-1")
    assert page.locator("#hyperparameter-list .map:visible h3").inner_text() == "dots"


def test_sorting_the_table_of_pairs(visit, address, found):
    page = visit(address)
    cells = page.locator("table.pairs tbody td.value")

    def values():
        return [float(cells.nth(k).get_attribute("data-sort")) for k in range(cells.count())]

    assert sorted(values()) == sorted(found.with_tasks["pearson"].tidy()["r"].tolist())
    page.locator("table.pairs th", has_text="Pearson r").locator("button").click()
    assert values() == sorted(values(), reverse=True)
    page.locator("table.pairs th", has_text="Pair").first.locator("button").click()
    names = page.locator("table.pairs tbody th").all_inner_texts()
    assert names == sorted(names)


def test_pointing_at_a_mark_names_its_model(visit, address):
    page = visit(address)
    page.locator("#scatter svg.chart").first.focus()
    page.keyboard.press("ArrowRight")
    assert "cars, beta_vae 1, seed 0 (cars-bet): " in page.locator("#tip").inner_text()
    page.locator("#hyperparameter .map:visible use").first.hover()
    assert page.locator("#tip").inner_text().startswith("beta_vae 1: ")


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways(visit, address, width, scheme):
    page = visit(address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_reads_without_script(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("#maps-tasks .map:visible").count() == 2
    assert page.locator(".controls:visible").count() == 0
    context.close()
