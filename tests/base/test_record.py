"""Results as JSON, and the record of what they were computed with."""

import json
import time

import numpy as np
import pytest

import unbraid
from unbraid._base.record import JsonResult, as_json, finite, provenance, versions, write_json


class Result(JsonResult):
    def to_dict(self):
        return {"value": float("nan"), "names": ["größe"]}


def test_numbers_that_are_not_finite_become_null_or_the_text_asked_for():
    data = {"a": [1.5, float("inf"), np.float64("nan")], 2: (True, None, "x")}
    assert finite(data) == {"a": [1.5, None, None], "2": [True, None, "x"]}
    assert finite(data, infinite=str)["a"] == [1.5, "inf", "nan"]
    assert type(finite(np.float64(1.5))) is float


@pytest.mark.parametrize(
    "data",
    [{}, [], {"a": {}}, {"a": []}, {"a": [True, False]}, {"a": ["x", 'quo"te\n'], "b": {"c": [[1], []]}}, 3.5, None],
)
def test_json_reads_back_and_is_laid_out_as_the_standard_library_does(data):
    assert json.loads(as_json(data)) == data
    no_lists_of_numbers = as_json(data).replace("[1]", "[\n        1\n      ]")
    assert no_lists_of_numbers == json.dumps(data, indent=2)


def test_lists_of_numbers_stand_on_one_line():
    assert as_json({"a": [1, 2.5, None], "b": [[1, 2], [3, 4]]}).splitlines() == [
        "{",
        '  "a": [1, 2.5, null],',
        '  "b": [',
        "    [1, 2],",
        "    [3, 4]",
        "  ]",
        "}",
    ]


def test_a_result_returns_and_writes_the_same_json(tmp_path):
    text = Result().to_json(tmp_path / "result.json")
    assert json.loads(text) == {"value": None, "names": ["größe"]}
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == text + "\n"
    assert write_json({"a": float("-inf")}, infinite=str) == '{\n  "a": "-inf"\n}'


def test_provenance_has_the_seed_the_versions_and_the_seconds():
    record = provenance(seed=3, started=time.perf_counter() - 2.0)
    assert (record["seed"], record["unbraid"]) == (3, unbraid.__version__)
    assert versions().items() <= record.items()
    assert 2.0 <= record["seconds"] < 60.0
