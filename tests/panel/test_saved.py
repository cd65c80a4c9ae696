"""A report read back is the report that was written; anything else is refused in a sentence."""

import json
from pathlib import Path

import numpy as np
import pytest

import unbraid as ub
from helpers.small import small_world
from unbraid.interpret.diagnosis import diagnose
from unbraid.results.evidence import KEPT
from unbraid.results.note import NoteKind


@pytest.fixture(scope="module")
def report():
    codes, factors = small_world()
    rep = ub.Representation(codes, factors, names=["shape", "size", "angle"])
    return ub.evaluate(rep, metrics="mig,total_correlation,irs", n_jobs=1, name="größe")


@pytest.fixture
def file(report, tmp_path):
    report.to_json(tmp_path / "one.json")
    return tmp_path / "one.json"


def changed(file, **changes):
    """Write the file again with some keys replaced, by dotted path."""
    data = json.loads(file.read_text())
    for path, value in changes.items():
        *folders, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        part = data
        for folder in folders:
            part = part[folder]
        if value is ...:
            del part[last]
        else:
            part[last] = value
    file.write_text(json.dumps(data))
    return file


def test_comes_back_as_it_was(report, file):
    again = ub.read_reports(file)["größe"]
    assert json.loads(again.to_json()) == json.loads(report.to_json())
    assert again.dependence == report.dependence
    assert again.interval_methods == report.interval_methods
    for name, score in report.items():
        np.testing.assert_array_equal(again[name].replicates, score.replicates)
    assert "</html>" in ub.compare({"a": again, "b": report}).to_html(file.with_suffix(".html")).read_text()


def test_the_earlier_key_of_the_chance_level_is_read(report, file):
    data = json.loads(file.read_text())
    for score in data["scores"].values():
        score["null"] = score.pop("chance")
    data["infinite"].append({"path": ["scores", "irs", "null"], "number": "inf"})
    file.write_text(json.dumps(data))
    again = ub.read_reports(file)["größe"]
    assert again["mig"].chance == report["mig"].chance
    assert again["irs"].chance == np.inf


def test_differences_are_the_same_from_files(report, file):
    codes, factors = small_world()
    rep = ub.Representation(codes * [1, 1, 0.5] + [[0, 0, 1]], factors, names=["shape", "size", "angle"])
    other = ub.evaluate(rep, metrics="mig,irs", n_jobs=1)
    direct, read = (ub.compare({"a": a, "b": other}).differences for a in (report, ub.read_reports(file)["größe"]))
    assert direct == read
    assert all(item.paired for item in read)


@pytest.fixture(scope="module")
def everything():
    """A report with every kind of evidence, dead and copied codes, an infinite score and a failure."""
    codes, factors = small_world(200)
    codes = np.column_stack([codes, 2 * codes[:, 0], np.zeros(200)])
    rep = ub.Representation(codes, factors, names=["shape", "size", "angle"], kinds={"angle": "circular:8"})
    options = {"dci_es": {"ladder": "forest"}, "dci_forest": {"n_trees": 10}}
    return ub.evaluate(
        rep,
        metrics="default,embeddings,sparse,dependent,dci_es,blocks,fairness,amari",
        options=options,
        n_jobs=1,
        name="all of it",
    )


@pytest.mark.slow
def test_a_report_read_back_is_diagnosed_and_drawn_like_a_fresh_one(everything, tmp_path):
    everything.to_json(tmp_path / "all.json")
    again = ub.read_reports(tmp_path / "all.json")["all of it"]
    assert again.setup == everything.setup
    assert {type(record.data) for record in again.evidence} == set(KEPT.values())
    assert again.to_json() == everything.to_json()
    assert again["total_correlation"].value == np.inf
    assert again.findings == diagnose(again) == everything.findings
    fresh, read = (page.to_html(tmp_path / name).read_text() for page, name in ((everything, "a"), (again, "b")))
    assert 'id="map-iwo"' in fresh
    assert '<svg class="chart"' in fresh
    assert read == fresh
    both = [ub.compare({"a": one, "b": one}) for one in (everything, again)]
    assert repr(both[0].differences) == repr(both[1].differences)  # NaN, of infinity less infinity, is not equal to NaN
    assert both[0].to_html(tmp_path / "c").read_text() == both[1].to_html(tmp_path / "d").read_text()


