import io
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unbraid
from helpers.small import save_npz, small_world
from unbraid import Representation, load, save

KINDS = {
    'colour, or "tint"': "categorical",
    "größe": "ordinal",
    "<script>alert(1)</script>": "continuous",
    "angle 角": "circular:360.0",
}
SUFFIXES = ["npz", "csv", "parquet"]


def odd_representation():
    """Every kind of factor, rows without a label, names and labels that trip up careless writers."""
    rng = np.random.default_rng(0)
    columns = [
        np.array(["red", "green, light", 'so-called "blue"', "<b>"], dtype=object)[rng.integers(4, size=60)],
        rng.integers(5, size=60).astype(float),
        rng.standard_normal(60),
        rng.integers(8, size=60) * 45.0,
    ]
    columns[0][:3] = None
    columns[1][3:6] = np.nan
    columns[2][6:9] = np.nan
    columns[3][9:12] = np.nan
    factors = dict(zip(KINDS, columns, strict=True))
    return Representation(rng.standard_normal((60, 3)), factors, kinds=KINDS)


def assert_same(ours, expected):
    np.testing.assert_allclose(ours.codes, expected.codes, rtol=1e-14)
    assert ours.code_names == expected.code_names
    assert ours.factor_names == expected.factor_names
    for a, b in zip(ours.factors, expected.factors, strict=True):
        assert (a.kind, a.levels, a.period) == (b.kind, b.levels, b.period)
        np.testing.assert_allclose(a.numbers, b.numbers, rtol=1e-14)
        np.testing.assert_array_equal(a.labels, b.labels)


