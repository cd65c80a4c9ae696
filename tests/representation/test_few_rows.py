"""What is said, and refused, where there are few rows."""

import warnings

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid import Representation, evaluate
from unbraid.metrics import dcimig
from unbraid.representation.warnings import representation_notes

RNG = np.random.default_rng(0)


def notes_of(n_rows, *, n_codes=3, n_bins=20, n_unlabelled=0, discrete=False):
    factors = RNG.standard_normal((n_rows, 2))
    factors[:n_unlabelled, 1] = np.nan
    columns = np.arange(n_rows)[:, None] // [1, 2] % 2 if discrete else factors
    rep = Representation(RNG.standard_normal((n_rows, n_codes)), columns)
    return " ".join(representation_notes(rep, n_bins=n_bins))


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ({"n_rows": 60}, "Few rows (60): scores are noisy"),
        ({"n_rows": 199}, "Give at least 200: ten for each code and each bin"),
        ({"n_rows": 290, "n_codes": 30}, "Give at least 300"),
        ({"n_rows": 290, "n_codes": 30, "discrete": True}, "Few rows (290)"),
        ({"n_rows": 49, "discrete": True}, "Only 49 rows: scores, intervals and findings mean little here."),
        ({"n_rows": 300, "n_unlabelled": 240}, "Few rows (60 with a label for factor_1)"),
        ({"n_rows": 290, "n_bins": 30}, "Give at least 300"),
        ({"n_rows": 99, "discrete": True}, "Few rows (99)"),
    ],
)
def test_few_rows_for_the_codes_or_bins_are_told(world, words):
    assert words in notes_of(**world)


@pytest.mark.parametrize(
    "world",
    [{"n_rows": 200}, {"n_rows": 100, "discrete": True}, {"n_rows": 100, "n_bins": 6}, {"n_rows": 300, "n_codes": 30}],
)
def test_enough_rows_are_not(world):
    notes = notes_of(**world)
    assert "Few rows" not in notes
    assert "Only" not in notes


def test_few_rows_are_told_without_factors_too():
    assert "Only 20 rows" in " ".join(representation_notes(Representation(RNG.standard_normal((20, 2)))))


def test_the_note_is_in_print_shell_and_page(tmp_path, capsys):
    codes = RNG.standard_normal((60, 3))
    np.savez(tmp_path / "codes.npz", codes=codes, factors=codes)
    page = tmp_path / "page.html"
    _, _, err = run_cli(capsys, "score", tmp_path / "codes.npz", "--metrics", "mig", "--report", page)
    for text in (err, page.read_text(encoding="utf-8"), str(evaluate(codes, codes, metrics="mig"))):
        assert "Few rows (60)" in text


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [10, 12, 20])
def test_few_rows_are_scored_without_warnings(n_rows):
    factors = np.arange(n_rows)[:, None] // [1, 2, 5] % 2
    codes = factors + 0.1 * RNG.standard_normal(factors.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = evaluate(codes, factors, metrics=["mig", "dcimig", "dci_forest"], n_jobs=1)
    assert not report.failures
    assert not any("Warning" in note for score in report.values() for note in score.notes)


def test_dcimig_of_a_factor_that_rows_leave_one_value_is_nought():
    factors = np.array([[0, 0], [0, 1], [0, 0], [0, 1], [1, 0]])
    rep = Representation(factors + 0.0, factors)
    score = dcimig(rep.take(np.arange(4)))
    np.testing.assert_array_equal(score.per_factor, [0, 1])
    assert float(dcimig(rep.take(np.array([0, 2, 0, 2])))) == 0


def test_a_handful_of_rows_is_no_panel():
    codes = RNG.standard_normal((9, 3))
    with pytest.raises(ValueError, match=r"at least 10 rows to be evaluated, got 9: .* give hundreds\.$"):
        evaluate(codes, codes)
