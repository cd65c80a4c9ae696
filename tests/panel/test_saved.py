"""A report read back is the report that was written; anything else is refused in a sentence."""

import json

import numpy as np
import pytest

import unbraid as ub
from helpers.small import small_world


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
        *folders, last = path.split("__")
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


def test_differences_are_the_same_from_files(report, file):
    codes, factors = small_world()
    rep = ub.Representation(codes * [1, 1, 0.5] + [[0, 0, 1]], factors, names=["shape", "size", "angle"])
    other = ub.evaluate(rep, metrics="mig,irs", n_jobs=1)
    direct, read = (ub.compare({"a": a, "b": other}).differences for a in (report, ub.read_reports(file)["größe"]))
    assert direct == read
    assert all(item.paired for item in read)


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
        ({"meta__layout": 1}, "in layout 1, and this version reads layout 2; score the codes again"),
        ({"meta__layout": ...}, "in layout 1, and this version reads layout 2"),
        ({"meta__layout": 99}, "in layout 99"),
        ({"meta": ...}, "is not a report; give what `unbraid score FILE --json OUT` writes"),
        ({"scores": ...}, "is not a report"),
        ({"scores__mig__value": "high"}, "is a damaged report: Expected `float | null`, got `str`"),
        ({"scores__mig__low": ...}, "is a damaged report: Object missing required field `low`"),
        ({"meta__seed": "zero"}, "is a damaged report: Expected `int`"),
        ({"meta__options": ...}, "is a damaged report: Object missing required field `options`"),
        ({"scores__mig__per_factor": {"shape": 0.5}}, "per_factor of mig has other names than meta"),
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