@pytest.mark.slow
def test_notes_keep_their_kinds(everything, tmp_path):
    everything.to_json(tmp_path / "all.json")
    again = ub.read_reports(tmp_path / "all.json")["all of it"]
    for one, other in ((everything, again), *zip(everything.values(), again.values(), strict=True)):
        assert [(note.kind, note.values) for note in one.notes] == [(note.kind, note.values) for note in other.notes]
    assert NoteKind.HIGH_CHANCE in {note.kind for score in again.values() for note in score.notes}


def test_a_file_of_the_layout_before_is_still_read(tmp_path):
    old = ub.read_reports(Path(__file__).parent / "data" / "layout_2.json")["an old report"]
    assert old["mig"].value == pytest.approx(0.4374, abs=1e-4)
    assert old["mig"].chance == pytest.approx(0.0015, abs=1e-4)
    assert np.isnan(old["total_correlation"].value)  # infinite, which this layout did not write
    assert old.setup.factor_kinds == (ub.FactorKind.CATEGORICAL, ub.FactorKind.ORDINAL)
    assert [item.kind for item in old.findings] == ["own code", "copied", "dead code"]
    assert old.findings[2].sentence
    assert old.evidence == ()
    assert "</html>" in old.to_html(tmp_path / "old.html").read_text()
    json.loads(old.to_json())


def test_several_reports_in_one_file(report, tmp_path):
    ub.compare({"a": report, "b": report}).to_json(tmp_path / "two.json")
    assert list(ub.read_reports(tmp_path / "two.json")) == ["a", "b"]


def test_what_was_not_finite_comes_back_as_nan(file):
    changed(file, scores__mig__value=None, scores__mig__replicates=[0.5, None, 0.25])
    score = ub.read_reports(file)["größe"]["mig"]
    assert np.isnan(score.value)
    np.testing.assert_array_equal(score.replicates, [0.5, np.nan, 0.25])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"meta__layout": 1}, "in layout 1, and this version reads layouts 2 and 3; score the codes again"),
        ({"meta__layout": ...}, "in layout 1, and"),
        ({"meta__layout": 99}, "in layout 99"),
        ({"meta": ...}, "is not a report; give what `unbraid score FILE --json OUT` writes"),
        ({"scores": ...}, "is not a report"),
        ({"scores__mig__value": "high"}, "is a damaged report: Expected `float | null`, got `str`"),
        ({"scores__mig__low": ...}, "is a damaged report: Object missing required field `low`"),
        ({"meta__seed": "zero"}, "is a damaged report: Expected `int`"),
        ({"meta__options": ...}, "is a damaged report: Object missing required field `options`"),
        ({"scores__mig__per_factor": {"shape": 0.5}}, "per_factor of mig has other names than meta"),
        ({"evidence__0__type": "Table"}, "type of evidence must be one of InformationTable"),
        ({"evidence__0__data__active": "all"}, "must hold lists of numbers, got str"),
        ({"infinite": [{"path": ["nowhere", "at"], "number": "inf"}]}, "is a damaged report"),
    ],
)
def test_a_damaged_report_is_refused(file, changes, sentence):
    with pytest.raises(ValueError, match=r"one\.json") as error:
        ub.read_reports(changed(file, **changes))
    assert sentence in str(error.value)


def test_an_unknown_score_is_refused_with_the_nearest(file):
    data = json.loads(file.read_text())
    data["scores"]["migg"] = data["scores"].pop("mig")
    file.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="the score 'migg', which this version does not know; did you mean 'mig'"):
        ub.read_reports(file)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "does not hold JSON"),
        ("not json", "does not hold JSON"),
        ("[1, 2]", "is not a report"),
        ("{}", "is not a report"),
        ('{"reports": {}}', "holds no report"),
        ('{"reports": {"a": 1}}', "report 'a', is not a report"),
    ],
)
def test_what_is_not_a_report_is_refused(tmp_path, text, sentence):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        ub.read_reports(tmp_path / "x.json")
    with pytest.raises(ValueError, match=r"path '.*nothing.json' is not a file"):
        ub.read_reports(tmp_path / "nothing.json")


def test_lists_of_numbers_take_one_line(file):
    lines = [line for line in file.read_text().splitlines() if '"replicates"' in line]
    assert len(lines) == 3
    assert all(line.rstrip().endswith("],") for line in lines)
