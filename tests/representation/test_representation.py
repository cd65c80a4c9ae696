import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unbraid as ub
from helpers.small import small_world
from unbraid import Representation, make_factor
from unbraid.metrics import irs, z1


def halves(n_samples=40):
    """Codes and factors that every number format holds exactly."""
    codes, factors = small_world(n_samples)
    return np.round(codes * 2) / 2, factors


def assert_same(ours, expected):
    np.testing.assert_array_equal(ours.codes, expected.codes)
    assert ours.codes.dtype == np.float64
    assert ours.n_factors == expected.n_factors
    for a, b in zip(ours.factors, expected.factors, strict=True):
        assert (a.kind, a.levels, a.period) == (b.kind, b.levels, b.period)
        np.testing.assert_array_equal(a.numbers, b.numbers)
        np.testing.assert_array_equal(a.labels, b.labels)


@pytest.mark.parametrize(
    "convert",
    [
        lambda array: array.tolist(),
        lambda array: tuple(map(tuple, array.tolist())),
        lambda array: array.astype(np.float32),
        lambda array: array.astype(np.float16),
        np.asfortranarray,
        pd.DataFrame,
        lambda array: pd.DataFrame(array, index=range(100, 140)),
        lambda array: pd.DataFrame(array).convert_dtypes(),
    ],
    ids=["list", "tuple", "float32", "float16", "fortran", "pandas", "odd index", "nullable"],
)
def test_containers_of_the_same_numbers_give_the_same_representation(convert):
    codes, factors = halves()
    assert_same(Representation(convert(codes), convert(factors)), Representation(codes, factors))


@pytest.mark.slow
def test_polars_frames_give_what_arrays_give():
    import polars as pl

    codes, factors = halves()
    rep = Representation(pl.DataFrame(codes, schema=["x", "y", "z"]), pl.DataFrame(factors, schema=["a", "b", "c"]))
    assert_same(rep, Representation(codes, factors))
    assert rep.code_names == ("x", "y", "z")
    assert rep.factor_names == ("a", "b", "c")


@pytest.mark.slow
def test_polars_nulls_are_not_labelled():
    import polars as pl

    columns = {
        "colour": ["r", None, "g", "b"] * 10,
        "size": [1, 2, 3, None] * 10,
        "wide": [True, None, False, True] * 10,
    }
    rep = Representation(halves()[0], pl.DataFrame(columns))
    labelled = [factor.labelled[:4].tolist() for factor in rep.factors]
    assert labelled == [[True, False, True, True], [True, True, True, False], [True, False, True, True]]
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal", "categorical"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16", "int32"])
def test_torch_tensors_give_what_arrays_give(dtype):
    import torch

    codes, factors = halves()
    codes = np.round(codes)
    tensor = torch.tensor(codes).to(getattr(torch, dtype))
    assert_same(Representation(tensor, torch.tensor(factors)), Representation(codes, factors))


def test_torch_tensors_that_require_gradients_are_read_and_keep_them():
    import torch

    codes, factors = halves()
    tensor = torch.tensor(codes, requires_grad=True)
    assert_same(Representation(tensor, factors), Representation(codes, factors))
    assert tensor.requires_grad


def test_torch_booleans_are_categorical():
    import torch

    codes, factors = halves()
    rep = Representation(codes, {"wide": torch.tensor(factors[:, 0] > 0)})
    assert rep.factors[0].kind == "categorical"


def test_one_column_of_factors_may_be_flat():
    codes, factors = halves()
    assert_same(Representation(codes, factors[:, 1]), Representation(codes, factors[:, 1:2]))


@pytest.mark.parametrize("rows", [list, tuple])
def test_rows_may_mix_text_and_numbers(rows):
    codes, factors = halves()
    shapes = np.array(["square", "heart", "ellipse"])[factors[:, 0]]
    rep = Representation(codes, rows(zip(shapes.tolist(), factors[:, 1].tolist(), strict=True)))
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal"]
    assert rep.factors[0].levels == ("ellipse", "heart", "square")
    np.testing.assert_array_equal(rep.factors[1].numbers, factors[:, 1])


def test_object_columns_with_none_are_read_by_what_they_hold():
    codes, _ = halves()
    labels = np.array([["a", 1, True], ["b", 2, False], [None, None, None], ["c", 3, True]] * 10, dtype=object)
    rep = Representation(codes, labels)
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal", "categorical"]
    assert [factor.labelled[:4].tolist() for factor in rep.factors] == [[True, True, False, True]] * 3


