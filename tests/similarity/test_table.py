"""Similarities of several representations: the table, its files and page, and the command."""

import json

import numpy as np
import pandas as pd
import pytest

from unbraid.cli import main
from unbraid.similarity import similarities


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(120, 5))
    return {
        "first": codes,
        "turned": codes @ np.linalg.qr(rng.normal(size=(5, 5)))[0],
        "other": rng.normal(size=(120, 4)),
    }


@pytest.fixture
def files(three, tmp_path):
    np.savez(tmp_path / "first.npz", codes=three["first"])
    np.save(tmp_path / "turned.npy", three["turned"])
    frame = pd.DataFrame(three["other"], columns=[f"code_{j}" for j in range(4)])
    frame.to_csv(tmp_path / "other.csv", index=False)
    return [str(tmp_path / name) for name in ("first.npz", "turned.npy", "other.csv")]


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--similarity", *arguments])
    return ended.value.code


def test_every_pair_has_a_score_in_either_order(three):
    found = similarities(three, measures=["cka", "cca"], progress=False)
    assert found["cka", "turned", "first"].value == pytest.approx(1)
    assert found["cca", "first", "other"] is found["cca", "other", "first"]
    assert len(found.table()) == 6
    matrix = found.matrix("cka")
    assert np.allclose(matrix, matrix.T)
    assert np.allclose(np.diag(matrix), 1)


def test_untrained_weights_are_a_second_chance_level(three):
    untrained = three.pop("other")
    found = similarities(three, measures="cka", untrained=untrained, progress=False)
    assert set(found.untrained["cka"]) == {"first", "turned"}
    assert not found.untrained["cka"]["first"].beats_chance
    assert list(found.table()["second"]) == ["turned", "untrained", "untrained"]


def test_files_and_page(three, tmp_path):
    three["<script>alert(1)</script>"] = three.pop("other")
    found = similarities(three, measures="cka", progress=False)
    read = json.loads(found.to_json())
    assert len(read["similarities"]) == 3
    assert read["setup"]["rows_and_codes"]["first"] == [120, 5]
    page = found.to_html(tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert len(pd.read_csv(found.to_csv(tmp_path / "table.csv"))) == 3


def test_the_command_reads_every_format_and_writes_what_is_asked(files, tmp_path, capsys):
    written = [tmp_path / name for name in ("out.json", "out.csv", "out.html")]
    options = [
        part for flag, path in zip(("--json", "--csv", "--report"), written, strict=True) for part in (flag, path)
    ]
    assert run(*files[:2], "--untrained", files[2], "--measures", "cka", *map(str, options)) == 0
    assert all(path.stat().st_size for path in written)
    (pair, *untrained) = json.loads(written[0].read_text())["similarities"]
    assert (pair["first"], pair["second"], len(untrained)) == ("first", "turned", 2)
    assert "turned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (lambda files: files[:1], "files must be two or more"),
        (lambda files: [*files[:2], "--measures", "cke"], "cke"),
        (lambda files: [*files[:2], "--against", "first"], "against"),
        (lambda files: [files[0], files[0] + "x"], "is not a file"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(files, arguments, named, tmp_path, capsys):
    assert run(*arguments(files), "--csv", str(tmp_path / "out.csv")) == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_untrained_needs_similarity(files, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", *files[:2], "--untrained", files[2]])
    assert ended.value.code == 2
    assert "--similarity" in capsys.readouterr().err
