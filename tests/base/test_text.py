"""Names, numbers and durations as sentences have them."""

import pandas as pd
import pytest

from unbraid._base.text import as_csv, duration, listing


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.6, "1 min"), (3600, "1 h"), (86_399, "24 h"), (90_000, "1 d 1 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("names", "text"), [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcde", "a, b, c and 2 more")]
)
def test_lists_of_names(names, text):
    assert listing(list(names), most=3) == text


def test_a_csv_has_no_formula_in_cells_index_or_names_of_columns():
    frame = pd.DataFrame({"=a": ["@x", "plain"], "b": [-1.0, 2.0]}, index=["-i", "j"])
    assert as_csv(frame, index=True) == ",'=a,b\n'-i,'@x,-1.0\nj,plain,2.0\n"
