"""What the page is told: columns, rows, maps and findings are those of the representation."""

import json
import urllib.request
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

import unbraid as ub
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.subject import MOST_ROWS, Subject
from unbraid.results.report import Report


def fetch(server, path, **parameters):
    query = urlencode({**parameters, "token": server.token})
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/api/{path}?{query}") as answer:
        return answer.read()


@pytest.fixture(scope="module")
def server(serve, example, example_report):
    return serve(example, example_report)


def test_columns_are_those_of_the_file(server, example):
    code = np.frombuffer(fetch(server, "column", id="m0", of="code", index=4), "<f4")
    assert np.array_equal(code, example.codes[:, 4].astype(np.float32))
    factor = np.frombuffer(fetch(server, "column", id="m0", of="factor", index=2), "<f4")
    assert np.array_equal(factor, example.factors[2].numbers.astype(np.float32))


def test_rows_have_their_labels(server, example):
    row = json.loads(fetch(server, "row", id="m0", row=7))
    assert row["row"] == 7
    assert row["factors"][0] == example.factors[0].levels[int(example.factors[0].numbers[7])]
    assert row["codes"] == pytest.approx(example.codes[7].tolist())


def test_findings_come_with_their_views(server, example_report):
    told = json.loads(fetch(server, "findings", id="m0"))
    assert told["state"] == "done"
    assert [one["sentence"] for one in told["findings"]] == [one.sentence for one in example_report.findings]
    assert all(one["views"] for one in told["findings"])


def test_the_map_leads_with_codes_that_factors_explain(server, example):
    explained = np.array(json.loads(fetch(server, "map", id="m0"))["explained"])
    assert explained.shape == (8, 5)
    assert explained[0, 0] > 0.98  # the shape has a code to itself
    assert explained[6:].max() < 0.05  # noise and a dead code
    first = json.loads(fetch(server, "subject", id="m0"))["first"]
    assert first["colour"] == ["factor", int(explained[first["x"][1]].argmax())]


def test_more_rows_than_can_be_drawn_are_sampled_and_it_is_said():
    codes = np.random.default_rng(0).standard_normal((MOST_ROWS + 50, 2))
    about = Subject("m0", "big", rep=ub.Representation(codes)).about()
    assert (about["n_rows"], about["n_shown"]) == (MOST_ROWS + 50, MOST_ROWS)


def test_a_sampled_row_has_the_number_it_has_in_the_file():
    codes = np.arange(2.0 * (MOST_ROWS + 50)).reshape(-1, 2)
    subject = Subject("m0", "big", rep=ub.Representation(codes))
    shown = np.frombuffer(subject.column("code", 0), "<f4")
    row = subject.row(MOST_ROWS - 1)
    assert row["codes"][0] == codes[row["row"], 0] == pytest.approx(shown[-1])


@pytest.mark.parametrize("suffix", [".json", ".html"])
def test_a_saved_report_is_opened_alone_or_beside_its_codes(tmp_path, example, example_report, suffix):
    path = tmp_path / f"report{suffix}"
    (example_report.to_json if suffix == ".json" else example_report.to_html)(path)
    alone = open_session([path], OpeningOptions())
    told = alone.findings("m0").answer()
    assert [one["kind"] for one in told["findings"]] == [str(one.kind) for one in example_report.findings]
    assert all(bool(one["views"]) == (suffix == ".json") for one in told["findings"])  # a page keeps no rows
    ub.save(example, tmp_path / "codes.npz")
    beside = open_session([str(tmp_path / "codes.npz"), str(path)], OpeningOptions())
    assert len(beside.entries) == 1
    assert all(one["views"] for one in beside.findings("m0").answer()["findings"])


def test_a_saved_report_draws_the_rows_that_it_keeps(tmp_path, example, example_report):
    example_report.to_json(tmp_path / "report.json")
    told = open_session([tmp_path / "report.json"], OpeningOptions()).findings("m0").answer()["findings"]
    (view,) = next(one for one in told if one["kind"] == "rotated")["views"]
    still = next(one for one in example_report.stills if example_report.findings[one.view.finding].kind == "rotated")
    assert view["kept"]["x"]["values"] == pytest.approx(still.points[:, 0])
    assert view["kept"]["x"]["factor"] is None
    assert view["kept"]["colour"]["factor"]["kind"] == "ordinal"
    assert {line["role"] for line in view["lines"]} == {"code axis", "factor axis"}


