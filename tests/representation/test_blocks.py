"""Blocks of codes: what is accepted, what is refused, and that nothing loses them."""

import json

import numpy as np
import pandas as pd
import pytest

import unbraid as ub
from unbraid.panel.saved import read_reports
from unbraid.representation.files import load_codes

TWO = {"z_y": (0, 1), "z_d": (2, 3)}


def codes(n_rows=40):
    return np.random.default_rng(0).normal(size=(n_rows, 4))


def labels(n_rows=40):
    return np.random.default_rng(1).integers(0, 4, (n_rows, 2))


def with_blocks():
    return ub.Representation(codes(), labels(), blocks={"z_y": [0, 1], "z_d": slice(2, 4)})


@pytest.mark.parametrize(
    "given",
    [
        {"z_y": [0, 1], "z_d": slice(2, 4)},
        {"z_y": range(2), "z_d": np.array([2, 3])},
        {"z_y": ["code_0", "code_1"], "z_d": ("code_2", 3)},
        {"z_y": slice(None, 2), "z_d": slice(-2, None)},
        "z_y=0-1,z_d=2-3",
        "z_y=0,1,z_d=code_2,3",
        "z_y = code_[01], z_d = 2-3",
    ],
)
def test_ways_to_name_columns(given):
    assert ub.Representation(codes(), blocks=given).blocks == TWO


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        (
            {"a": [0, 1], "b": [1]},
            ValueError,
            r"blocks must not overlap, got 'code_1' \(column 1\) in both 'a' and 'b'",
        ),
        ({"a": [4]}, ValueError, "blocks must have columns from 0 to 3, got 4 in 'a'"),
        ({"a": [-1]}, ValueError, "blocks must have columns from 0 to 3, got -1 in 'a'"),
        ({"a": ["code_9"]}, ValueError, "blocks names 'code_9' in 'a', which is no code"),
        ({"a": []}, ValueError, "blocks must have at least one column each, got none for 'a'"),
        ({"a": slice(4, 9)}, ValueError, "blocks must have at least one column each, got none for 'a'"),
        ({"a": [0, 0]}, ValueError, "blocks must name a column once, got 'code_0' twice in 'a'"),
        ({"a": [0.5]}, ValueError, "blocks must have columns that are whole numbers or names, got 0.5 in 'a'"),
        ({"a": [True]}, ValueError, "blocks must have columns that are whole numbers or names, got True in 'a'"),
        ({"": [0]}, ValueError, "blocks must have names"),
        ([[0, 1], [2]], TypeError, "blocks must be a mapping from name to columns"),
        ("0-1,2-3", ValueError, "blocks must be name=columns separated by commas"),
        ("a=0,a=1", ValueError, "blocks must differ in their names, got 'a' twice"),
        ("a=1-0", ValueError, "blocks must have columns from low to high, got '1-0'"),
        ("a=", ValueError, "blocks must have at least one column each, got none for 'a'"),
        ("a=0-99999999999", ValueError, "blocks must have columns from 0 to 3, got 99999999999 in 'a'"),
    ],
)
def test_what_is_refused(given, kind, says):
    with pytest.raises(kind, match=f"^{says}") as refused:
        ub.Representation(codes(), blocks=given)
    assert str(refused.value).count("\n") == 0


def test_every_copy_keeps_them():
    rep, rng = with_blocks(), np.random.default_rng(0)
    made = [
        rep.take(np.arange(10)),
        rep.with_shuffled_factors(rng),
        rep.with_shuffled_codes(rng),
        rep.select_factors(["factor_1"]),
        rep.with_factors_as_classes(),
    ]
    assert [one.blocks for one in made] == [TWO] * len(made)
    assert rep.with_blocks(None).blocks == {}
    assert rep.blocks == TWO


def test_a_file_keeps_them(tmp_path):
    path = ub.save(with_blocks(), tmp_path / "codes.npz")
    with np.load(path) as archive:
        assert json.loads(str(archive["blocks"])) == {"z_y": [0, 1], "z_d": [2, 3]}
    assert ub.load(path).blocks == load_codes(path).blocks == TWO
    other = ub.load(path, blocks="all=0-3")
    assert other.blocks == {"all": (0, 1, 2, 3)}
    assert eval(other.source, {"ub": ub}).blocks == other.blocks  # the call that the report shows
    np.save(tmp_path / "labels.npy", labels())
    assert ub.load(path, tmp_path / "labels.npy").blocks == TWO


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "must be JSON"), ("[1]", "must be an object"), ('{"a": 1}', "must be an object"), ('{"a": [9]}', "got 9")],
)
def test_bad_blocks_of_a_file_are_refused(tmp_path, text, says):
    np.savez(tmp_path / "codes.npz", codes=codes(), factors=labels(), blocks=text)
    with pytest.raises(ValueError, match=says):
        ub.load(tmp_path / "codes.npz")


def test_columns_of_a_table_by_name(tmp_path):
    frame = pd.DataFrame(codes(), columns=["code_y0", "code_y1", "code_d0", "code_d1"])
    frame["factor_size"] = labels()[:, 0]
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert ub.load(tmp_path / "table.csv", blocks="z_y=code_y*,z_d=code_d0,code_d1").blocks == TWO


def test_a_report_has_them_and_an_older_file_has_none(tmp_path):
    report = ub.evaluate(with_blocks(), metrics="mig", intervals=False, nulls=False, n_jobs=1)
    report.to_json(tmp_path / "report.json")
    assert report.setup.blocks == next(iter(read_reports(tmp_path / "report.json").values())).setup.blocks == TWO
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    del data["meta"]["blocks"]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    assert next(iter(read_reports(tmp_path / "old.json").values())).setup.blocks == {}


def test_beside_a_representation_they_are_refused():
    with pytest.raises(TypeError, match="blocks must be left out when codes is a Representation"):
        ub.evaluate(with_blocks(), blocks={"a": [0]}, metrics="mig")
