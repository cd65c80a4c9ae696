"""The documentation site: it builds without a warning, needs nothing from elsewhere, and works from disk."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pictures import SHOWN
from unbraid.metrics import METRICS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILD = [sys.executable, "-m", "mkdocs", "build", "--site-dir"]
#: Attributes that make a browser fetch something. Links are followed by people only.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def build(folder, root=ROOT):
    """Build the site as ``make docs`` does."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([*BUILD, folder], cwd=root, env=environment, capture_output=True, text=True, check=False)


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.fetched, self.links, self.classes, self.paragraphs, self.stack = [], [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.classes |= set((values.get("class") or "").split())
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if (address := values.get(FETCHED.get(tag))) and values.get("rel") not in ("prev", "next", "canonical"):
            self.fetched.append(address)
        if tag == "p":
            self.paragraphs.append("")
        self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag in self.stack:
            while self.stack.pop() != tag:
                pass

    def handle_data(self, data):
        if "p" in self.stack and not {"pre", "code"} & set(self.stack):
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def pages(site):
    return {str(path.relative_to(site)): Page(path) for path in site.rglob("*.html")}


def test_make_docs_builds_the_same_way():
    [command] = re.findall(r"^docs:.*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert command == "NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build"


def test_build_fails_on_a_broken_link_and_on_a_page_that_is_not_in_the_navigation(tmp_path):
    settings = f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md]\nhooks: []\nplugins: []\n"
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[gone](gone.md) [lost](#lost)\n", encoding="utf-8")
    (tmp_path / "docs" / "alone.md").write_text("# Alone\n", encoding="utf-8")
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode == 1
    for part in ("alone.md", "'gone.md'", "'#lost'"):
        assert part in done.stderr


def test_nothing_is_fetched_from_elsewhere(site, pages):
    for name, page in pages.items():
        assert page.fetched, name
        for address in page.fetched:
            assert not re.match(r"(?:[a-z]+:)?//", address), f"{name} fetches {address}"
        assert "mermaid" not in page.classes, f"{name}: diagrams would load a script from elsewhere"
    for path in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", path.read_text(encoding="utf-8"))
        assert outside == [], path.name


def test_what_is_fetched_is_there(site, pages):
    for name, page in pages.items():
        for address in page.fetched if name != "404.html" else []:
            if not address.startswith("data:"):
                assert (site / name).parent.joinpath(address.partition("?")[0]).exists(), f"{name} fetches {address}"


def test_navigation_reaches_every_page(pages):
    reached = {link.partition("#")[0] for link in pages["index.html"].links}
    written = {str(path.relative_to(DOCS).with_suffix(".html")) for path in DOCS.rglob("*.md")}
    made = {"benchmarks.html", "contributing.html", "changelog.html", "security.html"}
    assert written | made <= reached | {"index.html"}


def test_formulas_are_drawn_and_none_is_left(site):
    text = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    for family in {metric.family for metric in METRICS.values()}:
        assert "<math" in text[site / "metrics" / f"{family}.html"], family
    for path, page in text.items():
        assert "arithmatex" not in page, path.name
        left = re.findall(r"<m[a-z]+>\\[a-zA-Z]+|<merror.{40}", page)
        assert left == [], f"{path.name}: the converter does not know {left}"
        assert "&#x02015;" not in page, f"{path.name}: browsers do not stretch the bar of \\overline"


def test_docstrings_have_no_marks_of_sphinx_left(site):
    pages = sorted((site / "api").glob("*.html"))
    assert len(pages) >= 7
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r":(?:class|func|meth|math|data|attr|mod):|\.\. math::", text) == [], path.name
    assert 'href="unbraid.html#unbraid.Score"' in (site / "api" / "metrics.html").read_text(encoding="utf-8")


def test_markdown_that_one_program_reads_as_a_list_is_one_here_too(pages):
    for name, page in pages.items():
        for paragraph in page.paragraphs:
            lost = re.search(r"^ *(?:[-*] |\d+\. |\| ?-{2}).*", paragraph.strip("\n"), flags=re.MULTILINE)
            assert lost is None, f"{name}: an empty line is missing before {lost[0]!r}"


def test_every_metric_has_its_picture(site):
    for metric in METRICS.values():
        text = (site / "metrics" / f"{metric.family}.html").read_text(encoding="utf-8")
        assert text.count('class="case"') == text.count('class="wiring"') == len(SHOWN)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_open_from_disk_and_fit(visit, site, width, scheme):
    for name in ("index", "getting_started", "choosing", "metrics/dci_es", "audit", "api/metrics"):
        page = visit((site / f"{name}.html").as_uri(), viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        shown = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert shown == ("slate" if scheme == "dark" else "default")


@pytest.mark.browser
def test_search_works_from_disk(visit, site):
    page = visit((site / "concepts.html").as_uri(), viewport={"width": 1280, "height": 900})
    page.click(".md-search__input")
    page.type(".md-search__input", "jemmig")
    page.wait_for_selector(".md-search-result__link")
    links = page.eval_on_selector_all(
        ".md-search-result__link", "found => found.map(each => each.getAttribute('href'))"
    )
    assert any("metrics/jemmig.html" in link for link in links)


@pytest.mark.browser
def test_formulas_have_room_and_height(visit, site):
    page = visit((site / "metrics" / "mig.html").as_uri(), viewport={"width": 1280, "height": 900})
    box = page.locator(".formula math").first.bounding_box()
    fraction = page.locator(".formula mfrac").first.bounding_box()
    assert box["height"] > fraction["height"] * 0.99 > 25
