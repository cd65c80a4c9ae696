import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from unbraid import METRICS, Score, compare
from unbraid._base.text import EN_DASH, MISSING
from unbraid.report import render_comparison
from unbraid.report.comparison import difference_tables
from unbraid.results.finding import Finding, FindingKind

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
def reports(make_report, curve_parts):
    mig = Score(value=0.25, low=0.2, high=0.3, null=0.1)
    return {
        "a.npz": make_report(**curve_parts(sentence="A gives the factors back.", more={"mig": mig})),
        EVIL: make_report(
            **curve_parts(sentence="B does not."), failures={"mig": "too few rows."}, notes=("Size is thin.",)
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


def test_chance_stands_under_each_interval(reports):
    row = render_comparison(reports).split('id="score-mig"')[1].split("</tr>")[0]
    assert row.count("<small>chance 0.100</small>") == 1


def spread(value, null, **more):
    draws = value + 0.002 * np.array([-1.0, 1.0, -0.5, 0.5, 0.0])
    return Score(value=value, low=value - 0.01, high=value + 0.01, null=null, replicates=draws, **more)


def care(first, second, **more):
    """Return the hint beside the difference of two scores of modularity."""
    compared = compare({"a": first, "b": second})
    ((row,),) = [table.rows for table in difference_tables(compared)]
    assert row.sure
    return row.care


def test_a_sure_lead_that_chance_explains_is_to_be_read_with_care(make_report):
    clear = make_report({"modularity": spread(0.808, 0.3)})
    lucky = make_report({"modularity": spread(0.89, 0.66)})
    assert "0.66 for a and 0.30 for b" in care(lucky, clear)
    assert care(make_report({"modularity": spread(0.89, 0.3)}), clear) == ""
    assert care(make_report({"modularity": spread(0.97, 0.66)}), clear) == ""
    assert "(0.988)" in care(make_report({"modularity": spread(0.99, 0.988)}), clear)
    page = render_comparison({"a": lucky, "b": clear})
    assert "1 of 1 difference sure, 1 of them to be read with care" in page


def test_a_lead_over_codes_that_carry_nothing_is_to_be_read_with_care(make_report):
    full = make_report({"irs": spread(0.6, 0.1, per_code=np.array([0.6, 0.6, 0.6]))})
    part = make_report({"irs": spread(0.4, 0.1, per_code=np.array([0.9, 0.9, 0.1]))})
    empty = Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=("z2",))
    assert care(full, part) == ""
    told = care(full, replace(part, findings=(empty,)))
    assert told.startswith("read with care: b has 1 code ")


def test_findings_are_told_of_each(make_report):
    found = Finding(
        kind=FindingKind.ROTATED, sentence="They are <rotated>.", factors=("shape", "size"), codes=("z0", "z1")
    )
    page = render_comparison({"a": replace(make_report({"mig": Score(value=0.5)}), findings=(found,))})
    assert "<li>They are &lt;rotated&gt;.</li>" in page


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
    assert page.count('<svg class="chart') == 3
    chart = page.split('<svg class="chart"')[1].split("</figure>")[0]
    assert re.findall(r'class="(band|line d\d) c(\d)"', chart) == [
        ("band", "0"),
        ("band", "1"),
        ("line d0", "0"),
        ("line d1", "1"),
    ]


def test_styles_tell_lines_apart_without_colour(make_report, curve_parts):
    page = render_comparison({f"r{k}": make_report(**curve_parts()) for k in range(12)})
    chart = page.split('<svg class="chart"')[1].split("</figure>")[0]
    dashes = re.findall(r'class="line (d\d) c\d"', chart)
    shapes = re.findall(r'href="#(s\d)"', chart)[::3]
    assert len(set(zip(dashes, shapes, strict=True))) == 12


def test_the_page_carries_the_numbers(reports):
    page = render_comparison(reports)
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data == json.loads(compare(reports).to_json(evidence=False))


def test_without_curves_there_is_no_section_for_them(make_report):
    page = render_comparison({"a": make_report({"mig": Score(value=0.5)})})
    assert 'id="capacity"' not in page
    assert "<h1>One representation</h1>" in page


def difference_page(make_report, first, second, metric="mig"):
    parts = {"options": {metric: {}}, "rows_key": "same", "seed": 0}
    wobble = np.array([-0.01, 0.0, 0.01])
    scores = [Score(value=value, replicates=value + wobble * sign) for value, sign in ((first, 1), (second, -1))]
    return render_comparison(
        {name: make_report({metric: score}, **parts) for name, score in zip("ab", scores, strict=True)}
    )


def test_differences_have_a_verdict_a_row_and_a_picture(make_report):
    page = difference_page(make_report, 0.8, 0.3)
    assert '<p class="lede">a is surely better than b at 1 of 1 score (compactness 1 of 1)' in page
    section = page.split('<section id="differences">')[1].split("</section>")[0]
    assert "1 of 1 difference sure" in section
    assert '<tr class="sure">' in section
    # Replicates of the two differ by twice the wobble: error 0.02, and Student's t with 2 degrees of freedom is 4.303.
    assert f"<b>0.500</b><small>0.414 {EN_DASH} 0.586</small>" in section
    assert "<td>a<small>sure</small></td>" in section
    dot = float(section.split('cx="')[1].split("%")[0])
    assert dot == pytest.approx(50 - 50 * 0.5 / 0.586, abs=0.05)


def test_towards_a_name_is_better_for_it_even_where_lower_is_better(make_report):
    higher = difference_page(make_report, 0.3, 0.8)
    lower = difference_page(make_report, 0.3, 0.8, "total_correlation")
    assert float(higher.split('cx="')[1].split("%")[0]) > 50
    assert float(lower.split('cx="')[1].split("%")[0]) < 50
    assert "<td>b<small>sure</small></td>" in higher
    assert "<td>a<small>sure</small></td>" in lower


def test_an_unsure_difference_is_drawn_hollow_and_called_so(make_report):
    page = difference_page(make_report, 0.5, 0.49)
    section = page.split('<section id="differences">')[1].split("</section>")[0]
    assert "<td>a<small>unsure</small></td>" in section
    assert 'class="sure"' not in section


def test_scores_that_are_not_finite_can_be_compared(make_report):
    page = difference_page(make_report, np.inf, 0.3, "total_correlation")
    assert "not tested: a score is not finite" in page
    assert "<small>not tested</small>" in page


def test_one_representation_has_no_differences(make_report):
    page = render_comparison({"a": make_report({"mig": Score(value=0.5)})})
    assert 'id="differences"' not in page
    assert '<p class="lede">' not in page