def test_names_come_from_frames_mappings_and_series():
    codes, factors = halves()
    frame = pd.DataFrame(factors, columns=["a", "b", "c"])
    assert Representation(codes, frame).factor_names == ("a", "b", "c")
    assert Representation(codes, {"x": factors[:, 0], 7: factors[:, 1]}).factor_names == ("x", "7")
    assert Representation(codes, frame["b"]).factor_names == ("b",)
    assert Representation(pd.DataFrame(codes, columns=["u", "v", "w"])).code_names == ("u", "v", "w")
    assert Representation(codes, factors).factor_names == ("factor_0", "factor_1", "factor_2")
    assert Representation(codes).code_names == ("code_0", "code_1", "code_2")


def test_names_given_win_over_those_of_the_frame():
    codes, factors = halves()
    frame = pd.DataFrame(factors, columns=["a", "b", "c"])
    rep = Representation(pd.DataFrame(codes), frame, names=["x", "y", "z"], code_names=["p", "q", "r"])
    assert rep.factor_names == ("x", "y", "z")
    assert rep.code_names == ("p", "q", "r")


def test_a_categorical_series_alone_stays_categorical():
    codes, factors = halves()
    assert Representation(codes, pd.Series(factors[:, 1], dtype="category")).factors[0].kind == "categorical"


@pytest.mark.parametrize(
    "kinds", [["categorical", None, "circular:8"], {"factor_0": "categorical", "factor_2": "circular:8"}]
)
def test_kinds_are_a_sequence_or_a_mapping(kinds):
    rep = Representation(*halves(), kinds=kinds)
    assert [factor.kind for factor in rep.factors] == ["categorical", "ordinal", "circular"]
    assert rep.factors[2].period == 8


def test_factor_objects_pass_through():
    codes, factors = halves()
    made = [make_factor(factors[:, 2], name="angle", kind="circular"), make_factor(factors[:, 0], name="shape")]
    assert Representation(codes, made).factors == tuple(made)


def test_read_only_arrays_are_scored_and_left_as_they_were():
    codes, factors = small_world(200)
    before = codes.copy(), factors.copy()
    codes.setflags(write=False)
    factors.setflags(write=False)
    report = ub.evaluate(codes, factors, intervals=False, nulls=False)
    assert not report.failures
    np.testing.assert_array_equal(codes, before[0])
    np.testing.assert_array_equal(factors, before[1])


@pytest.mark.slow
def test_writable_arrays_are_left_as_they_were():
    codes, factors = small_world(200)
    before = codes.copy(), factors.copy()
    ub.evaluate(codes, factors, intervals=False)
    np.testing.assert_array_equal(codes, before[0])
    np.testing.assert_array_equal(factors, before[1])


def test_a_constant_code_is_not_active():
    codes, _ = halves()
    codes[:, 1] = 7.0
    assert Representation(codes).active.tolist() == [True, False, True]


def test_take_selects_the_same_rows_of_codes_and_factors():
    codes, factors = halves()
    rows = np.array([3, 0, 9])
    part = Representation(codes, factors).take(rows)
    np.testing.assert_array_equal(part.codes, codes[rows])
    np.testing.assert_array_equal(part.factors[2].numbers, factors[rows, 2])


def test_shuffled_factors_keep_their_tie_to_each_other():
    codes, factors = halves()
    shuffled = Representation(codes, factors).with_shuffled_factors(np.random.default_rng(0))
    rows = np.stack([factor.numbers for factor in shuffled.factors], axis=1)
    np.testing.assert_array_equal(shuffled.codes, codes)
    assert rows.tolist() != factors.tolist()
    assert sorted(rows.tolist()) == sorted(factors.tolist())


def test_shuffled_codes_keep_each_column_and_break_the_rows():
    codes, factors = small_world(40)
    shuffled = Representation(codes, factors).with_shuffled_codes(np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(shuffled.codes, axis=0), np.sort(codes, axis=0))
    assert not set(map(tuple, shuffled.codes)) & set(map(tuple, codes))


def test_select_factors_keeps_the_order_asked_for():
    rep = Representation(*halves(), names=["a", "b", "c"]).select_factors(["c", "a"])
    assert rep.factor_names == ("c", "a")


@pytest.mark.parametrize(
    ("wanted", "sentence"), [(["d"], "factor 'd' is not one of a, b, c"), (["a", "a"], "'a' more than once")]
)
def test_select_factors_refuses_unknown_and_repeated_names(wanted, sentence):
    with pytest.raises(ValueError, match=sentence):
        Representation(*halves(), names=["a", "b", "c"]).select_factors(wanted)


