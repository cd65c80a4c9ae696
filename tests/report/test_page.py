import json
from html.parser import HTMLParser

import numpy as np
import pytest

import unbraid as ub
from unbraid import METRICS, Score
from unbraid.interpret.verdict import Level
from unbraid.report import render_page

EVIL_FACTOR = "<script>alert(1)</script>"
EVIL_CODE = '"><img src=x onerror=alert(1)>'
EVIL_NOTE = "</script><script>alert(2)</script> {{ 7 * 7 }}"
EVIL_NAME = "</title><img src=x>"
LIMIT = 1_500_000


class Tags(HTMLParser):
    """Collects tags with their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def report(make_report):
    matrix = np.array([[0.9, 0.1], [0.1, 0.8], [0.0, 0.0]])
    mig = Score(
        value=0.714285714,
        low=0.6,
        high=0.8,
        null=0.02,
        per_factor=np.array([0.7, 0.73]),
        evidence={"mutual_information": matrix},
        notes=(EVIL_NOTE,),
    )
    dci = Score(
        value=0.5, low=0.4, high=0.6, null=0.5, per_code=np.array([0.5, 0.4, np.nan]), evidence={"importance": matrix}
    )
    correlation = Score(value=7.5, low=7.0, high=8.0, null=0.1, evidence={"correlation": np.eye(3)})
    return make_report(
        {"mig": mig, "dci_forest.disentanglement": dci, "total_correlation": correlation},
        failures={"sap": f"could not {EVIL_NOTE}"},
        notes=(EVIL_NOTE,),
        interval_methods={"mig": "bootstrap"},
        factors=(EVIL_FACTOR, "size"),
        codes=(EVIL_CODE, "z1", "z2"),
        name=EVIL_NAME,
        options={"mig": {"n_bins": 20, "binning": EVIL_NOTE}},
    )


@pytest.fixture
def page(report):
    return render_page(report)


def test_names_from_the_data_stay_text(page):
    parsed = Tags(page)
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert EVIL_FACTOR in parsed.text
    assert EVIL_CODE in parsed.text
    assert f"Unbraid report on {EVIL_NAME}" in parsed.text
    assert EVIL_NOTE in parsed.text


def test_embedded_numbers_are_the_json_of_the_report(page, report):
    data = page.split('id="data">')[1].split("</script>")[0]
    assert "<" not in data
    assert json.loads(data) == json.loads(report.to_json(evidence=False))


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attributes in Tags(page).tags:
        for name in ("src", "srcset", "data", "action", "poster", "background", "xlink:href"):
            assert name not in attributes
        address = attributes.get("href") or ""
        if tag == "a":
            assert address.startswith(("#", "https://arxiv.org/abs/", "https://openreview.net/"))
        else:
            assert address in ("", "data:,")
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_in_page_links_lead_somewhere(page):
    parsed = Tags(page)
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for tag, a in parsed.tags if tag == "a" and (a["href"] or "").startswith("#")}
    assert links <= set(ids)


def test_scores_failures_and_header_are_shown(page):
    text = " ".join(Tags(page).text.split())
    assert "How well do 3 codes separate 2 factors?" in text
    assert "0.714" in text
    assert "0.600 \u2013 0.800" in text
    assert "Not scored: could not" in text
    assert METRICS["sap"].title in text
    assert Level.NOT_TOLD in text
    assert "lower is better" in text
    assert "version 1.2.3" in text
    assert METRICS["mig"].summary in text


def test_written_by_the_report_itself(report, page, tmp_path):
    path = report.to_html(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == page


@pytest.mark.parametrize("n_factors", [0, 1, 2])
def test_any_number_of_factors(n_factors):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (200, 2))[:, :n_factors] if n_factors else None
    metrics = ["mig", "modularity", "r2", "total_correlation", "code_mutual_information"]
    page = render_page(ub.evaluate(rng.standard_normal((200, 4)), factors, metrics=metrics, progress=False, n_jobs=1))
    assert ("Not scored:" in page) == (n_factors < 2)


def test_nothing_scored(make_report):
    page = render_page(make_report(failures={"mig": "because"}))
    assert "Nothing could be scored" in page


@pytest.mark.slow
def test_stays_small_with_many_codes_and_factors(make_report):
    rng = np.random.default_rng(0)
    codes, factors = tuple(f"code_{j}" for j in range(2000)), tuple(f"factor_{k}" for k in range(100))
    matrix = rng.random((2000, 100))
    shared = {"value": 0.5, "low": 0.4, "high": 0.6, "null": 0.1, "per_code": rng.random(2000)}
    scores = {
        name: Score(per_factor=rng.random(100), evidence=_evidence(metric.family, matrix), **shared)
        for name, metric in METRICS.items()
    }
    page = render_page(make_report(scores, codes=codes, factors=factors))
    assert len(page.encode()) < LIMIT
    assert "of 2,000 codes" in page


def _evidence(family, matrix):
    if family.startswith("dci_"):
        return {"importance": matrix}
    return {"mutual_information": matrix, "correlation": np.corrcoef(matrix)}
