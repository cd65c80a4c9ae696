"""What a notebook shows of a report."""

import numpy as np
import pytest

from unbraid import Score, evaluate
from unbraid._base.text import EN_DASH
from unbraid.report import render_notebook

EVIL = "</table><script>alert(1)</script>"


@pytest.fixture
def report(make_report):
    scores = {
        "mig": Score(value=0.25, low=0.2, high=0.3, null=0.1, sentence="It says <this>."),
        "total_correlation": Score(value=np.inf),
    }
    return make_report(scores, failures={"z_diff": "too few rows."}, notes=("Size is thin.",), name=EVIL)


def test_shows_values_intervals_chance_failures_and_notes(report):
    text = report._repr_html_()
    assert text == render_notebook(report)
    row = text.split("Mutual information gap")[1].split("</tr>")[0]
    assert "<b>0.250</b>" in row
    assert f"0.200 {EN_DASH} 0.300" in row
    assert "<td>0.100</td>" in row
    assert "∞" in text
    assert "<b>failed</b> too few rows." in text
    assert "Size is thin." in text
    assert "It says &lt;this&gt;." in text
    assert "1,234 rows, 3 codes, 2 factors" in text


def test_has_no_scripts_and_names_stay_text(report):
    text = report._repr_html_()
    assert "<script" not in text
    assert "http" not in text
    assert text.startswith('<div class="unbraid">')
    assert text.rstrip().endswith("</div>")


def test_is_small_for_the_default_panel():
    factors = np.random.default_rng(0).integers(0, 4, (80, 2))
    report = evaluate(
        factors + 0.0, factors, metrics="mig,sap,r2,modularity,irs,mcc,jemmig,z1,z2", nulls=False, n_jobs=1
    )
    assert len(report._repr_html_()) < 15_000


def test_display_as_notebooks_ask_for_it(report):
    """Jupyter's formatter looks the method up on the object and takes a string or nothing."""
    method = getattr(report, "_repr_html_", None)
    assert callable(method)
    assert isinstance(method(), str)
    assert "mig" in repr(report)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_readable_on_light_and_dark(report, visit, tmp_path, scheme):
    page = tmp_path / "cell.html"
    style = "<meta name='color-scheme' content='light dark'><style>.other th { color: rgb(1, 2, 3) }</style>"
    page.write_text(
        f"<!doctype html><meta charset=utf-8>{style}<table class=other><th id=other>x</th></table>"
        + report._repr_html_()
    )
    shown = visit(page.as_uri(), color_scheme=scheme, viewport={"width": 420, "height": 700})
    ink = shown.eval_on_selector(".unbraid tbody td b", "cell => getComputedStyle(cell).color")
    assert ink == {"light": "rgb(0, 0, 0)", "dark": "rgb(255, 255, 255)"}[scheme]
    assert shown.eval_on_selector("#other", "cell => getComputedStyle(cell).color") == "rgb(1, 2, 3)"
    dot = shown.locator(".unbraid svg circle").first.bounding_box()
    line = shown.locator(".unbraid svg line").first.bounding_box()
    assert (dot["x"] + dot["width"] / 2 - line["x"]) / line["width"] == pytest.approx(0.25, abs=0.02)
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
