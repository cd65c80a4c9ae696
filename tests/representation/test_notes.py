"""What a reader is told about the data: kinds that were inferred, angles nobody declared, arrays that look swapped."""

import numpy as np
import pytest

from helpers.small import run_cli, save_npz, small_world
from unbraid import Representation, evaluate, make_factor
from unbraid.representation.factor import angle_kind
from unbraid.representation.warnings import representation_notes

RNG = np.random.default_rng(0)
DEGREES = RNG.uniform(0, 360, 1000)


def notes_of(values, *, name="f", kind=None):
    """The notes on one factor of 1000 rows, joined."""
    rep = Representation(RNG.standard_normal((1000, 2)), [make_factor(values, name=name, kind=kind)])
    return " ".join(representation_notes(rep))


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("f", DEGREES, "circular:360"),
        ("f", DEGREES - 180, "circular:360"),
        ("f", np.round(DEGREES), "circular:360"),
        ("f", np.deg2rad(DEGREES), "circular"),
        ("f", np.deg2rad(DEGREES) - np.pi, "circular"),
        ("f", DEGREES + 90, None),
        ("f", DEGREES / 2, None),
        ("f", DEGREES / 360, None),
        ("f", np.arange(1000) % 7, None),
        ("f", np.clip(RNG.standard_normal(1000), -3.1, 3.1), None),
        ("wall_hue", np.arange(1000) % 10 / 10, "circular:1"),
        ("Azimuth", DEGREES / 2, "circular:360"),
        ("yaw", DEGREES / 360, "circular"),
        ("triangle", DEGREES / 2, None),
    ],
)
def test_an_angle_is_suspected_by_its_name_or_where_it_fills_a_turn(name, values, kind):
    assert angle_kind(name, np.asarray(values, dtype=float), repeats=len(np.unique(values)) < 500) == kind


def test_an_angle_that_nobody_declared_is_told_with_the_cure():
    notes = notes_of(DEGREES, name="azimuth")
    assert "azimuth continuous." in notes
    assert "--kinds azimuth=circular:360 (in Python, kinds={'azimuth': 'circular:360'})" in notes


@pytest.mark.parametrize("kind", ["circular:360", "continuous"])
def test_an_angle_that_was_declared_anything_is_left_alone(kind):
    assert "Angles" not in notes_of(DEGREES, name="azimuth", kind=kind)


def test_nothing_is_said_of_angles_where_there_are_none():
    assert "Angles" not in notes_of(RNG.standard_normal(1000), name="size")


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (DEGREES, "circular:360", "f circular (period 360)."),
        (np.deg2rad(DEGREES), "circular", "f circular (period 2π)."),
        (np.arange(1000) % 8, "circular", "f circular (period 8)."),
        (DEGREES, None, "f continuous."),
    ],
)
def test_the_period_of_an_angle_is_told(values, kind, words):
    assert words in notes_of(values, kind=kind)


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (DEGREES, "circular:6.283185307", "f (57 of 2π)?"),
        (np.deg2rad(DEGREES), "circular:360", "f (0.017 of 360)?"),
        (DEGREES / 360, "circular", "f (0.16 of 2π)?"),
    ],
)
def test_a_period_that_does_not_suit_the_values_is_asked_about(values, kind, words):
    assert "is it the right one: " + words in notes_of(values, kind=kind)


@pytest.mark.parametrize(("values", "kind"), [(DEGREES, "circular:360"), (DEGREES / 3, "circular:360")])
def test_a_period_that_may_suit_the_values_is_not(values, kind):
    assert "right one" not in notes_of(values, kind=kind)


def test_whole_numbers_that_were_read_as_ordered_are_told():
    notes = notes_of(np.arange(1000) % 5, name="digit")
    assert "Whole numbers were read as ordered: digit." in notes
    assert "--kinds digit=categorical (in Python, kinds={'digit': 'categorical'})" in notes


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(1000) % 5, "ordinal"),
        (np.arange(1000) % 5, "categorical"),
        (np.arange(1000) % 5 / 4, None),
        (np.arange(1000) % 2, None),
        (np.array(["a", "b", "c", "d"])[np.arange(1000) % 4], None),
        (np.arange(1000) * 7, None),
    ],
)
def test_numbers_that_were_declared_or_not_read_as_ordered_are_not(values, kind):
    assert "ordered" not in notes_of(values, kind=kind)


def test_rows_that_leave_one_value_or_none_do_not_stop_the_notes():
    columns = {"angle": np.arange(1000) % 8.0, "turn": np.arange(1000) % 8.0}
    columns["turn"][:10] = columns["angle"][:10] = np.nan
    rep = Representation(RNG.standard_normal((1000, 2)), columns, kinds={"turn": "circular"})
    assert "Factors were read as" in " ".join(representation_notes(rep.take(np.arange(10))))
    assert "Factors were read as" in " ".join(representation_notes(rep.take(np.arange(16, 900, 8))))


def test_swapped_codes_and_factors_are_asked_about():
    codes, factors = small_world()
    assert "swapped?" in evaluate(factors, codes, metrics="r2", nulls=False, intervals=False).notes[0]


@pytest.mark.parametrize("swap", ["right way round", "one code continuous", "one factor discrete", "declared"])
def test_nothing_is_asked_where_it_is_not_clear(swap):
    codes, factors = small_world()
    pairs = {
        "right way round": Representation(codes, factors),
        "one code continuous": Representation(np.column_stack([factors, codes[:, 0]]), codes),
        "one factor discrete": Representation(factors, np.column_stack([codes, factors[:, 0]])),
        "declared": Representation(factors, codes, kinds=["continuous"] * 3),
    }
    assert "swapped" not in " ".join(representation_notes(pairs[swap]))


def test_print_shows_the_notes_that_the_shell_shows(tmp_path, capsys):
    codes, factors = small_world()
    codes[:, 0] = 1.0
    path = save_npz(tmp_path, codes)
    _, _, err = run_cli(capsys, "score", path, "--metrics", "mig")
    report = evaluate(codes, factors, names=["shape", "size", "angle"], metrics="mig")
    assert "codes are constant" in err
    assert str(report).endswith("\n\n" + err.rstrip("\n"))
