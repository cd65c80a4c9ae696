"""Masks, indices, large whole numbers and words of tables count for what the same arrays in Python do."""

import numpy as np
import pandas as pd
import pytest

from helpers.small import small_world
from unbraid import Representation, load, save
from unbraid.metrics import mig
from unbraid.representation.factor import make_factor

CODES, FACTORS = small_world(300)
NAMES = ["factor_shape", "factor_size", "factor_angle"]
TABLE = pd.DataFrame(np.column_stack([CODES, FACTORS]), columns=["code_0", "code_1", "code_2", *NAMES]).astype(
    dict.fromkeys(NAMES, int)
)
EXPECTED = mig(CODES, FACTORS).value


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


def with_labels(tmp_path, labels):
    """A table of the small world's codes and one factor, written as it is."""
    lines = [f"{a},{b},{label}" for (a, b, _), label in zip(CODES, labels, strict=True)]
    return written(tmp_path, "\n".join(["code_0,code_1,factor_a", *lines]) + "\n")


@pytest.mark.parametrize("ending", [",", ",,", "none", "first", "index"])
def test_rows_that_end_in_a_comma_are_read_as_those_that_do_not(tmp_path, ending):
    header, *rows = TABLE.to_csv(index=False).splitlines()
    if ending == "index":
        rows = [f"{k},{row}" for k, row in enumerate(rows, start=1)]
    elif ending == "first":
        rows[0] += ","
    elif ending != "none":
        rows = [row + ending for row in rows]
    rep = load(written(tmp_path, "\n".join([header, *rows])))
    assert rep.code_names == ("code_0", "code_1", "code_2")
    assert mig(rep).value == EXPECTED


def test_rows_with_more_fields_than_names_are_refused(tmp_path):
    header, *rows = TABLE.to_csv(index=False).splitlines()
    path = written(tmp_path, "\n".join([header, *[f"{row},{k % 7}" for k, row in enumerate(rows)]]))
    with pytest.raises(ValueError, match="rows have 7 fields and the first line 6 names, code_0, code_1, code_2 and 3"):
        load(path)


def test_masked_codes_are_refused():
    codes = np.ma.masked_greater(CODES, 2.5)
    with pytest.raises(
        ValueError, match=rf"codes must not be masked, got {codes.mask.sum()} masked values of 900; drop"
    ):
        Representation(codes, FACTORS)
    with pytest.raises(ValueError, match="codes must not be masked"):
        Representation(list(codes), FACTORS)
    assert mig(np.ma.asarray(CODES), FACTORS).value == EXPECTED


@pytest.mark.parametrize("dtype", [int, float, bool, str, "U"])
def test_masked_labels_are_not_labelled(dtype):
    mask = np.zeros(FACTORS.shape, dtype=bool)
    mask[::3, 1] = True
    values = (FACTORS % 2 if dtype is bool else FACTORS).astype(dtype)
    hidden = np.ma.array(values, mask=mask)
    wanted = np.where(mask, None, values.astype(object))
    given = [hidden, {f"factor_{k}": hidden[:, k] for k in range(3)}, list(hidden)]
    for factors in given:
        rep = Representation(CODES, factors)
        assert [int((~factor.labelled).sum()) for factor in rep.factors] == [0, 100, 0]
        assert mig(rep).value == pytest.approx(mig(CODES, wanted).value)


def test_frames_in_another_order_are_aligned_by_their_index():
    labels = [f"image {k}" for k in range(300)]
    codes = pd.DataFrame(CODES, index=labels)
    factors = pd.DataFrame(FACTORS, index=labels, columns=NAMES).sample(frac=1, random_state=0)
    for given in (factors, {name: factors[name] for name in NAMES}):
        rep = Representation(codes, given)
        assert mig(rep).value == EXPECTED
        assert any("order of the codes" in note and "factor_size" in note for note in rep.notes)
    in_order = Representation(codes, factors.sort_index(key=lambda index: index.str[6:].astype(int)))
    assert mig(in_order).value == EXPECTED
    assert in_order.notes == ()


def test_frames_whose_index_leaves_doubt_are_refused():
    factors = pd.DataFrame(FACTORS, columns=NAMES)
    with pytest.raises(ValueError, match="the index of factor 'factor_shape' has the row numbers of the codes in anot"):
        Representation(pd.DataFrame(CODES), factors.sample(frac=1, random_state=0))
    codes = pd.DataFrame(CODES, index=np.arange(300) + 1000)
    with pytest.raises(
        ValueError, match=r"has labels that differ from the codes'; match rows by label with factors\.loc"
    ):
        Representation(codes, factors.set_index(np.arange(300) + 1001))
    twice = np.arange(300) // 2
    with pytest.raises(ValueError, match="has labels that differ"):
        Representation(pd.DataFrame(CODES, index=twice), factors.set_index(twice[::-1]))
    assert mig(pd.DataFrame(CODES, index=twice), factors.set_index(twice)).value == EXPECTED
    assert mig(pd.DataFrame(CODES), factors.set_index(np.arange(300) + 1000)).value == EXPECTED


