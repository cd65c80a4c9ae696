"""A few inputs of every format, always the same ones; and a harness that notices what it should."""

import json
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import strategies as st

from fuzz.__main__ import fuzz
from fuzz.__main__ import main as run_harness
from fuzz.contract import ContractError, Format, Input, run
from fuzz.formats import FORMATS
from fuzz.tables import RESULT

N_INPUTS = 12


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_inputs_keep_the_contract(name, tmp_path):
    tally = fuzz(FORMATS[name], n_inputs=N_INPUTS, place=tmp_path / "input")
    assert tally.violations == []
    assert tally.outcomes.total() == N_INPUTS


@pytest.mark.slow
def test_the_harness_prints_a_table_and_runs_real_commands(tmp_path, capsys):
    assert run_harness(["--inputs", "2", "--real", "1", "--format", "npz", "--seed", "3"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["format", "inputs", "accepted", "refused", "violations", "seconds"]
    assert row.split()[:2] == ["npz", "2"]


def leave_a_file(one, folder):
    (folder / "left.tmp").write_text("x")


def refuse_and_leave_a_file(one, folder):
    (folder / "result.json").write_text("{}")
    raise ValueError("It is refused.")


def change_the_input(one, folder):
    (folder / "a.txt").write_text("y")


def raise_an_odd_error(one, folder):
    raise KeyError("x")


def refuse_without_a_sentence(one, folder):
    raise ValueError("'utf-8' codec can't decode byte 0x93")


def warn(one, folder):
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


def print_and_refuse(one, folder):
    print("half a table")
    raise ValueError("It is refused.")


def print_an_escape(one, folder):
    print("\x1b[31m")


def end_with_another_code(one, folder):
    sys.exit(3)


BROKEN = {
    leave_a_file: "left ",
    refuse_and_leave_a_file: "refused the input and wrote",
    change_the_input: "changed its input",
    raise_an_odd_error: "raised KeyError",
    refuse_without_a_sentence: "did not end with a sentence",
    warn: "warned, .*overflow",
    print_and_refuse: "printed results and refused",
    print_an_escape: "printed control characters",
    end_with_another_code: "ended with exit code 3",
}


@pytest.mark.parametrize("call", BROKEN, ids=lambda call: call.__name__)
def test_what_breaks_the_contract_is_noticed(call, tmp_path):
    one = Input(files={"a.txt": b"x"}, command=(), outputs=("result.json",))
    with pytest.raises(ContractError, match=BROKEN[call]):
        run(one, Format(name="broken", inputs=st.just(one), call=call), tmp_path / "input")


def test_another_number_than_that_of_the_arrays_is_noticed(tmp_path, monkeypatch):
    """The result is changed behind the back of the command."""
    from fuzz import tables

    kind = FORMATS["csv"]
    columns = {"code_a": [1.0, 2.0, 3.0] * 8, "code_b": [0.5, 0.1] * 12, "factor_a": [0, 1, 2] * 8}
    how = tables.Dialect(
        separator=",", decimal=".", line_end="\n", start="", quote_all=False, row_numbers=False, trailing=False
    )
    arrays = tables.Arrays(
        codes=tables.pd.DataFrame({name: columns[name] for name in ("code_a", "code_b")}),
        factors={"a": columns["factor_a"]},
    )
    one = tables.scored("table.csv", {"table.csv": tables.csv_bytes(columns, how)}, arrays)
    outcome = run(one, kind, tmp_path / "input")
    assert outcome.code == 0
    path = tmp_path / "input" / RESULT
    wrong = json.loads(path.read_text())
    wrong["scores"]["mig"]["value"] += 1e-12
    path.write_text(json.dumps(wrong))
    with pytest.raises(ContractError, match="value of the file is"):
        kind.check(one, outcome, Path(tmp_path / "input"))
