"""Scatters behind the findings and strips of a decoder, on the page and in the JSON."""

import re

import numpy as np
import pytest

import unbraid as ub
from helpers.blobs import write_blobs
from helpers.small import run_cli
from unbraid.report.stills import MOST_TEXT, draw_stills, draw_strips
from unbraid.results.finding import FactorStrips


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    place = rng.uniform(-1, 1, (700, 2))
    turned = place @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    shape = rng.integers(0, 3, 700)
    codes = np.column_stack([turned, shape + 0.05 * rng.standard_normal(700)])
    rep = ub.Representation(codes, {"x": place[:, 0], "y": place[:, 1], "<shape>": np.array(list("abc"))[shape]})
    return ub.evaluate(rep, metrics="dci_linear,iwo,mig", n_jobs=1, progress=False, nulls=False)


def test_every_finding_has_its_scatter(report):
    assert [still.view.finding for still in report.stills] == list(range(len(report.findings)))
    drawn = {one.kind: one for one in draw_stills(report)}
    assert {"rotated", "own code"} <= set(drawn)
    dots = sum(path.d.count("M") for path in drawn["rotated"].paths)
    assert dots == 500
    assert len(drawn["rotated"].lines) == 4
    assert [line.is_code for line in drawn["rotated"].lines] == [True, True, False, False]


def test_right_angles_stay_right(report):
    rotated = next(one for one in draw_stills(report) if one.kind == "rotated")
    ends = [np.array([pair.split(",") for pair in line.points.split()], dtype=float) for line in rotated.lines[2:]]
    a, b = (end[1] - end[0] for end in ends)
    assert abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) < 0.03


def test_dots_are_inside_their_frame(report):
    for one in draw_stills(report):
        places = np.array([pair.split() for path in one.paths for pair in re.findall(r"M(\S+ \S+)h0", path.d)], float)
        assert places[:, 0].min() >= one.left
        assert places[:, 0].max() <= one.width
        assert places[:, 1].min() >= 0
        assert places[:, 1].max() <= one.height - one.bottom


def test_the_page_has_the_scatters_and_escapes_names(report, tmp_path):
    html = report.to_html(tmp_path / "page.html").read_text()
    assert html.count('class="still"') == len(report.stills)
    assert "<shape>" not in html
    assert "&lt;shape&gt;" in html


def test_scatters_come_back_from_json(report, tmp_path):
    report.to_json(tmp_path / "report.json")
    (again,) = ub.read_reports(tmp_path / "report.json").values()
    assert draw_stills(again) == draw_stills(report)
    assert again.to_html(tmp_path / "a.html").read_text() == report.to_html(tmp_path / "b.html").read_text()


def test_without_evidence_there_are_none(report, tmp_path):
    report.to_json(tmp_path / "short.json", evidence=False)
    (again,) = ub.read_reports(tmp_path / "short.json").values()
    assert again.stills == ()


def test_strips_that_would_make_the_page_heavy_are_left_out():
    noise = np.random.default_rng(0).integers(0, 256, (40, 9, 128, 128, 3), dtype=np.uint8)
    sheet = draw_strips(FactorStrips(labels=tuple(map(str, range(40))), pictures=noise))
    assert 0 < len(sheet.rows) == 40 - sheet.n_left_out
    assert sum(len(row.address) for row in sheet.rows) <= MOST_TEXT


@pytest.mark.slow
def test_a_decoder_draws_its_strips_on_the_page(capsys, tmp_path):
    pytest.importorskip("torch")
    model, codes = write_blobs(tmp_path, n_samples=300)
    page = tmp_path / "page.html"
    given = ["score", codes, "--metrics", "iwo,mig", "--decoder", f"{model}:decoder"]
    status, _, errors = run_cli(capsys, *given, "--report", page)
    assert status == 0, errors
    html = page.read_text()
    assert (
        len(re.findall(r'<img src="data:image/png;base64,[^"]+" alt="[^"]+ from low to high, 9 pictures"', html)) >= 3
    )
    assert len(html) < 1_500_000
    assert run_cli(capsys, *given)[0] == 2
    assert run_cli(capsys, "score", codes, codes.with_name("other.npz"), "--decoder", "x", "--report", page)[0] == 2