def test_only_keeps_what_it_names_and_looks_at_nothing_else():
    codes, factors = halves()
    factors[:, 1] = 7
    rep = Representation(codes, factors, names=["a", "b", "c"], kinds=["categorical", None, "ordinal"], only=["c", "a"])
    assert rep.factor_names == ("c", "a")
    assert [factor.kind for factor in rep.factors] == ["ordinal", "categorical"]


def test_only_chooses_among_factor_objects():
    codes, factors = halves()
    made = [make_factor(factors[:, k], name=name) for k, name in enumerate("ab")]
    assert Representation(codes, made, only=["b"]).factors == (made[1],)


@pytest.mark.parametrize(
    ("turn", "advice"),
    [
        (lambda codes, factors: (codes.T, factors.T), "shapes (5, 40) and (3, 40); both look transposed: give codes.T"),
        (lambda codes, factors: (codes.T, factors), "shapes (5, 40) and (40, 3); the codes look transposed"),
        (lambda codes, factors: (codes, factors.T), "shapes (40, 5) and (3, 40); the factors look transposed"),
        (lambda codes, factors: (codes[:, :4].T, codes[:, :4].T), "shapes (4, 40) and (4, 40); both look transposed"),
        (lambda codes, factors: (codes[:, :3].T, factors), "at least 4 rows, got 3; rows are samples"),
        (lambda codes, factors: (codes, factors[:39]), "the same number of rows, got 40 and 39."),
        (lambda codes, factors: (codes[:, :3], factors[:2]), "the same number of rows, got 40 and 2."),
    ],
)
def test_transposed_arrays_are_told_from_those_that_miss_rows(turn, advice):
    codes, factors = halves()
    with pytest.raises(ValueError, match=re.escape(advice)):
        Representation(*turn(np.column_stack([codes, codes[:, :2]]), factors))


@pytest.mark.parametrize("n_codes", [6, 50])
def test_as_many_codes_as_rows_or_more_are_no_transposition(n_codes):
    assert Representation(np.random.default_rng(0).normal(size=(6, n_codes)), [0, 1, 2] * 2).n_codes == n_codes


@pytest.mark.parametrize("path", ["codes.npz", Path("codes.npz")])
def test_a_path_in_place_of_arrays_is_told_how_to_be_read(path):
    with pytest.raises(TypeError, match=r"got the path 'codes.npz'; read it first, with unbraid.load\('codes.npz'\)"):
        ub.evaluate(path)
    with pytest.raises(
        TypeError, match=r"factors must be labels, got the path 'codes.npz'; .* numpy.load\('codes.npz'"
    ):
        ub.evaluate(halves()[0], path)


def test_evaluate_takes_what_a_representation_takes():
    codes, factors = small_world()
    given = {
        "names": ["shape", "size", "angle"],
        "kinds": {"shape": "categorical", "angle": "circular:8"},
        "code_names": ["x", "y", "z"],
        "only": ["shape", "angle"],
    }
    quick = {"metrics": "r2", "nulls": False, "intervals": False}
    report = ub.evaluate(codes, factors, **given, **quick)
    assert report.setup.factor_names == ("shape", "angle")
    assert report.setup.factor_kinds == ("categorical", "circular")
    assert report.setup.code_names == ("x", "y", "z")
    assert report["r2"].value == ub.evaluate(Representation(codes, factors, **given), **quick)["r2"].value