LARGE = [2**60 + 3 * k for k in range(5)]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, "Int64", object])
def test_large_whole_numbers_stay_apart(dtype):
    values = pd.Series(np.tile(LARGE, 20), dtype=dtype)
    factor = make_factor(values, name="id", kind="categorical")
    assert factor.levels == tuple(str(value) for value in LARGE)
    assert np.bincount(factor.labels).tolist() == [20] * 5
    two = make_factor(values.where(values < LARGE[2], LARGE[1]), name="id")
    assert two.levels == tuple(str(value) for value in LARGE[:2])
    with pytest.raises(ValueError, match=r"factor 'id' must hold numbers of at most 1e\+15 in size"):
        make_factor(values, name="id")


@pytest.mark.parametrize("missing", ["", "2"])
def test_large_whole_numbers_of_files_stay_apart(tmp_path, missing):
    labels = [str(value) for value in np.tile(LARGE, 60)]
    labels[0] = missing
    table = load(with_labels(tmp_path, labels), kinds={"a": "categorical"})
    np.savez(tmp_path / "text.npz", codes=CODES, factors=np.array(labels)[:, None], factor_kinds=["categorical"])
    for rep in (table, load(tmp_path / "text.npz")):
        assert set(map(str, LARGE)) <= set(rep.factors[0].levels)
        assert len(rep.factors[0].levels) == 5 + bool(missing)
    two = [str(LARGE[k % 2]) for k in range(300)]
    two[7] = ""
    assert load(with_labels(tmp_path, two)).factors[0].levels == tuple(map(str, LARGE[:2]))


def test_words_for_nothing_are_names_among_names(tmp_path):
    labels = np.tile(["NA", "None", "null", "a", "", "nan"], 50)
    rep = load(with_labels(tmp_path, labels))
    assert rep.factors[0].levels == ("NA", "None", "a", "null")
    assert rep.factors[0].labelled.sum() == 200
    assert any("a (150 rows)" in note for note in rep.notes)
    only_words = load(with_labels(tmp_path, np.tile(["NA", "None"], 150)))
    assert only_words.factors[0].levels == ("NA", "None")


def test_words_for_nothing_are_not_labelled_among_numbers(tmp_path):
    for kind in ("ordinal", "categorical"):
        rep = load(with_labels(tmp_path, np.tile(["1", "2", "10", "NA"], 75)), kinds={"a": kind})
        assert rep.factors[0].levels == ("1", "2", "10")
        assert rep.factors[0].labelled.sum() == 225
        assert rep.notes == ()


def test_numbers_declared_names_are_read_as_text(tmp_path):
    path = with_labels(tmp_path, np.tile(["01", "1", "001", "2"], 75))
    assert load(path, kinds={"a": "categorical"}).factors[0].levels == ("001", "01", "1", "2")
    assert load(path).factors[0].levels == ("1", "2")


def test_categories_survive_writing_and_reading(tmp_path):
    rep = Representation(CODES, {"a": np.tile(["NA", "01", "x"], 100)})
    save(rep, tmp_path / "table.csv")
    again = load(tmp_path / "table.csv")
    assert again.factors[0].levels == rep.factors[0].levels
    assert mig(again).value == mig(rep).value


def test_decimals_and_times_of_parquet(tmp_path):
    from decimal import Decimal

    path = tmp_path / "table.parquet"
    table = TABLE.copy()
    for name in ("code_0", "factor_size"):
        table[name] = [Decimal(repr(float(value))) for value in table[name]]
    table.to_parquet(path)
    assert mig(load(path)).value == EXPECTED
    times = TABLE.assign(code_1=pd.to_datetime(TABLE["factor_size"], unit="s"))
    times.to_parquet(path)
    with pytest.raises(ValueError, match=r"codes must be numbers, got datetime64\S* in column 'code_1'"):
        load(path)
    TABLE.assign(factor_size=times["code_1"]).to_parquet(path)
    with pytest.raises(
        ValueError, match=r"'size' is declared continuous but holds times such as '1970-01-01 .*; give num"
    ):
        load(path, kinds={"size": "continuous"})


@pytest.mark.parametrize(
    ("encoding", "cure"),
    [("utf-16", "iconv -f utf-16"), ("utf-16-le", "iconv -f utf-16"), ("latin1", "iconv -f latin1")],
)
def test_text_that_is_not_utf_8_is_refused_with_the_cure(tmp_path, encoding, cure):
    text = TABLE.rename(columns={"factor_size": "factor_größe"}).to_csv(index=False)
    with pytest.raises(ValueError, match=f"save it as UTF-8, as with {cure}"):
        load(written(tmp_path, text, encoding))
    assert "größe" in load(written(tmp_path, text, "utf-8-sig")).factor_names