class Bomb:
    """Unpickling it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_saved_is_loaded(tmp_path, suffix):
    rep = odd_representation()
    path = save(rep, tmp_path / f"codes.{suffix}")
    assert_same(load(path, kinds=KINDS), rep)


def test_npz_remembers_kinds_and_periods(tmp_path):
    rep = odd_representation()
    assert_same(load(save(rep, tmp_path / "codes.npz")), rep)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numeric_factors_alone_survive(tmp_path, suffix):
    rep = Representation(*small_world(), names=["a", "b", "c"])
    assert_same(load(save(rep, tmp_path / f"codes.{suffix}")), rep)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_labels_that_look_like_numbers_stay_text(tmp_path, suffix):
    rep = Representation(small_world(40)[0], {"code": ["001", "1", "01", "2"] * 10})
    assert load(save(rep, tmp_path / f"codes.{suffix}")).factors[0].levels == ("001", "01", "1", "2")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_large_numeric_labels_stay_apart(tmp_path, suffix):
    rep = Representation(small_world(40)[0], {"person": 1_000_000 + np.arange(40) % 4}, kinds=["categorical"])
    factor = load(save(rep, tmp_path / f"codes.{suffix}"), kinds=["categorical"]).factors[0]
    assert factor.labels.tolist() == [0, 1, 2, 3] * 10


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_code_names_that_differ_by_the_prefix_stay_apart(tmp_path, suffix):
    codes, factors = small_world()
    rep = Representation(codes, factors, code_names=["x", "code_x", "é"])
    back = load(save(rep, tmp_path / f"codes.{suffix}"))
    np.testing.assert_allclose(back.codes, codes, rtol=1e-14)


def test_npz_without_factors_has_none(tmp_path):
    codes, _ = small_world()
    assert load(save(Representation(codes), tmp_path / "codes.npz")).n_factors == 0


def test_kinds_given_win_over_those_in_the_file_factor_by_factor(tmp_path):
    path = save_npz(tmp_path, factor_kinds=np.array(["categorical", "", "circular:8"]))
    kinds = [factor.kind for factor in load(path, kinds={"shape": "ordinal"}).factors]
    assert kinds == ["ordinal", "ordinal", "circular"]


def test_a_text_matrix_gives_numbers_back_to_numeric_columns(tmp_path):
    codes, factors = small_world()
    text = np.stack([np.array(["a", "b", "c"])[factors[:, 0]], factors[:, 1].astype(str)], axis=1)
    text[0] = ["nan", ""]
    rep = load(save_npz(tmp_path, codes, text))
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal"]
    assert [factor.labelled[0] for factor in rep.factors] == [False, False]
    np.testing.assert_array_equal(rep.factors[1].numbers[1:], factors[1:, 1])


@pytest.mark.parametrize("names", [np.array("only"), np.array([b"only"]), np.array(["only"])])
def test_factor_names_may_be_one_text_or_bytes(tmp_path, names):
    codes, factors = small_world()
    assert load(save_npz(tmp_path, codes, factors[:, :1], factor_names=names)).factor_names == ("only",)


def test_a_pair_of_npy_files_gives_what_arrays_give(tmp_path):
    codes, factors = small_world()
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "labels.npy", factors)
    rep = load(tmp_path / "codes.npy", tmp_path / "labels.npy", kinds=[None, None, "circular"])
    assert_same(rep, Representation(codes, factors, kinds=[None, None, "circular"]))


def test_column_patterns_pick_codes_and_factors(tmp_path):
    codes, factors = small_world()
    frame = pd.DataFrame({"id": range(120), "z0": codes[:, 0], "z1": codes[:, 1], "v_size": factors[:, 1], "w": 1})
    frame.to_csv(tmp_path / "table.csv", index=False)
    rep = load(tmp_path / "table.csv", code_columns="z?", factor_columns="v_*")
    assert rep.code_names == ("z0", "z1")
    assert rep.factor_names == ("v_size",)


def odd_table(folder, *, header=True):
    codes, factors = small_world()
    frame = pd.DataFrame({"z0": codes[:, 0], "z1": codes[:, 1], "tilt, x": codes[:, 2], "w[1]": codes[:, 0]})
    frame["shape"] = np.array(["square", "heart", "ellipse"])[factors[:, 0]]
    frame["size"], frame["factor_turn"] = factors[:, 1], factors[:, 2]
    frame.to_csv(folder / "table.csv", index=False, header=header)
    return folder / "table.csv"


@pytest.mark.parametrize(
    ("code_columns", "factor_columns", "codes", "factors"),
    [
        ("z0,z1", "shape, size", ("z0", "z1"), ("shape", "size")),
        ("z*", "s*", ("z0", "z1"), ("shape", "size")),
        ("z1,w[1],z*", "factor_*,shape", ("z1", "w[1]", "z0"), ("turn", "shape")),
        ("*", "shape,size,factor_turn", ("z0", "z1", "tilt, x", "w[1]"), ("shape", "size", "turn")),
        ("z*,size", "s*", ("z0", "z1", "size"), ("shape",)),
        (["z0", "tilt, x"], ["size"], ("z0", "tilt, x"), ("size",)),
        ("z?", "factor_turn", ("z0", "z1"), ("turn",)),
    ],
)
def test_columns_are_names_and_patterns_and_names_stay_whole(tmp_path, code_columns, factor_columns, codes, factors):
    rep = load(odd_table(tmp_path), code_columns=code_columns, factor_columns=factor_columns)
    assert rep.code_names == codes
    assert rep.factor_names == factors


def test_a_column_with_a_comma_may_be_named_whole(tmp_path):
    rep = load(odd_table(tmp_path), code_columns="z*", factor_columns="tilt, x")
    assert rep.factor_names == ("tilt, x",)


def test_names_that_would_become_one_without_their_prefix_keep_it(tmp_path):
    codes, factors = small_world()
    frame = pd.DataFrame({"z0": codes[:, 0], "z1": codes[:, 1], "a": factors[:, 0], "factor_a": factors[:, 1]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert load(tmp_path / "table.csv", code_columns="z*", factor_columns="*a").factor_names == ("a", "factor_a")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {},
            r"code_columns 'code_\*' matches no column .* as in --code-columns z0,z1 .* code_columns='z0,z1' in Python",
        ),
        ({"code_columns": "z*"}, r"factor_columns 'factor_\*' .*, as in --factor-columns turn in the shell"),
        (
            {"code_columns": "turn,z0", "factor_columns": "turn"},
            "factor_columns 'turn' matches only columns of .* taken as codes already, by code_columns: turn; name each",
        ),
        (
            {"code_columns": "tu*", "factor_columns": "turn"},
            r"code_columns 'tu\*' matches only columns of .* taken as factors already, by factor_columns: turn; name",
        ),
        ({"code_columns": "z0,z2"}, "code_columns 'z2' matches no column of .* which has z0, z1, tilt, x"),
        ({"code_columns": "z*", "factor_columns": "shape,sise"}, "factor_columns 'sise' .*; did you mean 'size'"),
    ],
)
def test_columns_that_are_not_there_are_told_with_the_option(tmp_path, columns, sentence):
    path = odd_table(tmp_path)
    path.write_text(path.read_text().replace("factor_turn", "turn", 1))
    with pytest.raises(ValueError, match=sentence):
        load(path, **columns)


def test_a_table_of_codes_alone_is_told_how_to_get_labels(tmp_path):
    pd.DataFrame(small_world()[0], columns=["code_0", "code_1", "code_2"]).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"all of them are codes: add columns of labels, .* with --factors"):
        load(tmp_path / "table.csv")


def test_a_table_without_a_header_is_recognised(tmp_path):
    with pytest.raises(
        ValueError, match=r"table\.csv' seems to have no header, as its first line holds .*; put a line"
    ):
        load(odd_table(tmp_path, header=False))


def test_a_header_of_numbers_as_pandas_writes_it_is_one(tmp_path):
    codes, factors = small_world()
    pd.DataFrame(np.column_stack([codes, factors])).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"code_columns 'code_\*' matches no column .* which has 0, 1, 2"):
        load(tmp_path / "table.csv")
    rep = load(tmp_path / "table.csv", code_columns="0,1,2", factor_columns="3,4,5")
    np.testing.assert_allclose(rep.codes, codes)


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "parquet"])
def test_only_spares_a_file_whose_other_factors_are_constant(tmp_path, suffix):
    codes, factors = small_world()
    frame = pd.DataFrame(codes, columns=["code_0", "code_1", "code_2"])
    frame["factor_factor_0"], frame["factor_factor_1"] = factors[:, 0], 1
    np.savez(tmp_path / "codes.npz", codes=codes, factors=frame.iloc[:, 3:])
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "labels.npy", frame.iloc[:, 3:])
    frame.to_csv(tmp_path / "codes.csv", index=False)
    frame.to_parquet(tmp_path / "codes.parquet", index=False)
    labels = tmp_path / "labels.npy" if suffix == "npy" else None
    with pytest.raises(ValueError, match="'factor_1' takes one value only; drop it before scoring"):
        load(tmp_path / f"codes.{suffix}", labels)
    assert load(tmp_path / f"codes.{suffix}", labels, only=["factor_0"]).factor_names == ("factor_0",)


def test_objects_saved_as_the_message_says_are_read(tmp_path):
    codes, _ = small_world()
    labels = np.array([["a", 1.5], ["b", 2.5], ["c", 3.5]] * 40, dtype=object)
    with pytest.raises(ValueError, match=r"never loaded; save labels that mix .* with \.astype\(str\), or as \.csv"):
        load(save_npz(tmp_path, codes, labels))
    rep = load(save_npz(tmp_path, codes, labels.astype(str)))
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal"]


@pytest.mark.parametrize("key", ["codes", "factors", "factor_names"])
def test_pickles_in_npz_are_refused_and_never_run(tmp_path, key):
    marker = tmp_path / "the pickle ran"
    objects = np.full((120, 3), None, dtype=object)
    objects[0, 0] = Bomb(marker)
    path = save_npz(tmp_path, **{key: objects})
    with pytest.raises(ValueError, match=r"\(pickles\) are never loaded"):
        load(path)
    assert not marker.exists()


@pytest.mark.parametrize("bad", ["codes.npy", "labels.npy"])
def test_pickles_in_npy_are_refused_and_never_run(tmp_path, bad):
    marker = tmp_path / "the pickle ran"
    codes, factors = small_world()
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "labels.npy", factors)
    np.save(tmp_path / bad, np.array([[Bomb(marker)] * 3] * 120, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=rf"{bad}'.*\(pickles\) are never loaded"):
        load(tmp_path / "codes.npy", tmp_path / "labels.npy")
    assert not marker.exists()


@pytest.mark.parametrize("name", ["codes.npz", "codes.npy"])
def test_bare_pickles_are_refused_and_never_run(tmp_path, name):
    marker = tmp_path / "the pickle ran"
    (tmp_path / name).write_bytes(pickle.dumps(Bomb(marker)))
    np.save(tmp_path / "labels.npy", small_world()[1])
    with pytest.raises(ValueError, match=r"Python objects \(pickles\) are never loaded"):
        load(tmp_path / name, tmp_path / "labels.npy" if name.endswith("npy") else None)
    assert not marker.exists()


def test_the_bomb_of_these_tests_does_go_off(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_a_cut_npz_is_damaged(tmp_path, share):
    path = save_npz(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"codes\.npz' is damaged or not a NumPy file: "):
        load(path)


def test_a_flipped_bit_in_npz_is_damage(tmp_path):
    path = save_npz(tmp_path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 4] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"Bad CRC-32"):
        load(path)


def test_an_encrypted_npz_is_refused(tmp_path):
    path = save_npz(tmp_path)
    whole = path.read_bytes()
    at = whole.index(b"PK\x01\x02") + 8
    path.write_bytes(whole[:at] + b"\x01" + whole[at + 1 :])
    with pytest.raises(ValueError, match=r"damaged or not a NumPy file: .*encrypted"):
        load(path)


def test_an_array_too_large_for_memory_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**10)})
    with zipfile.ZipFile(tmp_path / "codes.npz", "w") as archive:
        archive.writestr("codes.npy", header.getvalue())
    with pytest.raises(ValueError, match=r"codes\.npz' would take about .* of memory"):
        load(tmp_path / "codes.npz")


@pytest.mark.parametrize("name", ["codes.npz", "codes.csv", "codes.parquet", "codes.npy"])
def test_an_empty_file_is_refused(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"{name}' is empty"):
        load(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("codes.npz", "code_0,code_1\n", "is not a NumPy file of plain numbers or text"),
        ("codes.parquet", "code_0,code_1\n", r"cannot be read as \.parquet"),
        ("codes.csv", "\n\n", r"cannot be read as \.csv: No columns"),
        ("codes.csv", "code_0,code_1,factor_a\n1,2,3\n1,2,3,4,5\n", r"cannot be read as \.csv: line 3 has 5 fields"),
        ("codes.csv", 'code_0,code_1,factor_a\n1,2,3\n1,2,"3\n', r"a quotation mark in line 3 has no second one"),
        ("codes.csv", "code_0,code_1,code_1,factor_a\n1,2,2,3\n", r"has the name 'code_1' twice"),
        ("codes.csv", "code_0,code_1,factor_a\n", "at least 4 rows"),
        (
            "codes.csv",
            "code_0,code_1,label\n1,2,3\n",
            r"factor_columns 'factor_\*' matches no column .* code_1 and label",
        ),
        ("codes.csv", "z0,z1,factor_a\n1,2,3\n", r"code_columns 'code_\*' matches no column .* which has z0, z1"),
        ("codes.csv", "code_0,code_1,factor_a\n1,two,3\n", "codes must be numbers, got text in column 'code_1'"),
        (
            "codes.csv",
            "code_0,code_1,factor_a\n" + "1,,3\n" * 5,
            r"codes must be finite, .* in 5 of 5 rows, in 'code_1'",
        ),
        ("codes.txt", "hello", r"must end in \.npz, \.csv, \.parquet or \.npy, got '\.txt'"),
        ("codes", "hello", r"must end in \.npz, \.csv, \.parquet or \.npy, got ''"),
    ],
)
def test_a_file_that_does_not_hold_what_it_should_is_refused(tmp_path, name, text, sentence):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path / name)


def test_text_deep_in_a_code_column_is_one_error_and_no_warning(tmp_path):
    lines = ["code_0,code_1,factor_a", *["1.5,2.5,3"] * 300_000, "oops,2.5,3"]
    (tmp_path / "codes.csv").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="got text in column 'code_0'"):
        load(tmp_path / "codes.csv")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"code": np.eye(5)}, r"must hold an array 'codes' \(and 'factors'\), got code; did you mean 'code'"),
        ({"x": np.eye(5), "y": np.eye(5)}, r"must hold an array 'codes' \(and 'factors'\), got x, y"),
        ({}, r"must hold an array 'codes' \(and 'factors'\), got nothing"),
        ({"codes": np.zeros((4, 2, 3))}, r"codes must have shape \(n_samples, n_codes\), got \(4, 2, 3\)"),
        ({"codes": np.eye(5), "factors": np.zeros((5, 1, 1))}, r"factors must have shape .*, got \(5, 1, 1\)"),
        ({"codes": np.eye(5), "factors": np.arange(6)}, "same number of rows, got 5 and 6"),
        ({"codes": np.eye(5), "factors": np.arange(5), "factor_names": ["a", "b"]}, "names must have 1 entries, got 2"),
        ({"codes": np.eye(5), "factors": np.arange(5), "factor_kinds": ["a"]}, "must be one of .*, got 'a'"),
    ],
)
def test_npz_with_the_wrong_arrays_is_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "codes.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path / "codes.npz")


def test_npy_under_the_name_of_npz_and_the_other_way_round_are_refused(tmp_path):
    save_npz(tmp_path).rename(tmp_path / "codes.npy")
    np.save(tmp_path / "labels.npy", small_world()[1])
    (tmp_path / "labels.npz").write_bytes((tmp_path / "labels.npy").read_bytes())
    with pytest.raises(ValueError, match=r"must hold an array 'codes' .*, got one array"):
        load(tmp_path / "labels.npz")
    with pytest.raises(ValueError, match=r"must hold one array, got an archive; name it \.npz"):
        load(tmp_path / "codes.npy", tmp_path / "labels.npy")


def test_a_missing_file_names_its_neighbour(tmp_path):
    save_npz(tmp_path)
    with pytest.raises(ValueError, match=r"path '.*code\.npz' is not a file; did you mean 'codes\.npz'"):
        load(tmp_path / "code.npz")
    with pytest.raises(ValueError, match=r"path '.*' is a folder without \.parquet"):
        load(tmp_path)


def test_npy_codes_need_a_file_of_factors(tmp_path):
    np.save(tmp_path / "codes.npy", small_world()[0])
    with pytest.raises(ValueError, match=r"codes come from 'codes\.npy': .* with --factors labels\.npy in the shell"):
        load(tmp_path / "codes.npy")
    with pytest.raises(ValueError, match=r"factors '.*label\.npy' is not a file"):
        load(tmp_path / "codes.npy", tmp_path / "label.npy")


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_labels_given_beside_a_file_replace_its_factors(tmp_path, suffix):
    codes, factors = small_world()
    path = save(Representation(codes, factors, kinds=["categorical"] * 3), tmp_path / f"codes.{suffix}")
    task = factors[:, 1] > 1
    np.save(tmp_path / "labels.npy", task.astype(int))
    rep = load(path, tmp_path / "labels.npy")
    assert np.allclose(rep.codes, codes)
    assert rep.factor_names == ("factor_0",)
    assert rep.factors[0].labels.tolist() == task.astype(int).tolist()
    assert str(load(path, tmp_path / "labels.npy", kinds={"factor_0": "ordinal"}).factors[0].kind) == "ordinal"


def test_labels_given_spare_a_file_whose_own_factors_are_bad_or_missing(tmp_path):
    codes, factors = small_world()
    np.savez(tmp_path / "codes.npz", codes=codes, factors=factors[:5], factor_names=["a"], code_names=["x", "y", "z"])
    pd.DataFrame({f"code_{j}": column for j, column in enumerate(codes.T)}).to_csv(tmp_path / "codes.csv", index=False)
    np.save(tmp_path / "labels.npy", factors)
    assert load(tmp_path / "codes.npz", tmp_path / "labels.npy").code_names == ("x", "y", "z")
    assert load(tmp_path / "codes.csv", tmp_path / "labels.npy").n_factors == 3


def test_labels_that_do_not_fit_the_codes_are_refused(tmp_path):
    path = save_npz(tmp_path)
    with pytest.raises(ValueError, match=r"factors '.*labels\.npy' is not a file"):
        load(path, tmp_path / "labels.npy")
    np.save(tmp_path / "labels.npy", np.arange(7))
    with pytest.raises(ValueError, match="same number of rows, got 120 and 7"):
        load(path, tmp_path / "labels.npy")
    np.save(tmp_path / "labels.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="never loaded"):
        load(path, tmp_path / "labels.npy")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failing_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, suffix):
    path = save(Representation(*small_world()), tmp_path / f"codes.{suffix}")
    before = path.read_bytes()

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(Representation(*small_world(80)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_save_refuses_a_suffix_it_does_not_know(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        save(Representation(*small_world()), tmp_path / "codes.txt")
    assert not list(tmp_path.iterdir())


def test_a_pair_of_npy_files_comes_back_as_it_was_but_for_names(tmp_path):
    rep = odd_representation()
    save(rep, tmp_path / "codes.npy", tmp_path / "labels.npy")
    back = load(tmp_path / "codes.npy", tmp_path / "labels.npy", kinds=list(KINDS.values()))
    assert_same(back, Representation(rep.codes, [replace(f, name=f"factor_{k}") for k, f in enumerate(rep.factors)]))


@pytest.mark.parametrize(
    ("path", "factors", "message"),
    [
        ("codes.npy", None, "factors must name a second .npy file when path ends in .npy, got none"),
        ("codes.npz", "labels.npy", "factors must be left out unless path ends in .npy, got"),
        ("codes.npy", "labels.csv", "factors must be a .npy file"),
    ],
)
def test_a_second_file_is_asked_for_where_it_belongs(tmp_path, path, factors, message):
    with pytest.raises(ValueError, match=message):
        save(Representation(*small_world()), tmp_path / path, factors and tmp_path / factors)
    assert not list(tmp_path.iterdir())


def test_what_was_read_says_how_to_read_it_again(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("z0,z1,size,angle,same\n" + "".join(f"{k},{-k},{k % 3},{k % 8 * 45},1\n" for k in range(48)))
    rep = load(
        path,
        code_columns="z*",
        factor_columns=["size", "angle", "same"],
        kinds={"angle": "circular:360"},
        only=iter(["size", "angle"]),
    )
    again = eval(rep.source, {"ub": unbraid})
    assert [(f.name, f.kind, f.period) for f in again.factors] == [(f.name, f.kind, f.period) for f in rep.factors]
    assert np.array_equal(again.codes, rep.codes)
    assert "code_columns" in rep.source
    assert load(save(rep, tmp_path / "a.npz")).source == f"ub.load({str(tmp_path / 'a.npz')!r})"
    for other in (rep.take(np.arange(9)), rep.select_factors(["size"]), Representation(rep.codes)):
        assert other.source == ""


def test_two_files_are_both_named(tmp_path):
    rep = Representation(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3)
    codes = save(rep, tmp_path / "c.npy", tmp_path / "f.npy")
    again = eval(load(codes, tmp_path / "f.npy").source, {"ub": unbraid})
    assert np.array_equal(again.codes, rep.codes)
    assert again.n_factors == 1