@pytest.mark.parametrize(
    "given", [{"names": ["a", "b", "c"]}, {"kinds": [None] * 3}, {"code_names": "xyz"}, {"only": []}]
)
def test_a_representation_brings_its_own_names_and_kinds(given):
    with pytest.raises(TypeError, match=f"{next(iter(given))} must be left out when codes is a Representation"):
        ub.evaluate(Representation(*halves()), **given)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda codes: codes[:, 0], r"codes must have shape \(n_samples, n_codes\), got \(40,\)"),
        (lambda codes: codes[None], r"codes must have shape \(n_samples, n_codes\), got \(1, 40, 3\)"),
        (lambda codes: codes[:2], r"codes must have at least 4 rows, got 2"),
        (lambda codes: codes[:0], r"codes must have at least 4 rows, got 0"),
        (lambda codes: codes[:, :1], r"codes must have at least two columns, got 1"),
        (lambda codes: codes * 0, r"codes must vary, got 3 constant columns"),
        (lambda codes: codes + 1e15 + 0 * 1j, r"codes must be real numbers, got complex128"),
        (lambda codes: [*codes.astype(str).tolist(), ["a", "b", "c"]], r"codes must be numbers, got <U"),
        (lambda codes: [[1.0, 2.0], [3.0]] * 4, r"codes must be a matrix of numbers"),
        (
            lambda codes: np.where(codes == codes.max(), np.nan, codes),
            r"codes must be finite, got NaN or inf in 3 of 40 rows, in 'code_2'; drop those rows or codes",
        ),
        (lambda codes: codes + np.array([0, np.inf, 0]), r"got NaN or inf in 40 of 40 rows, in 'code_1'"),
    ],
)
def test_refuses_codes_that_cannot_be_scored(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Representation(change(halves()[0]))


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"factors": np.zeros((4, 2, 2))}, ValueError, r"factors must have shape .*, got \(4, 2, 2\)"),
        ({"factors": [[1, 2], [3]] * 20}, ValueError, "factors must have rows of one length, got lengths 1 to 2"),
        ({"factors": np.arange(78).reshape(39, 2) % 5}, ValueError, "got 40 and 39"),
        ({"names": ["a", "b"]}, ValueError, "names must have 3 entries, got 2"),
        ({"names": ["a", "b", "a"]}, ValueError, "names must differ from each other, got 'a' more than once"),
        ({"code_names": ["a", "a", "b"]}, ValueError, "code_names must differ from each other, got 'a' more than once"),
        ({"only": ["factor_3"]}, ValueError, "factor 'factor_3' is not one of factor_0, factor_1, factor_2"),
        ({"only": "factor_1"}, TypeError, r"must be a list of names, such as \['factor_1'\], got 'factor_1'"),
        ({"kinds": "ordinal"}, TypeError, "kinds must be one kind for each factor, .*, got 'ordinal'"),
        ({"kinds": ["ordinal"]}, ValueError, "one entry for each of the 3 factors, got 1"),
        ({"kinds": {"f": "ordinal"}}, ValueError, "kinds names factor 'f', which is not one of factor_0"),
        ({"factors": pd.DataFrame(np.eye(40)[:, :2], columns=["a", "a"])}, ValueError, "got 'a' more than once"),
        ({"factors": [make_factor([0, 1] * 20, name="a")] * 2}, ValueError, "got 'a' more than once"),
        ({"factors": [make_factor([0, 1] * 20, name="a")], "kinds": ["ordinal"]}, TypeError, "kinds must be left out"),
    ],
)  # fmt: skip
def test_refuses_factors_that_do_not_fit(arguments, error, sentence):
    codes, factors = halves()
    with pytest.raises(error, match=sentence):
        Representation(codes, **{"factors": factors} | arguments)


def test_a_representation_brings_its_own_factors():
    codes, factors = halves()
    with pytest.raises(TypeError, match="factors must be left out"):
        ub.evaluate(Representation(codes, factors), factors)


def test_joined_factors_are_held_fixed_together():
    rng = np.random.default_rng(0)
    x, y, shape = (rng.integers(0, n, 3000) for n in (4, 5, 3))
    # A code of both coordinates is still while both are, and moves while either is free.
    codes = np.column_stack([x + 2.0 * y, shape * 1.0])
    rep = Representation(codes, {"x": x, "shape": shape, "y": y})
    joined = rep.with_joined_factors({"position": ["x", "y"]})
    assert joined.factor_names == ("position", "shape")
    assert len(joined.factors[0].levels) == 20
    assert irs(joined).value == pytest.approx(1.0)
    assert irs(rep).value < 0.9
    assert z1(joined).value == pytest.approx(1.0)
    assert z1(rep).value < 0.9


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ({"position": ["x"]}, "must have two factors or more, got 1"),
        ({"position": ["x", "z"]}, "'z'"),
        ({"a": ["x", "y"], "b": ["y", "shape"]}, "must name each factor once"),
        ({"shape": ["x", "y"]}, "new factors by new names"),
        ({"a": ["x", "far"]}, "takes too many values to be joined"),
    ],
)
def test_groups_of_factors_that_cannot_be_joined_are_refused(groups, says):
    rng = np.random.default_rng(0)
    columns = {"x": np.arange(600) % 3, "y": np.arange(600) % 2, "shape": np.arange(600) % 4, "far": rng.random(600)}
    rep = Representation(rng.normal(size=(600, 2)), columns)
    with pytest.raises(ValueError, match=says):
        rep.with_joined_factors(groups)
