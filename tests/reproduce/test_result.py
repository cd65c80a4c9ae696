import math
from dataclasses import dataclass

import pytest

from unbraid.reproduce.result import Number, Result, Table, as_text, difference, ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Small(Result):
    number: Number

    def tables(self):
        return [Table(header=["what", "ours"], rows=[["it", self.number]])]


def test_what_is_not_finite_is_none_before_and_after_json():
    found = Small(number=Number.over_seeds((1.0, math.nan)))
    assert (found.number.ours, found.number.spread, found.number.seeds) == (None, None, (1.0, None))
    assert Small.from_json(found.to_json()) == found


def test_versions_are_kept():
    found = Small(number=Number(ours=1.0))
    assert Small.from_json(found.to_json()).made_with == found.made_with
    assert found.made_with.python


def test_a_table_has_columns_for_the_paper_and_the_truth_only_where_there_are_any():
    assert Small(number=Number(ours=0.5)).tables()[0].text == (["what", "ours"], [["it", "0.500"]])
    full = Small(number=Number(ours=0.5, paper=0.52, truth=0.6)).tables()[0].text
    assert full == (["what", "ours", "paper", "truth"], [["it", "0.500", "0.52", "0.600"]])
    words = Small(number=Number(ours=None, claim="high")).tables()[0].text
    assert words == (["what", "ours", "paper"], [["it", "-", "high"]])


def test_a_compact_table_has_the_papers_in_brackets():
    rows = [["it", Number(ours=0.5, paper=0.52, spread=0.01)], ["that", Number(ours=0.002, spread=0.001, paper=0.003)]]
    table = Table(header=["what", "ours"], rows=rows, compact=True)
    assert table.text[1] == [["it", "0.500 ± 0.010 (0.52)"], ["that", "2.00e-03 ± 1.00e-03 (0.003)"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (20.0, "20"), (0.0, "0"), (0.12345, "0.123"), (-0.0012, "-1.20e-03"), (1234.5, "1234.500")],
)
def test_numbers_as_text(value, text):
    assert as_text(value) == text


def test_arithmetic_with_what_is_missing():
    assert (difference(3, 1), difference(None, 1), difference(1, None)) == (2, None, None)
    assert (ratio(3, 2), ratio(None, 2), ratio(3, None), ratio(3, 0)) == (1.5, None, None, None)
