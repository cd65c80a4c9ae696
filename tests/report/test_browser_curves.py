"""Loss–capacity curves and the comparison page, in a browser."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (160, 2))
    codes = factors + 0.2 * rng.standard_normal((160, 2))
    turned = codes @ np.array([[1.0, 1.0], [1.0, -1.0]])
    names = ["<b>size</b>", "a factor with a very long name " * 3]
    return ub.compare(
        {
            label: ub.evaluate(
                ub.Representation(z, factors, names=names),
                metrics="dci_es,mig",
                options={"dci_es": {"ladder": "linear"}},
                nulls=False,
                progress=False,
                n_jobs=1,
            )
            for label, z in {"plain.npz": codes, f"{'folder/' * 12}turned.npz": turned, "again.npz": codes}.items()
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def single(compared, folder):
    return compared["plain.npz"].to_html(folder / "single.html").as_uri()


@pytest.fixture(scope="module")
def several(compared, folder):
    return compared.to_html(folder / "several.html").as_uri()


def first_loss(report):
    return report["dci_es.explicitness"].evidence["losses"][0, 0]


def test_hovering_a_mark_tells_its_loss(visit, single, compared):
    page = visit(single)
    page.locator(".losses svg.chart").first.locator("[data-tip]").first.hover()
    told = page.locator("#tip").inner_text()
    assert told.startswith(f"<b>size</b>: loss {first_loss(compared['plain.npz']):.3f} (")


def test_the_arrow_keys_go_from_mark_to_mark(visit, single):
    page = visit(single)
    chart = page.locator(".losses svg.chart").first
    tips = [mark.get_attribute("data-tip") for mark in chart.locator("[data-tip]").all()]
    chart.focus()
    for tip in tips:
        page.keyboard.press("ArrowRight")
        assert page.locator("#tip").inner_text() == tip
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tip").inner_text() == tips[-2]
    page.keyboard.press("Tab")
    assert page.locator("#tip").is_hidden()


def test_curves_are_also_there_as_a_table_and_the_sentence_near_the_top(visit, single, compared):
    page = visit(single)
    assert page.locator("#capacity details table").is_hidden()
    page.locator("#capacity summary").click()
    assert page.locator("#capacity details tbody tr").count() == 3
    assert compared["plain.npz"].sentences[0] in page.locator("#summary .sentence").inner_text()


def test_marks_lie_on_their_line(visit, single):
    page = visit(single)
    off = page.evaluate(
        """() => [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
          const line = chart.querySelector("path.line");
          const toScreen = line.getScreenCTM();
          const pairs = line.getAttribute("d").match(/[ML][\\d.]+ [\\d.]+/g).map((pair) => pair.slice(1).split(" "));
          const corners = pairs.map(([x, y]) => new DOMPoint(x, y).matrixTransform(toScreen));
          return [...chart.querySelectorAll("use")].map((mark, k) => {
            const box = mark.getBoundingClientRect();
            return Math.hypot(box.x + box.width / 2 - corners[k].x, box.y + box.height / 2 - corners[k].y);
          });
        })"""
    )
    assert len(off) == 6
    assert max(off) < 1


def test_a_comparison_overlays_curves_that_differ_without_colour(visit, several):
    page = visit(several)
    lines = page.locator(".mean path.line")
    assert lines.count() == 3
    dashes = [line.evaluate("item => getComputedStyle(item).strokeDasharray") for line in lines.all()]
    assert len(set(dashes)) == 3
    assert page.locator("#capacity .legend").inner_text().count(".npz") == 3


def test_a_representation_can_be_lifted_off_the_charts(visit, several):
    page = visit(several)
    page.locator("#capacity [data-lay='1']").uncheck()
    assert page.locator(".mean path.line:visible").count() == 2
    assert page.locator(".losses").first.locator("path.line:visible").count() == 4
    assert page.locator(".mean [data-line='1']:visible").count() == 0
    page.locator("#capacity [data-lay='1']").check()
    assert page.locator(".mean path.line:visible").count() == 3


def test_links_in_the_heading_lead_to_each_representation(visit, several, compared):
    page = visit(several)
    page.locator("table.versus thead a").nth(1).click()
    name = list(compared)[1]
    assert page.locator("article:target h3").inner_text().strip() == name
    assert compared[name].sentences[0] in page.locator("article:target .sentence").inner_text()


def test_hovering_a_score_names_file_and_number(visit, several, compared):
    page = visit(several)
    page.locator("[id='score-mig'] td").first.hover()
    told = page.locator("#tip").inner_text()
    assert told.startswith("plain.npz: ")
    assert repr(compared["plain.npz"]["mig"].value) in told


def test_the_numbers_of_a_comparison_can_be_saved(visit, several, compared):
    page = visit(several)
    with page.expect_download() as download:
        page.locator("#save").click()
    assert json.loads(Path(download.value.path()).read_text()) == json.loads(compared.to_json(evidence=False))


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_neither_page_scrolls_sideways(visit, single, several, width):
    for address in (single, several):
        page = visit(address, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
