"""What every kind of page promises: names, order, contrast, keys, phone and paper; checked in Chromium."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

import unbraid as ub
from helpers.study_tables import study_with_collapsed_models
from unbraid.report import study_page
from unbraid.report.charts import ChartGroup, Series, line_chart, matrix_chart
from unbraid.report.figure import FigurePage, render_figure_page
from unbraid.reproduce import REPRODUCTIONS, iwo_table1
from unbraid.reproduce.run import ReproductionRun, judge
from unbraid.reproduce.status_page import render_status

pytestmark = pytest.mark.browser

KINDS = ("score", "comparison", "audit", "manifold", "figure", "reproduction", "study")
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of each kind, small."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (300, 3))
    codes = np.column_stack([factors + 0.3 * rng.standard_normal((300, 3)), rng.standard_normal((300, 3))])
    rep = ub.Representation(codes, factors, names=["shape", "size", "x"])
    metrics = "mig,mig_sup,mcc,z_diff,dci_linear,r2,iwo,iwr,total_correlation,dci_es"
    options = {"dci_es": {"ladder": "linear"}}
    report = ub.evaluate(rep, metrics=metrics, options=options, progress=False, n_jobs=1)
    audit = ub.audit.run("mig,modularity", cases="independent/*", n_seeds=2, n_rows=300, n_jobs=1, progress=False)
    torch.manual_seed(0)
    manifold = ub.manifold.analyze(torch.nn.Linear(8, 10), latent_dim=8, n_samples=10)
    series = Series(name="ours", x=np.arange(3.0), y=np.arange(3.0))
    figure = FigurePage(
        name="figure",
        title="A figure",
        paper="Somebody (2020), Fig. 1",
        lede="What was done.",
        facts=(("seed", "0"),),
        header=("what", "ours", "paper", "truth"),
        rows=(("a number", "0.5", "0.4", "0.5"),),
        groups=(
            ChartGroup(
                title="Charts",
                caption="Two of them.",
                charts=[line_chart([series], title="Line", caption="rising", x_label="x", y_label="y")],
            ),
            ChartGroup(title="More", caption="One.", charts=[matrix_chart(np.eye(3), title="M", caption="", top=1.0)]),
        ),
        notes=("A note.",),
    )
    table = iwo_table1([1, 3], n_seeds=1, progress=False)
    run = ReproductionRun(name="iwo-table1", mode="own", result=table)
    missing = ReproductionRun(name="moons", mode="full")
    outcomes = [judge(REPRODUCTIONS["iwo-table1"], run), judge(REPRODUCTIONS["moons"], missing)]
    (folder / "reproduction.html").write_text(render_status(outcomes), encoding="utf-8")
    (folder / "study.html").write_text(study_page(study_with_collapsed_models(), name="A study"), encoding="utf-8")
    report.to_html(folder / "score.html")
    ub.compare({"one": report, "two": report}).to_html(folder / "comparison.html")
    audit.to_html(folder / "audit.html")
    manifold.to_html(folder / "manifold.html")
    (folder / "figure.html").write_text(render_figure_page(figure), encoding="utf-8")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


@pytest.fixture(params=KINDS)
def path(request, pages):
    return pages[request.param]


def test_is_small_and_needs_nothing_else(path):
    html = path.read_text(encoding="utf-8")
    assert len(html.encode()) < MOST_BYTES
    assert "http-equiv" in html
    assert "<script src" not in html


UNNAMED = """() => {
  const named = (item) => (item.getAttribute("aria-label") || item.getAttribute("alt") || item.textContent).trim();
  const bad = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.closest("[aria-hidden=true]") || svg.parentElement.closest("svg")) continue;
    if (svg.getAttribute("role") !== "img" || !(svg.getAttribute("aria-label") || "").trim())
      bad.push(svg.outerHTML.slice(0, 90));
  }
  for (const image of document.images) if (!image.alt.trim()) bad.push(image.outerHTML.slice(0, 90));
  for (const item of document.querySelectorAll("button, a, summary")) if (!named(item)) bad.push(item.outerHTML);
  for (const item of document.querySelectorAll("input, select"))
    if (!item.labels.length && !item.getAttribute("aria-label")) bad.push(item.outerHTML);
  for (const item of document.querySelectorAll("[role=region]"))
    if (!item.getAttribute("aria-label")) bad.push(item.outerHTML.slice(0, 90));
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption || !table.caption.textContent.trim()) bad.push("no caption: " + table.className);
    if (table.querySelector("th:not([scope])")) bad.push("no scope: " + table.className);
  }
  const ids = [...document.querySelectorAll("[id]")].map((item) => item.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) bad.push("twice: " + id);
  for (const link of document.querySelectorAll("a[href^='#']"))
    if (!document.getElementById(link.getAttribute("href").slice(1))) bad.push("leads nowhere: " + link.outerHTML);
  return bad;
}"""


def test_everything_has_a_name(visit, path):
    page = visit(path.as_uri())
    assert page.evaluate(UNNAMED) == []


def test_headings_and_landmarks_are_in_order(visit, path):
    page = visit(path.as_uri())
    levels = page.eval_on_selector_all("h1, h2, h3, h4, h5, h6", "items => items.map(item => +item.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels)), levels
    assert page.locator("main").count() == page.locator("body header").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title().strip()


# Colours may be any CSS colour, so a canvas turns them into bytes; see-through ones are laid over what is behind.
CONTRASTS = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((byte) => linear(byte / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (item) => {
    const found = [];
    for (let at = item; at; at = at.parentElement) found.unshift(getComputedStyle(at).backgroundColor);
    return found;
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const weak = [];
  let n = 0;
  while (walk.nextNode()) {
    const item = walk.currentNode.parentElement;
    const text = walk.currentNode.textContent.trim();
    if (!text || !item.getClientRects().length || item.closest("script, style, .sr")) continue;
    const style = getComputedStyle(item);
    const ink = item.closest("svg") ? style.fill : style.color;
    const ground = behind(item);
    const [a, b] = [light(over([...ground, ink])), light(over(ground))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    n += 1;
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)}: ${item.outerHTML.slice(0, 90)}`);
  }
  return [n, weak];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit, path, scheme):
    page = visit(path.as_uri(), color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(item => (item.open = true))")
    n_texts, weak = page.evaluate(CONTRASTS)
    assert n_texts > 20
    assert weak == []


def test_the_button_turns_the_theme_round_and_paper_stays_white(visit, path):
    page = visit(path.as_uri(), color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    assert page.locator("#theme").inner_text() == "Dark theme"
    page.locator("#theme").click()
    assert page.evaluate(ground) != light
    assert page.locator("#theme").inner_text() == "Light theme"
    assert page.evaluate(CONTRASTS)[1] == []
    page.emulate_media(media="print")
    assert page.evaluate(ground) == light == "rgb(255, 255, 255)"


def test_keys_reach_the_content_and_show_where_they_are(visit, path):
    page = visit(path.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style != "none"


def test_nothing_is_wider_than_a_phone(visit, path):
    page = visit(path.as_uri(), viewport={"width": 390, "height": 844})
    page.evaluate("document.querySelectorAll('details').forEach(item => (item.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_nothing_is_cut_or_folded(visit, path):
    page = visit(path.as_uri(), viewport={"width": 700, "height": 900})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.locator("nav:visible, .controls:visible, #theme:visible, .skip:visible").count() == 0
    cut = """items => items.filter(item => {
      const style = getComputedStyle(item);
      return style.overflowX !== "visible" || style.maxHeight !== "none";
    }).length"""
    assert page.eval_on_selector_all(".scroll", cut) == 0
    assert page.locator("details:not([open])").count() == 0


def test_tips_come_by_keyboard_too(visit, path):
    page = visit(path.as_uri())
    drawings = page.locator("svg[tabindex='0']")
    assert page.locator("svg svg[tabindex]").count() == 0  # marks inside a drawing are no stops of their own
    for position in range(min(3, drawings.count())):
        drawing = drawings.nth(position)
        page.keyboard.press("Tab")  # so that what follows counts as coming from the keyboard
        drawing.focus()
        if drawing.get_attribute("data-tip") is None:
            page.keyboard.press("ArrowRight")
        assert page.locator("#tip").is_visible()
        page.keyboard.press("Escape")
        assert page.locator("#tip").is_hidden()


def test_untouched_factors_stay_and_others_leave_maps_curves_and_tables(visit, pages):
    page = visit(pages["score"].as_uri())
    scores = page.locator("table.scores tbody").all_inner_texts()
    heads = page.locator("#by-factor thead th:visible")
    figures = page.locator("figure[data-factor]:visible")
    assert heads.count() == 4
    assert figures.count() == 6  # three of subspaces, three of capacity
    page.locator("[data-choose='size']").uncheck()
    assert heads.all_inner_texts()[1:] == ["shape", "x"]
    assert page.locator("#by-factor tbody tr").first.locator("td:visible").count() == 2
    assert figures.count() == 4
    assert page.locator("#map-iwo tbody tr:visible").count() == 2
    assert page.locator("#map-iwo tbody tr:visible").first.locator("td:visible").count() == 2
    assert page.locator("#said").text_content() == "2 of 3 factors shown."
    assert page.locator("table.scores tbody").all_inner_texts() == scores
    page.locator("[data-choose='size']").check()
    assert heads.count() == 4


def test_arrow_keys_go_from_cell_to_cell(visit, pages):
    page = visit(pages["score"].as_uri())
    first = page.locator("#by-factor td[tabindex='0']")
    first.focus()
    assert "\u00d7 shape: " in page.locator("#tip").inner_text()
    page.keyboard.press("ArrowRight")
    assert "\u00d7 size: " in page.locator("#tip").inner_text()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.parentElement.rowIndex") == 2
    assert page.locator("#by-factor td[tabindex='0']").count() == 1


def test_the_tables_of_a_reproduction_sort_and_tell_the_numbers(visit, pages):
    page = visit(pages["reproduction"].as_uri())
    table = page.locator("table.sortable").first
    button = table.locator("th button", has_text="Ours")
    button.focus()
    page.keyboard.press("Enter")
    ours = [
        float(text) for text in table.locator("tbody td:nth-child(3)").evaluate_all("c => c.map(x => x.dataset.sort)")
    ]
    assert ours == sorted(ours, reverse=True)
    assert table.locator("th", has_text="Ours").get_attribute("aria-sort") == "descending"
    assert page.locator("#said").text_content() == "Sorted by Ours, descending."
    table.locator("svg").first.hover()
    kept = json.loads(page.locator("#data").text_content())
    values = [score["ours"] for row in kept[0]["result"]["rows"] for score in row["scores"].values()]
    assert any(repr(value) in page.locator("#tip").inner_text() for value in values)
    assert "Not run" in page.locator("#moons").inner_text()