def test_dependent_factors_lead_to_the_two_against_each_other():
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 600))
    factors = {"a": a, "b": a + 0.5 * rng.normal(size=600), "c": c}
    rep = ub.Representation(np.stack(list(factors.values()), axis=1), factors)
    report = ub.evaluate(rep, metrics="mig,sap", intervals=False, nulls=False, n_jobs=1)
    last = open_session([rep, report], OpeningOptions()).findings("m0").answer()["findings"][-1]
    assert last["kind"] == "dependent factors"
    assert [(view["x"], view["y"]) for view in last["views"]] == [(["factor", 0], ["factor", 1])]


def test_tables_are_opened_by_the_columns_that_are_named(tmp_path, example):
    names = [f"z{j}" for j in range(3)]
    table = pd.DataFrame(example.codes[:50, :3], columns=names).assign(size=example.factors[1].numbers[:50])
    table.to_csv(tmp_path / "table.csv", index=False)
    options = OpeningOptions(code_columns="z*", factor_columns="size")
    about = open_session([str(tmp_path / "table.csv")], options).subject("m0").about()
    assert (about["codes"], [one["name"] for one in about["factors"]]) == (names, ["size"])


def test_pictures_in_the_file_are_shown(tmp_path, example):
    pictures = np.random.default_rng(0).integers(0, 256, (len(example.codes), 4, 5), dtype=np.uint8)
    np.savez(tmp_path / "codes.npz", codes=example.codes, pictures=pictures)
    subject = open_session([tmp_path / "codes.npz"], OpeningOptions()).subject("m0")
    assert np.array_equal(subject.picture(3)[..., 0], pictures[3])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "nothing.npz", "is not a file"),
        (lambda folder: folder / "nothing", "is not there"),
        (lambda folder: folder, "holds neither a study nor trained models"),
        (lambda folder: folder / "page.html", "no report that carries its numbers"),
        (lambda folder: folder / "own.pt", "no checkpoint of `unbraid train`"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(tmp_path, make, words):
    (tmp_path / "page.html").write_text("<p>hello</p>")
    (tmp_path / "own.pt").write_bytes(b"")
    with pytest.raises(ValueError, match=words):
        open_session([str(make(tmp_path))], OpeningOptions())


def test_a_report_about_other_codes_is_refused(example_report):
    with pytest.raises(ValueError, match="its codes have other names"):
        open_session([ub.Representation(np.eye(8)), example_report], OpeningOptions())


@pytest.mark.slow
def test_codes_without_a_report_are_scored_when_asked_for(example):
    session = open_session([example.take(np.arange(400))], OpeningOptions())
    job = session.findings("m0")
    assert job.answer()["state"] == "running"
    job._thread.join(120)
    told = job.answer()
    assert told["state"] == "done"
    assert "rotated" in [one["kind"] for one in told["findings"]]


def test_many_codes_are_not_scored_unasked():
    codes = np.random.default_rng(0).standard_normal((600, 300))
    session = open_session([ub.Representation(codes, codes[:, :2])], OpeningOptions())
    assert session.findings("m0").answer()["state"] == "absent"


def test_the_report_type_is_accepted_as_it_is(example_report):
    assert isinstance(example_report, Report)
    assert open_session([example_report], OpeningOptions()).about()["subjects"] == [
        {"id": "m0", "label": "the example"}
    ]


def test_blocks_are_named_and_their_table_is_that_of_the_report():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(300, 2))
    rep = ub.Representation(factors @ np.diag([1.0, -2.0]), factors, blocks={"left": [0], "right": [1]})
    report = ub.evaluate(rep, metrics="blocks", intervals=False, nulls=False, n_jobs=1)
    session = open_session([rep, report], OpeningOptions())
    assert session.subject("m0").about()["blocks"] == {"left": [0], "right": [1]}
    told = session.findings("m0").answer()["blocks"]
    assert told["names"] == ["left", "right"]
    assert np.array(told["shares"]) == pytest.approx(np.eye(2), abs=0.1)
    plain = ub.evaluate(rep.with_blocks(None), metrics="mig", intervals=False, nulls=False, n_jobs=1)
    assert open_session([rep.with_blocks(None), plain], OpeningOptions()).findings("m0").answer()["blocks"] is None
