import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub

pytestmark = pytest.mark.browser

METRICS = ["modularity", "irs", "mig_sup", "mig", "sap", "dci_linear", "r2", "total_correlation", "iwo", "iwr"]


@pytest.mark.parametrize("width", [390, 1280])
def test_page_of_an_audit_fits_and_explains_itself(browser, tmp_path, width):
    found = ub.audit.run("mig,modularity", cases="independent/*", n_seeds=2, n_rows=300, n_jobs=1, progress=False)
    page = browser.new_page(viewport={"width": width, "height": 900})
    trouble = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(found.to_html(tmp_path / "audit.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.hover("#compactness tbody tr:nth-child(6) td")
    assert page.text_content("#tip").startswith("mig in independent/duplicated: should get worse (compactness)")
    assert page.locator("#card details").count() == 1  # mig failed nowhere
    page.close()
    assert trouble == []


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (400, 3))
    codes = np.column_stack([factors + 0.3 * rng.standard_normal((400, 3)), rng.standard_normal((400, 40))])
    rep = ub.Representation(codes, factors, names=["shape", "<b>size</b>", "a factor with a very long name " * 3])
    return ub.evaluate(rep, metrics=METRICS, progress=False, n_jobs=1)


@pytest.fixture(scope="module")
def address(report, tmp_path_factory):
    return report.to_html(tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture
def open_page(visit, address):
    return lambda **options: visit(address, **options)


def values(page):
    """The values in the first table, in the order shown."""
    cells = page.locator("table.scores").first.locator("tbody td.value")
    return [float(cells.nth(row).get_attribute("data-sort")) for row in range(cells.count())]


def test_clicking_a_heading_sorts_and_says_so(open_page):
    page = open_page()
    heading = page.locator("table.scores").first.locator("th", has_text="Value")
    before = values(page)
    heading.locator("button").click()
    assert values(page) == sorted(before, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").click()
    assert values(page) == sorted(before)
    assert heading.get_attribute("aria-sort") == "ascending"


def test_sorting_works_from_the_keyboard(open_page):
    page = open_page()
    page.locator("table.scores").first.locator("th", has_text="Score").locator("button").focus()
    page.keyboard.press("Enter")
    titles = page.locator("table.scores").first.locator("tbody .title").all_inner_texts()
    assert titles == sorted(titles, key=str.lower)


def test_hovering_a_score_shows_the_number_of_the_json(open_page, report):
    page = open_page()
    expected = json.loads(report.to_json(evidence=False))["scores"]["mig"]["value"]
    page.locator("[id='score-mig'] svg.strip").hover()
    assert repr(expected) in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_hovering_a_cell_names_its_code_and_factor(open_page, report):
    page = open_page()
    page.locator("#map-mutual-information tbody tr").nth(1).locator("td").nth(1).hover()
    information = report["mig"].evidence["mutual_information"][1, 1]
    assert page.locator("#tip").inner_text() == f"code_1 \u00d7 <b>size</b>: {information:.6g}"


def test_hovering_a_dot_says_how_much_loss_is_left(open_page):
    page = open_page()
    page.locator("#subspaces svg.chart").nth(1).locator("use").first.hover()
    assert page.locator("#tip").inner_text() == "<b>size</b>: 1.00 of the loss left with no axis"


def test_curves_are_also_there_as_tables(open_page):
    page = open_page()
    assert page.locator("#subspaces details table").first.is_hidden()
    page.locator("#subspaces summary").click()
    assert page.locator("#subspaces details table").count() == 2
    assert page.locator("#subspaces details table").first.is_visible()


def test_maps_can_be_switched_and_ordered(open_page):
    page = open_page()
    assert page.locator("#map-list .map:visible").count() == 1
    page.locator("[data-pick]").select_option("map-importance-dci_linear")
    assert page.locator("#map-list .map:visible h3").inner_text() == "Importance, linear"
    page.locator("[data-order]").select_option("main")
    ranks = page.eval_on_selector_all("#map-importance-dci_linear tbody tr", "rows => rows.map(r => +r.dataset.rank)")
    assert ranks == sorted(ranks)


def test_the_numbers_can_be_saved(open_page, report):
    page = open_page()
    with page.expect_download() as download:
        page.locator("#save").click()
    assert json.loads(Path(download.value.path()).read_text()) == json.loads(report.to_json(evidence=False))


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_never_scrolls_sideways(open_page, width):
    page = open_page(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_fits_on_paper(open_page):
    page = open_page(viewport={"width": 680, "height": 900})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert page.pdf().startswith(b"%PDF")


def test_dark_mode_is_dark_and_paper_is_not(open_page):
    page = open_page(color_scheme="dark")
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    )
    assert page.evaluate(brightness) < 150
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(brightness) > 700


def test_reads_without_script(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("#map-list .map:visible").count() > 1
    assert page.locator(".controls:visible").count() == 0
    context.close()
