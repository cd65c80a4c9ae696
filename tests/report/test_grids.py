from dataclasses import replace

import numpy as np
import pytest

from helpers.reports import importances, information, record
from unbraid import Score
from unbraid.evidence.association import CodeCovariance
from unbraid.report.grids import (
    MAX_CELLS,
    MAX_CODES,
    MAX_FACTORS,
    code_code_map,
    code_factor_maps,
    code_grid,
    factor_grid,
    main_column_order,
    make_cell,
    strongest_rows,
)
from unbraid.results.finding import Finding, FindingKind

MATRIX = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])


def with_information(matrix):
    return {"scores": {"mig": Score(value=0.5)}, "evidence": (record(information(matrix), "mig"),)}


def test_information_map_and_its_column_shares(make_report):
    nats, share = code_factor_maps(make_report(**with_information(MATRIX)))
    assert nats.columns == ("shape", "size")
    assert [[cell.text for cell in row.cells] for row in nats.rows] == [
        ["0.00", "2.00"],
        ["1.00", "0.00"],
        ["0.00"] * 2,
    ]
    assert [[cell.shade for cell in row.cells] for row in nats.rows] == [[0, 100], [50, 0], [0, 0]]
    assert [[cell.text for cell in row.cells] for row in share.rows] == [
        ["0.00", "1.00"],
        ["1.00", "0.00"],
        ["0.00"] * 2,
    ]


def test_a_factor_nobody_knows_has_no_share(make_report):
    _, share = code_factor_maps(make_report(**with_information(np.zeros((3, 2)))))
    assert {cell.text for row in share.rows for cell in row.cells} == {"0.00"}


def test_one_importance_map_for_each_probe(make_report):
    names = [[f"dci_{probe}.{part}" for part in ("completeness", "informativeness")] for probe in ("forest", "linear")]
    report = make_report(evidence=tuple(record(importances(MATRIX), *scores) for scores in names))
    assert [grid.title for grid in code_factor_maps(report)] == [
        "Importance, forest",
        "Importance, linear",
    ]


def test_rows_can_be_ordered_by_main_factor(make_report):
    nats, _ = code_factor_maps(make_report(**with_information(MATRIX)))
    assert [row.name for row in sorted(nats.rows, key=lambda row: row.rank)] == ["z1", "z2", "z0"]
    assert main_column_order(MATRIX).tolist() == [1, 2, 0]


def test_dead_codes_are_marked(make_report):
    nats, _ = code_factor_maps(make_report(**with_information(MATRIX), dead_codes=["z2"]))
    assert [row.remark for row in nats.rows] == ["", "", "never changes"]


def test_many_codes_are_cut_to_the_strongest_and_it_is_said(make_report):
    matrix = np.arange(2000.0).reshape(1000, 2)
    codes = tuple(f"z{j}" for j in range(1000))
    grid = code_factor_maps(make_report(**with_information(matrix), codes=codes))[0]
    assert [row.name for row in grid.rows] == list(codes[-MAX_CODES:])
    assert grid.left_out == f"Shown: the {MAX_CODES} of 1,000 codes with the largest entry."


def test_many_codes_and_factors_stay_within_the_cells_allowed(make_report):
    names = tuple(f"f{k}" for k in range(100))
    report = make_report(
        **with_information(np.ones((200, 100))), codes=tuple(f"z{j}" for j in range(200)), factors=names
    )
    grid = code_factor_maps(report)[0]
    assert len(grid.columns) == MAX_FACTORS
    assert len(grid.rows) * len(grid.columns) <= MAX_CELLS
    assert "of 100 factors" in grid.left_out


def test_correlation_between_codes_names_the_codes_that_change(make_report):
    covariance = CodeCovariance(matrix=np.array([[4.0, -1.0], [-1.0, 1.0]]), active=np.array([True, False, True]))
    grid = code_code_map(make_report(evidence=(record(covariance, "total_correlation"),), dead_codes=["z1"]))
    assert grid is not None
    assert grid.columns == ("z0", "z2")
    assert grid.rows[0].cells[1].is_negative
    assert grid.rows[0].cells[1].shade == 50


def test_no_maps_without_evidence(make_report):
    report = make_report({"mig": Score(value=0.5)})
    assert code_factor_maps(report) == []
    assert (code_code_map(report), factor_grid(report), code_grid(report)) == (None, None, None)


def test_codes_without_a_factor_are_marked(make_report):
    empty = Finding(kind=FindingKind.EMPTY, sentence="It is.", codes=("z1",))
    score = Score(value=0.5, per_code=np.array([0.9, 1.0, np.nan]))
    report = replace(make_report({"irs": score}, dead_codes=["z2"]), findings=(empty,))
    assert [row.remark for row in code_grid(report).rows] == ["", "encodes no factor", "never changes"]


def test_rows_and_columns_where_lower_is_better_say_so(make_report):
    overlap = Score(value=0.0, per_factor=np.zeros(2))
    between = Score(value=0.1, per_code=np.zeros(3))
    report = make_report({"orthogonality": overlap, "mig": Score(value=1.0, per_factor=np.ones(2))})
    assert [row.remark for row in factor_grid(report).rows] == ["lower is better", ""]
    (column,) = code_grid(make_report({"code_mutual_information": between})).columns
    assert column.endswith("(lower is better)")


def test_factor_by_factor(make_report):
    grid = factor_grid(make_report({"mig": Score(value=0.5, per_factor=np.array([0.25, np.nan]))}))
    assert grid is not None
    assert [(cell.text, cell.shade) for cell in grid.rows[0].cells] == [("0.25", 25), ("\u2013", None)]


def test_code_by_code_shades_only_what_runs_from_0_to_1(make_report):
    scores = {
        "modularity": Score(value=0.5, per_code=np.array([1.0, 0.5, np.nan])),
        "dcimig": Score(value=0.5, per_code=np.array([2.5, 0.5, 0.0])),
        "code_mutual_information": Score(value=0.5, per_code=np.array([0.1, 0.2, 0.3])),
    }
    grid = code_grid(make_report(scores))
    assert grid is not None
    assert [[cell.shade for cell in row.cells] for row in grid.rows] == [
        [100, None, None],
        [50, None, None],
        [None] * 3,
    ]


def test_cells():
    assert make_cell(0.5, 0.0).shade == 0
    assert make_cell(float("nan"), 1.0).text == "\u2013"
    assert make_cell(0.123456789, 1.0).exact == "0.123457"
    assert (make_cell(0.9, 1.0).style, make_cell(-0.1, 1.0).style, make_cell(9.0, None).style) == (
        "heat dark",
        "heat neg",
        "",
    )


@pytest.mark.parametrize(("most", "expected"), [(1, [1]), (2, [1, 2]), (5, [0, 1, 2])])
def test_strongest_rows_keep_their_order(most, expected):
    assert strongest_rows(np.array([[1.0], [-3.0], [2.0]]), most).tolist() == expected
