import json
import sys

import numpy as np
import pytest

from idx import random_digits, write_part
from small import run_cli
from unbraid.reproduce import PAPER_LINES, dependent_mnist

TINY = ("--quick", "--steps", 60)


@pytest.fixture(scope="module")
def result():
    return dependent_mnist(quick=True, n_steps=60)


def test_published_numbers_are_those_of_the_paper():
    # Tables 6, 7 and 8 of arXiv:2408.07016, then the errors and accuracies in the text of section 6.
    published = {line.label: line.published for line in PAPER_LINES if line.published is not None}
    assert list(published.values()) == [
        *(1.0, 0.7117, 0.9314, 0.9565),
        *(0.4819, 0.7972, 0.5728, 0.9971),
        *(0.9892, 0.9914, 0.9953),
        *(1.25e-3, 7.50e-4, 7.04e-4, 0.9925, 1.0, 1.0),
    ]


def test_every_line_is_measured_on_digits_held_out(result):
    assert [line.line for line in result.results] == list(PAPER_LINES)
    assert all(0 <= value <= 1 for line in result.results for value in line.ours)
    assert (result.n_learned, result.n_judged) == (577, 143)
    assert result.options.n_codes == 16


def test_colours_are_soon_learned(result):
    assert result["accuracy.background_colour"].mean > 0.95
    assert result["error.background_colour"].mean < 0.02 < result["error.digit"].mean
    assert result["generated.background_colour"].mean > 0.95


def test_notes_say_what_differs(result):
    assert [note.partition(" ")[0] for note in result.notes] == ["These", "Learned", "The"]
    assert "Learned from 577 digits and judged on 143 others" in result.notes[1]
    assert "a weight of 100" in result.notes[2]


def test_the_command_prints_the_tables_and_writes_picture_and_json(tmp_path, capsys, monkeypatch, result):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli(capsys, "reproduce", "dependent-mnist", *TINY, "--json", "out.json")
    assert code == 0
    header, *rows = out.splitlines()
    assert header.split() == ["where", "paper's", "name", "metric", "ours", "paper", "settings"]
    assert all(any(line.name in row and line.label in row for row in rows) for line in PAPER_LINES)
    assert "wrote dependent-mnist.svg" in err
    assert (tmp_path / "dependent-mnist.svg").read_text() == result.picture  # the same seed draws the same picture
    scores = json.loads((tmp_path / "out.json").read_text())["scores"]
    assert scores == result.to_dict()["scores"]
    assert scores["mig"]["paper"] == 0.4819
    assert scores["mig"]["spread"] is None


def test_a_folder_with_both_parts_holds_out_the_second(tmp_path):
    rng = np.random.default_rng(0)
    for part, n_samples in (("train", 200), ("t10k", 100)):
        write_part(tmp_path, part, *random_digits(n_samples, seed=int(rng.integers(99))), compress=True)
    found = dependent_mnist(tmp_path, quick=True, n_steps=1)
    assert (found.n_learned, found.n_judged) == (80, 40)
    assert not found.bundled
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "nowhere"), "data must be a folder, got 'nowhere'; it should hold t10k-images-idx3-ubyte and"),
        (("--data", "."), "data folder '.' has no digits; it must hold train-images-idx3-ubyte and"),
        (("--data", "odd"), "pictures must have sides that are multiples of 4, got 9 by 9."),
        (("--data", "few"), "digits must have pictures of 0 to 3, got none of"),
        (("--seeds", "0"), "n_seeds must be at least 1, got 0."),
        (("--steps", "0"), "n_steps must be at least 1, got 0."),
        (("--beta", "-1"), "beta must be at least 0, got -1.0."),
        (("--device", "tpu"), 'Invalid value "tpu" for --device.'),
        (("--picture", "nowhere/a.svg"), "picture 'nowhere/a.svg' cannot be written"),
        (("--json", "nowhere/a.json"), "json 'nowhere/a.json' cannot be written"),
    ],
)
def test_bad_arguments_exit_2_and_write_nothing(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name, digits in (("odd", random_digits(200, side=9)), ("few", random_digits(4))):
        (tmp_path / name).mkdir()
        write_part(tmp_path / name, "train", *digits)
    code, out, err = run_cli(capsys, "reproduce", "dependent-mnist", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few", "odd"]


def test_says_how_to_get_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = run_cli(capsys, "reproduce", "dependent-mnist")
    assert (code, out) == (2, "")
    assert err == (
        "unbraid: dependent-mnist, which trains a network, needs torch, which is not installed; "
        "run pip install 'unbraid[torch]'.\n"
    )
