"""Names, numbers and durations as sentences have them."""

import pytest

from unbraid._base.text import duration, listing


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
