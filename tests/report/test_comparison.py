import json
from html.parser import HTMLParser

import pytest

from unbraid import METRICS, Score, compare
from unbraid.report import render_comparison
from unbraid.report._format import EN_DASH, MISSING

EVIL = "</title><img src=x onerror=alert(1)>"


class Text(HTMLParser):
    """Collects tags, ids, links within the page, and text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.ids, self.links, self.text = [], [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        href = attributes.get("href") or ""
        self.links += [href[1:]] if href.startswith("#") else []

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def reports(make_report, curve_scores):
    mig = Score(value=0.25, low=0.2, high=0.3, null=0.1)
    return {
        "a.npz": make_report(curve_scores(says="A gives the factors back.") | {"mig": mig}),
        EVIL: make_report(
            curve_scores(says="B does not."), failures={"mig": "too few rows."}, notes=("Size is thin.",)
        ),
    }


def test_every_metric_has_a_cell_for_every_representation(reports):
    page = render_comparison(reports)
    row = page.split('id="score-mig"')[1].split("</tr>")[0]
    assert row.count("<td") == 2
    assert f"<b>0.250</b><small>0.200 {EN_DASH} 0.300</small>" in row
    assert "<b>failed</b>" in row
    assert 'data-tip="too few rows."' in row
    assert page.count('<tr id="score-') == 3


def test_a_metric_that_one_report_was_not_asked_for_is_a_dash(make_report):
    page = render_comparison({"a": make_report({"mig": Score(value=0.5)}), "b": make_report({"sap": Score(value=0.5)})})
    assert page.count(f"<b>{MISSING}</b>") == 2


def test_each_representation_has_its_sentence_notes_and_failures(reports):
    page = render_comparison(reports)
    first, second = page.split("<article ")[1:]
    assert "A gives the factors back." in first
    assert "B does not." in second
    assert "Size is thin." in second
    assert "too few rows." in second
    assert METRICS["mig"].title in second
    assert "Size is thin." not in first


def test_links_lead_somewhere_and_names_stay_text(reports):
    parsed = Text(render_comparison(reports))
    assert set(parsed.links) <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {"representation-1", "representation-2"} <= set(parsed.links)
    assert "img" not in parsed.tags
    assert EVIL in parsed.text


def test_curves_are_overlaid_with_a_legend(reports):
    page = render_comparison(reports)
    assert page.count('<svg class="chart"') == 3
    chart = page.split('<svg class="chart"')[1].split("</figure>")[0]
    assert 'class="line c0 d0"' in chart
    assert 'class="line c1 d1"' in chart
    assert chart.count("<polygon") == 2


def test_styles_tell_lines_apart_without_colour(make_report, curve_scores):
    page = render_comparison({f"r{k}": make_report(curve_scores()) for k in range(12)})
    chart = page.split('<svg class="chart"')[1].split("</figure>")[0]
    dashes = [part.split('"')[0].split()[1] for part in chart.split('class="line ')[1:]]
    shapes = [part.split('"')[0] for part in chart.split(' d="')[1:]][::3]
    assert len(set(zip(dashes, shapes, strict=True))) == 12


def test_the_page_carries_the_numbers(reports):
    page = render_comparison(reports)
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data == json.loads(compare(reports).to_json())


def test_without_curves_there_is_no_section_for_them(make_report):
    page = render_comparison({"a": make_report({"mig": Score(value=0.5)})})
    assert 'id="capacity"' not in page
    assert "<h1>One representation</h1>" in page
