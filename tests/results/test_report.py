import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unbraid
from helpers.reports import build_setup, information, record
from unbraid import Finding, FindingKind, Report, Score
from unbraid.evidence.information import InformationTable
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.results.note import Note, NoteKind, as_note


def make_report(**changes):
    scores = {
        "mig": Score(
            value=0.5,
            low=0.4,
            high=0.6,
            null=0.1,
            standing=0.4,
            per_factor=np.array([0.25, 0.75]),
            notes=("Read this.",),
        ),
        "total_correlation": Score(value=np.inf, low=None, high=np.nan, per_code=np.array([np.nan, 1.0, -np.inf])),
    }
    parts = {
        "scores": scores,
        "failures": {"z_diff": "factors must have at least two columns for z_diff, got 1."},
        "interval_methods": {"mig": "bootstrap"},
        "notes": ("größe is thin.",),
        "setup": build_setup(factors=("a", "b, c"), codes=("x", "y", "z"), options={"mig": {"limit": np.inf}}),
    }
    return Report(**parts | changes)


def test_behaves_like_a_dictionary_of_the_scores_that_exist():
    report = make_report()
    assert list(report) == ["mig", "total_correlation"]
    assert len(report) == 2
    assert report["mig"] is report.scores["mig"]
    assert dict(report) == dict(report.scores)
    assert "mig" in report
    assert "z_diff" not in report
    assert report.get("z_diff") is None


def test_a_failed_metric_raises_with_its_reason():
    with pytest.raises(KeyError, match="z_diff could not be scored: factors must have at least two columns"):
        make_report()["z_diff"]


def test_a_metric_not_asked_for_raises_with_its_name():
    with pytest.raises(KeyError, match="sap"):
        make_report()["sap"]


def test_table_has_a_row_for_each_metric_asked_for():
    table = make_report().table()
    assert table.index.tolist() == ["mig", "total_correlation", "z_diff"]
    assert table.index.name == "metric"
    assert table.columns.tolist() == ["value", "low", "high", "chance", "standing", "note"]
    assert table.loc["mig"].tolist() == [0.5, 0.4, 0.6, 0.1, 0.4, "Read this."]
    assert table.loc["z_diff", ["value", "low", "high", "chance", "standing"]].isna().all()
    assert table.loc["z_diff", "note"].startswith("failed: factors must have")
    assert {str(dtype) for dtype in table.dtypes.iloc[:5]} == {"float64"}


@pytest.mark.parametrize("changes", [{"scores": {}}, {"failures": {}}, {"scores": {}, "failures": {}}])
def test_table_keeps_its_columns_when_empty(changes):
    report = make_report(**changes)
    assert report.table().columns.tolist() == ["value", "low", "high", "chance", "standing", "note"]
    assert len(report.table()) == len(report.scores) + len(report.failures)


def test_json_has_one_layout():
    data = json.loads(make_report().to_json())
    assert list(data) == [
        "scores",
        "failures",
        "notes",
        "note_parts",
        "findings",
        "dependence",
        "evidence",
        "stills",
        "meta",
        "infinite",
    ]
    expected = {
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "chance": 0.1,
        "standing": 0.4,
        "interval": "bootstrap",
        "per_factor": {"a": 0.25, "b, c": 0.75},
        "per_code": None,
        "notes": ["Read this."],
    }
    assert {key: data["scores"]["mig"][key] for key in expected} == expected
    assert data["failures"] == make_report().failures
    assert data["notes"] == ["größe is thin."]


def test_numbers_that_are_not_finite_become_null():
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    data = json.loads(make_report().to_json(), parse_constant=refuse)
    score = data["scores"]["total_correlation"]
    assert (score["value"], score["high"]) == (None, None)
    assert score["per_code"] == {"x": None, "y": 1.0, "z": None}
    assert data["meta"]["options"] == {"mig": {"limit": None}}
    assert {(*item["path"], item["number"]) for item in data["infinite"]} == {
        ("scores", "total_correlation", "value", "inf"),
        ("scores", "total_correlation", "per_code", "z", "-inf"),
        ("meta", "options", "mig", "limit", "inf"),
    }


