"""What the documentation site is made with: formulas, docstrings, links, navigation, drawings."""

import re
from pathlib import Path

import numpy as np
import pytest

from audit_table import CELL, read_cells
from beyond import follow_links
from docstrings import as_markdown
from maths import mathml, on_page_content, parts
from navigation import families, finish
from pictures import SHOWN, bar, section
from unbraid.audit import CASES
from unbraid.metrics import METRICS
from wiring import drawing, influence

ROOT = Path(__file__).resolve().parents[2]


def test_formulas_become_mathml():
    inline = '<p>so <span class="arithmatex">\\(a &lt; b^2\\)</span>.</p>'
    assert on_page_content(inline, None, None, None) == (
        '<p>so <math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow><mi>a</mi><mo>&#x0003C;</mo>'
        "<msup><mi>b</mi><mn>2</mn></msup></mrow></math>.</p>"
    )
    block = '<div class="arithmatex">\\[\n\\frac12\n\\]</div>'
    made = on_page_content(block, None, None, None)
    assert made.startswith('<div class="formula"><math ')
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in made


def test_bars_and_large_brackets_are_drawn_well():
    assert mathml("|x|", display="inline").count('<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>') == 2
    assert re.search(
        r"<msup><mrow><mo [^>]*minsize[^>]*>\)</mo><mi></mi></mrow><mn>2</mn></msup>",
        mathml(r"\bigl(x\bigr)^2", display="block"),
    )


def test_wide_spaces_part_a_formula_and_those_inside_something_do_not():
    assert parts(r"a = b, \qquad c = d") == ["a = b,", "c = d"]
    assert parts(r"\frac{a \quad b}{c}") == [r"\frac{a \quad b}{c}"]
    assert parts(r"\begin{aligned} a \quad b \end{aligned}") == [r"\begin{aligned} a \quad b \end{aligned}"]


def test_marks_of_sphinx_become_markdown():
    text = as_markdown(
        "Score :math:`x`.\n\n"
        ".. math:: a\n    + b\n\n"
        "After.\n\n"
        "Args:\n    y: An :class:`~unbraid.results.score.Score`.\n\n        .. math::\n\n            c\n\n"
        "Note:\n    Mind this\n    well.\n\n"
        "Example:\n    >>> 1\n    1\n",
        "unbraid.metrics.information.gaps.mig",
    )
    assert "Score $x$." in text
    assert "\n$$\na\n+ b\n$$\n" in text
    assert "\n        $$\n        c\n        $$\n" in text
    assert '<autoref optional identifier="unbraid.Score"><code>Score</code></autoref>' in text
    assert "\n**Note:** Mind this\nwell.\n\nExamples:\n    >>> 1" in text


@pytest.mark.parametrize(
    ("role", "path", "target"),
    [
        (":func:`iwo`", "unbraid.metrics.geometry.orthogonality.iwr", "unbraid.metrics.iwo"),
        (":meth:`to_json`", "unbraid.audit.result.Audit.to_dict", "unbraid.audit.Audit.to_json"),
        (":meth:`to_json`", "unbraid.results.report.Report.from_json", "unbraid.Report.to_json"),
        (":class:`unbraid.Representation`", "unbraid.data.dataset.FactorDataset", "unbraid.Representation"),
    ],
)
def test_references_point_to_public_names(role, path, target):
    assert f'identifier="{target}"' in as_markdown(role, path)


def test_links_that_leave_the_docs_lead_to_a_page_of_the_site_or_become_text():
    def follow(link, source="docs/models.md", page="models.md"):
        return follow_links(link, source, page, ROOT)

    assert follow("[b](../benchmarks/README.md#sage)") == "[b](benchmarks.md#sage)"
    assert follow("[b](../../CONTRIBUTING.md)", "docs/metrics/mig.md", "metrics/mig.md") == "[b](../contributing.md)"
    assert follow("[code](../src/unbraid/panel/evaluation.py)") == "code"
    assert follow("[m](docs/metrics/mig.md)", "CHANGELOG.md", "changelog.md") == "[m](metrics/mig.md)"
    for same in ("[a](https://arxiv.org/abs/1802.04942)", "[d](data.md#kinds)", "[gone](../nothing.md)", "[x](#y)"):
        assert follow(same) == same


