"""What is asked of codes, where the answer is known."""

import numpy as np
import pytest

from helpers.worlds import full_grid
from unbraid import Representation
from unbraid.data import sprites_mini, sprites_scream, sprites_square
from unbraid.downstream import TASKS, Pictures, Target, build_target, check_task, pictures_of, tasks_for


def noise(*shape):
    return np.random.default_rng(0).normal(size=shape)


def on_grid(*sizes, names, kinds=None):
    factors = full_grid(*sizes)
    return Representation(noise(len(factors), 2), factors, names=names, kinds=kinds)


def test_polar_from_the_corner():
    rep = on_grid(5, 5, names=("x", "y"))
    radius, angle = build_target("position_polar", rep).parts
    x, y = full_grid(5, 5).T / 4
    np.testing.assert_allclose(radius.numbers, np.sqrt(x**2 + y**2))
    assert np.isnan(angle.numbers[0])  # the corner itself lies in no direction
    np.testing.assert_allclose(np.tan(angle.numbers[x > 0]), (y / np.where(x > 0, x, 1))[x > 0])
    assert np.nanmin(angle.numbers) == 0
    assert np.nanmax(angle.numbers) == pytest.approx(np.pi / 2)
    assert angle.kind == "continuous"


def test_polar_about_the_middle_closes_a_circle():
    rep = on_grid(6, 6, names=("pos_x", "pos_y"))
    radius, angle = build_target("position_polar_centre", rep).parts
    assert radius.numbers.max() == pytest.approx(np.sqrt(2))
    assert angle.kind == "circular"
    assert angle.period == pytest.approx(2 * np.pi)
    assert np.ptp(angle.numbers) > 5


def test_cartesian_are_the_factors_themselves():
    rep = on_grid(3, 4, 5, names=("shape", "x", "y"))
    assert build_target("position_cartesian", rep).parts == rep.factors[1:]


def test_values_as_classes():
    rep = on_grid(3, 6, 8, names=("shape", "x", "turn"), kinds=("categorical", "ordinal", "circular:8"))
    shape, x, turn = build_target("factors_as_classes", rep).parts
    assert shape is rep.factors[0]
    assert [str(part.kind) for part in (x, turn)] == ["categorical"] * 2
    np.testing.assert_array_equal(x.numbers, full_grid(3, 6, 8)[:, 1])


def test_a_number_of_many_values_is_no_class():
    rep = Representation(noise(500, 2), {"v": noise(500)})
    with pytest.raises(ValueError, match="factor 'v' takes too many values to be classes; ask for it as a number"):
        build_target("factors_as_classes", rep)


def test_pictures_of_squares():
    data = sprites_square(sprites_mini())
    rows = np.array([7, 7, 300])
    pictures = pictures_of(data, rows)
    np.testing.assert_array_equal(pictures.squares, data.squares(rows))
    np.testing.assert_array_equal(pictures.masks, data.base.masks(rows) == 1)
    rep = Representation(noise(4, 2))
    target = build_target("square", rep, Pictures(squares=np.array([[0, 2, 4], [1, 1, 2], [6, 0, 8], [3, 3, 3]])))
    assert [part.name for part in target.parts] == ["square_x", "square_y"]
    np.testing.assert_allclose(target.parts[0].numbers, [2, 2, 10, 4.5])
    np.testing.assert_allclose(target.parts[1].numbers, [4, 2, 4, 4.5])


def test_masks_are_of_the_sprite_beneath():
    base = sprites_mini()
    rows = np.arange(0, 4608, 500)
    np.testing.assert_array_equal(pictures_of(sprites_scream(base), rows).masks, base.masks(rows) == 1)
    assert pictures_of(base, rows).squares is None


class Grey:
    observation_shape = (1, 2, 2)

    def observations(self, index):
        return np.full((len(index), 1, 2, 2), 0.5)


class Colourful(Grey):
    observation_shape = (3, 2, 2)


def test_pictures_that_are_not_black_and_white_have_no_mask():
    assert pictures_of(Grey(), [0, 1]).masks is None
    assert pictures_of(Colourful(), [0, 1]).masks is None


def test_tasks_by_what_there_is():
    assert tasks_for(()) == ()
    assert tasks_for(("shape",)) == ("factors", "factors_as_classes", "factor:shape")
    everything = tasks_for(("x", "y"), pictures_of(sprites_square(sprites_mini()), [0]))
    assert everything == (*TASKS, "factor:x", "factor:y")
    assert "square" in tasks_for(("square_x", "square_y"))


@pytest.mark.parametrize("name", TASKS)
def test_rows_say_what_is_built(name):
    data = sprites_square(sprites_mini())
    rows = np.arange(0, 4608, 7)
    factors = data.factors(rows)
    rep = Representation(factors + 0.0, factors, names=data.factor_names, kinds=data.factor_kinds)
    target = build_target(name, rep, pictures_of(data, rows))
    assert target.name == name == check_task(name).name
    built = ("mask",) if target.masks is not None else tuple(part.name for part in target.parts)
    assert built == (TASKS[name].parts or data.factor_names)
    assert TASKS[name].description.endswith(".")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("segmentatoin", "task must be one of factors, .*, got 'segmentatoin'; did you mean 'segmentation'"),
        ("factor:shap", "task 'factor:shap' must name one of the factors shape, size; did you mean 'shape'"),
        ("shape", "did you mean 'factor:shape'"),
        ("factor:", "task must be one of"),
        ("position_polar", "position needs the factors x and y, or pos_x and pos_y, .*; got shape, size"),
        ("square", "square needs pictures with squares, or the factors square_x and square_y"),
        ("segmentation", "segmentation needs pictures with masks, got none; see unbraid.downstream.pictures_of"),
    ],
)
def test_what_cannot_be_asked(name, sentence):
    rep = on_grid(3, 4, names=("shape", "size"))
    with pytest.raises(ValueError, match=sentence):
        build_target(name, rep)


def test_bad_input():
    rep = on_grid(3, 4, names=("shape", "size"))
    with pytest.raises(ValueError, match="'segmentation' must have one entry for each of the 12 rows of codes, got 3"):
        build_target("segmentation", rep, Pictures(masks=np.zeros((3, 2, 2), dtype=bool)))
    with pytest.raises(ValueError, match=r"masks must have shape \(n, height, width\), got \(12, 2\)"):
        build_target("segmentation", rep, Pictures(masks=np.zeros((12, 2), dtype=bool)))
    with pytest.raises(ValueError, match="rep must have at least one factor to predict"):
        build_target("factors", Representation(rep.codes))
    with pytest.raises(ValueError, match="factor 'x' must be a number to be a position, got kind categorical"):
        build_target("position_polar", on_grid(2, 5, names=("x", "y")))
    with pytest.raises(ValueError, match="'nothing' must have parts to predict, or masks"):
        Target(name="nothing")
    with pytest.raises(TypeError, match="task must be a name, got 3"):
        check_task(3)