def test_json_file_holds_what_is_returned(tmp_path):
    text = make_report().to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == text + "\n"


def test_csv_file_holds_the_table(tmp_path):
    report = make_report()
    path = report.to_csv(tmp_path / "report.csv")
    assert path == tmp_path / "report.csv"
    frame = pd.read_csv(path, index_col="metric", keep_default_na=False, na_values=[""])
    assert frame.columns.tolist() == ["value", "low", "high", "chance", "standing", "note"]
    assert frame.loc["mig", "value"] == 0.5
    assert frame.loc["total_correlation", "value"] == np.inf
    assert frame.loc["z_diff", "note"] == f"failed: {report.failures['z_diff']}"


def test_prints_as_its_table_and_its_notes():
    report = make_report()
    table, *rest = repr(report).split("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2 + 3
    assert "0.500" in lines[2]
    assert report.notes
    assert rest == ["\n".join(f"note: {note}" for note in report.notes)]
    assert "nan" not in repr(make_report(scores={})).lower()


def test_evidence_is_found_by_its_type_and_source():
    table = record(information(np.eye(2)), "mig", n_bins=20)
    report = make_report(evidence=(table,))
    assert (
        report.evidence_of(InformationTable) == report.evidence_of(InformationTable, source="information") == (table,)
    )
    assert report.evidence_of(InformationTable, source="other") == report.evidence_of(Subspaces) == ()
    (written,) = json.loads(report.to_json())["evidence"]
    assert (written["source"], written["type"], written["scores"]) == ("information", "InformationTable", ["mig"])
    assert json.loads(report.to_json(evidence=False))["evidence"] == []


def test_old_names_warn_and_give_the_same():
    report = make_report(scores={"mig": Score(value=0.5, sentence="It is so.")})
    finding = Finding(kind=FindingKind.DEAD, sentence="It is.", codes=("x",))
    with pytest.warns(DeprecationWarning, match=r"Report\.meta is now Report\.setup"):
        meta = report.meta
    assert meta["layout"] == 3
    assert (meta["n_codes"], meta["factor_names"]) == (3, ["a", "b, c"])
    with pytest.warns(DeprecationWarning, match="sentences"):
        assert report.says == report.sentences == ("It is so.",)
    with pytest.warns(DeprecationWarning, match="sentence"):
        assert report["mig"].says == report["mig"].sentence
    with pytest.warns(DeprecationWarning, match="sentence"):
        assert finding.says == finding.sentence


def test_a_note_is_a_sentence_with_a_kind_and_values():
    note = Note.of(NoteKind.HIGH_CHANCE, "Chance scores {}.", "0.25")
    assert note == "Chance scores 0.25."
    assert (note.kind, note.values) == (NoteKind.HIGH_CHANCE, ("0.25",))
    assert Note.of(NoteKind.INPUT, "{x} is constant.") == "{x} is constant."
    again = pickle.loads(pickle.dumps(note))
    assert (again, again.kind, again.template, again.values) == (note, note.kind, note.template, note.values)
    assert as_note(note) is note
    assert as_note("Read this.", NoteKind.INPUT).kind is NoteKind.INPUT


def test_no_reader_takes_evidence_by_a_string_outside_the_metrics():
    """Pages and sentences read typed evidence; the mapping of a score is for users."""
    source = Path(unbraid.__file__).parent
    by_string = re.compile(r"\.evidence(\[|\.get\()")
    files = [path for path in source.rglob("*.py") if path.relative_to(source).parts[0] != "metrics"]
    assert len(files) > 100
    assert [str(path) for path in files if by_string.search(path.read_text(encoding="utf-8"))] == []


def test_the_chance_level_has_its_own_name():
    assert Score(value=0.5, null=0.25).chance == 0.25
    assert Score(value=0.5).chance is None