def test_navigation_lists_metrics_and_leaves_out_what_is_not_written(tmp_path):
    (tmp_path / "here.md").touch()
    (tmp_path / "metrics").mkdir()
    for name in ("mig", "z_diff", "of_several"):
        (tmp_path / "metrics" / f"{name}.md").touch()
    wanted = [{"Here": "here.md"}, {"Later": "later.md"}, {"Part": [{"Later": "later.md"}]}, {"Metrics": ["metrics/"]}]
    assert finish(wanted, tmp_path) == [
        {"Here": "here.md"},
        {"Metrics": [{name: f"metrics/{name}.md"} for name in ("z_diff", "mig", "of_several")]},
    ]
    assert families()[:2] == ["z_diff", "z_min_var"]


def test_influence_is_the_root_of_the_share_of_variance():
    np.testing.assert_allclose(influence(CASES["independent/identity"]), np.eye(3), atol=0.1)
    np.testing.assert_allclose(influence(CASES["independent/permuted"]), np.eye(3)[::-1], atol=0.1)
    leak = np.array([[2, 0, 1], [1, 2, 0], [0, 1, 2]]) / np.sqrt(5)  # a code is a factor plus half of another
    np.testing.assert_allclose(influence(CASES["independent/leaky"]), leak, atol=0.1)
    assert np.count_nonzero(influence(CASES["independent/noise_normal"])) == 0
    np.testing.assert_allclose(influence(CASES["correlated/identity"]), np.eye(3), atol=0.1)


def test_drawing_has_a_line_for_each_influence_and_joins_factors_that_correlate():
    for case, n_codes, n_lines, n_ties in (
        ("independent/identity", 3, 3, 0),
        ("independent/mixed", 3, 9, 0),
        ("independent/duplicated", 6, 6, 0),
        ("independent/noise_code", 4, 3, 0),
        ("correlated/identity", 3, 3, 2),
    ):
        svg = drawing(CASES[case])
        assert svg.count('<path class="f') == n_lines
        assert svg.count('class="tie"') == n_ties
        assert svg.count('class="code"') == n_codes


def test_cells_are_those_of_the_audit():
    page = ROOT / "docs" / "audit.md"
    cells = read_cells(page)
    assert set(cells) == {(metric, case) for metric in METRICS for case in CASES}
    assert sum(cell.failed for cell in cells.values()) == page.read_text(encoding="utf-8").count("**✗ ")
    assert CELL.fullmatch("**✗ = 0.82**").groupdict() == {"cross": "**✗ ", "mark": "=", "number": "0.82"}
    assert CELL.fullmatch("↓ -0.05")["number"] == "-0.05"


@pytest.mark.parametrize("family", families())
def test_picture_shows_every_score_of_every_case_from_best_to_worst(family):
    cells = read_cells(ROOT / "docs" / "audit.md")
    metrics = [metric for metric in METRICS.values() if metric.family == family]
    text = section(family, cells)
    cards = text.split('<div class="case"')[1:]
    assert len(cards) == len(SHOWN)
    order = [re.search(r'title="([^:]+):', card)[1] for card in cards]
    assert set(order) == set(SHOWN)
    values = [cells[metrics[0].name, case].value for case in order]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=metrics[0].higher_is_better)
    for case, card in zip(order, cards, strict=True):
        shown = re.findall(r'<span class="number">(<i[^>]*>✗</i>)?([^<]+)</span>', card)
        found = [cells[metric.name, case] for metric in metrics]
        assert shown == [(shown[i][0], cell.shown) for i, cell in enumerate(found)]
        assert [bool(cross) for cross, _ in shown] == [cell.failed for cell in found]


def test_bars_run_from_the_lowest_possible_to_the_highest():
    cells = read_cells(ROOT / "docs" / "audit.md")

    def width(name, case, highest=1.0):
        made = bar(METRICS[name], cells[name, case], highest, named=False)
        return float(re.findall(r'<rect width="([\d.]+)"', made)[0])

    cell = cells["mig", "correlated/identity"]
    assert width("mig", "correlated/identity") == pytest.approx(100 * cell.value, abs=0.1)
    halfway = cells["dci_es.explicitness", "independent/identity"].value
    assert width("dci_es.explicitness", "independent/identity") == pytest.approx(50 * (1 + halfway), abs=0.1)
    assert cells["total_correlation", "independent/duplicated"].shown == "∞"
    assert width("total_correlation", "independent/duplicated", 2.0) == 100
