import json

import numpy as np
import pandas as pd
import pytest

import unbraid as ub

FACTORS = np.random.default_rng(0).integers(0, 4, (200, 2))


@pytest.fixture(scope="module")
def compared():
    first = ub.evaluate(FACTORS + 0.0, FACTORS, metrics="mig,sap", n_jobs=1, name="first")
    second = ub.evaluate(FACTORS + 0.0, FACTORS[:, :1], metrics="mig,z_diff", n_jobs=1, name="second")
    return ub.compare({"one": first, "two": second})


def test_behaves_like_a_dictionary_of_reports(compared):
    assert list(compared) == ["one", "two"]
    assert len(compared) == 2
    assert compared["one"]["mig"].value == compared.reports["one"].scores["mig"].value
    assert compared.metrics == ["mig", "sap", "z_diff"]


def test_no_reports_are_refused():
    with pytest.raises(ValueError, match="reports must hold at least one report, got none"):
        ub.compare({})


def test_table_and_csv_have_a_row_for_each_representation_and_metric(compared, tmp_path):
    table = compared.table()
    assert table.index.tolist() == [("one", "mig"), ("one", "sap"), ("two", "mig"), ("two", "z_diff")]
    assert table.loc[("one", "sap"), "value"] == compared["one"]["sap"].value
    assert table.loc[("two", "z_diff"), "note"].startswith("failed: ")
    read = pd.read_csv(compared.to_csv(tmp_path / "out.csv"))
    assert read.columns.tolist() == ["representation", "metric", "value", "low", "high", "chance", "standing", "note"]
    assert read["representation"].tolist() == ["one", "one", "two", "two"]


def test_json_holds_each_report_as_it_writes_itself(compared, tmp_path):
    data = json.loads(compared.to_json(tmp_path / "out.json"))
    assert data["reports"] == {name: json.loads(report.to_json()) for name, report in compared.items()}
    assert list(data) == ["verdict", "differences", "reports"]
    assert [item["metric"] for item in data["differences"]] == ["mig"]
    assert json.loads((tmp_path / "out.json").read_text()) == data


def test_shows_itself_with_a_column_for_each(compared):
    lines = repr(compared).splitlines()
    assert lines[0].split() == ["representation", "one", "two"]
    assert [line.split()[0] for line in lines[2:]] == ["mig", "sap", "z_diff"]


def test_writes_a_page(compared, tmp_path):
    assert "</html>" in compared.to_html(tmp_path / "out.html").read_text()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("a", "b"), "reports must be one dictionary of reports by name, such as .* got Report and Report"),
        (("a",), "reports must be one dictionary of reports by name, .* got Report"),
        ((["a", "b"],), "reports must be one dictionary of reports by name, .* got list"),
        (({"x": "a", "y": 1},), "reports must hold what evaluate returns, got int for 'y'"),
    ],
)
def test_reports_without_names_are_refused_in_a_sentence(given, sentence):
    factors = np.random.default_rng(0).integers(0, 4, (100, 2))
    report = ub.evaluate(factors + 0.0, factors, metrics="mig", intervals=False, nulls=False, n_jobs=1)

    def filled(part):
        if isinstance(part, dict):
            return {name: filled(one) for name, one in part.items()}
        return [filled(one) for one in part] if isinstance(part, list) else report if isinstance(part, str) else part

    with pytest.raises(TypeError, match=sentence):
        ub.compare(*(filled(part) for part in given))
