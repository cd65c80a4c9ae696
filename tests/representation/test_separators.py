"""Tables separated by semicolons or tabs, with decimal points or commas."""

import numpy as np
import pytest

from unbraid import load

NAMES = ("code_0", "code_1", "factor_size")
ROWS = [(0.5 * k, -1.25 * k, k % 4) for k in range(40)]


def written(folder, sep, decimal, *, last=lambda value: value):
    lines = [sep.join(NAMES)]
    lines += [sep.join([*(str(value).replace(".", decimal) for value in row[:2]), str(last(row[2]))]) for row in ROWS]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ".")])
def test_the_separator_is_told_by_the_header(tmp_path, sep, decimal):
    rep = load(written(tmp_path, sep, decimal))
    assert rep.code_names == NAMES[:2]
    np.testing.assert_array_equal(rep.codes, [row[:2] for row in ROWS])
    np.testing.assert_array_equal(rep.factors[0].numbers, [row[2] for row in ROWS])


def test_a_comma_in_a_label_is_no_decimal_comma(tmp_path):
    rep = load(written(tmp_path, ";", ".", last=lambda value: f"red, {value}"))
    np.testing.assert_array_equal(rep.codes, [row[:2] for row in ROWS])
    assert rep.factors[0].levels == ("red, 0", "red, 1", "red, 2", "red, 3")


def test_a_semicolon_in_a_name_separates_nothing_where_commas_do(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("code_0,code_1,factor_a;b\n" + "".join(f"{k},{-k},{k % 3}\n" for k in range(30)), encoding="utf-8")
    assert load(path).factor_names == ("a;b",)
