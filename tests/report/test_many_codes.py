"""Pages of very many codes: the top ones are drawn, all are found by name, and all are in a table beside the page."""

import numpy as np
import pandas as pd
import pytest

from helpers.reports import build_setup, information, record
from unbraid import Report, Score
from unbraid.probes.importance import Importance
from unbraid.report.scores import code_index
from unbraid.results.report import MOST_SHOWN

MOST_BYTES = 3_000_000


def wide_report(n_codes, n_factors=3, seed=0):
    rng = np.random.default_rng(seed)
    matrix = 0.01 * rng.random((n_codes, n_factors))
    places = rng.permutation(n_codes)[:n_factors]
    matrix[places, np.arange(n_factors)] = 1.0
    matrix[-1] = 0.0
    factors = tuple(f"factor {k}" for k in range(n_factors))
    return places, Report(
        scores={"mig": Score(value=0.9, per_code=matrix.max(axis=1))},
        failures={},
        interval_methods={},
        notes=(),
        setup=build_setup(factors=factors, codes=tuple(f"unit_{j}" for j in range(n_codes))),
        evidence=(
            record(information(matrix), "mig"),
            record(
                Importance(matrix=matrix, informativeness=np.ones(n_factors), in_accuracy=np.zeros(n_factors)),
                "dci_linear.disentanglement",
            ),
        ),
    )


def test_the_table_has_all_codes_by_what_they_carry(tmp_path):
    places, report = wide_report(200)
    report.to_html(tmp_path / "page.html")
    table = pd.read_parquet(tmp_path / "page.codes.parquet")
    pd.testing.assert_frame_equal(table, report.code_table())
    assert sorted(table["code"]) == sorted(report.setup.code_names)
    for k, place in enumerate(places):
        own = table[table["main_factor"] == f"factor {k}"]
        assert own["code"].iloc[0] == f"unit_{place}"
        assert own[f"mutual_information.factor {k}"].is_monotonic_decreasing
    assert table["code"].iloc[-1] == "unit_199"
    assert table["main_factor"].iloc[-1] == ""
    assert table["dci_linear.factor 0"].max() == 1.0
    assert table.index[table["main_factor"] == "factor 0"].tolist() == list(
        range((table["main_factor"] == "factor 0").sum())
    )


def test_few_codes_need_no_table_beside_the_page(tmp_path):
    _, report = wide_report(MOST_SHOWN)
    assert report.to_html(tmp_path / "page.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert code_index(report) is None
    assert report.to_parquet(tmp_path / "codes.parquet").exists()


def test_a_report_without_such_a_matrix_says_so(tmp_path):
    _, report = wide_report(100)
    bare = Report(scores=report.scores, failures={}, interval_methods={}, notes=(), setup=report.setup)
    with pytest.raises(ValueError, match="no matrix of codes by factors"):
        bare.to_parquet(tmp_path / "codes.parquet")
    bare.to_html(tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.slow
def test_ten_thousand_codes_and_a_hundred_factors_make_a_light_page(tmp_path):
    places, report = wide_report(10_000, 100)
    page = report.to_html(tmp_path / "page.html")
    assert page.stat().st_size < MOST_BYTES
    index = code_index(report)
    assert index["codes"][places[7]] == f"unit_{places[7]}"
    assert index["maps"][0]["factor"][places[7]] == 7
    assert index["maps"][0]["size"][places[7]] == 1.0


@pytest.mark.browser
def test_a_code_is_found_by_its_name(visit, tmp_path):
    places, report = wide_report(300)
    page = visit(report.to_html(tmp_path / "page.html").as_uri())
    page.fill("#find-code", f"UNIT_{places[1]}")
    first = page.locator("#found-codes tbody tr").first
    assert first.locator("th").inner_text() == f"unit_{places[1]}"
    assert first.locator("td").first.inner_text() == "factor 1 1"
    page.fill("#find-code", "unit_")
    assert page.locator("#found-codes tbody tr").count() == 20
    page.fill("#find-code", "nothing of the kind")
    assert page.locator("#found-codes tbody tr").count() == 0
    assert page.locator("#found-codes p").inner_text() == "0 codes."
