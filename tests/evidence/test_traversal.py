import numpy as np
import pytest

from helpers.worlds import random_rotation
from unbraid.evidence.subspaces.options import Subspace, Subspaces
from unbraid.evidence.subspaces.traversal import traverse, traverse_factors

RNG = np.random.default_rng(0)
MIXING = random_rotation(4, RNG)
CODES = RNG.standard_normal((500, 4)) * [1, 2, 3, 4] @ MIXING.T
CODE = CODES[0]


def read_factors(codes: np.ndarray) -> np.ndarray:
    """A linear decoder whose outputs are the codes before mixing."""
    return codes @ MIXING


def found(*bases: np.ndarray) -> Subspaces:
    losses = [np.linspace(1, 0, basis.shape[1] + 1) for basis in bases]
    return Subspaces(
        subspaces=tuple(Subspace(basis=b, losses=curve) for b, curve in zip(bases, losses, strict=True)),
        bases=bases,
        weights=tuple(np.full(basis.shape[1], 1 / basis.shape[1]) for basis in bases),
        n_codes=4,
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_factor_moves_and_the_others_stay(axis):
    outputs = traverse(read_factors, CODE, MIXING[:, :3], axis=axis, n_steps=5)
    expected = np.tile(read_factors(CODE), (5, 1))
    expected[:, axis] += [-2, -1, 0, 1, 2]
    np.testing.assert_allclose(outputs, expected, atol=1e-12)


def test_the_middle_step_is_the_code_itself():
    np.testing.assert_array_equal(traverse(lambda codes: codes, CODE, MIXING)[4], CODE)


def test_units_are_the_spread_of_the_codes_along_the_axis():
    for axis, deviation in enumerate((CODES @ MIXING).std(axis=0)):
        outputs = traverse(read_factors, CODE, MIXING, axis=axis, codes=CODES, reach=3.0, n_steps=3)
        np.testing.assert_allclose(outputs[:, axis] - outputs[1, axis], [-3 * deviation, 0, 3 * deviation])


def test_each_factor_gets_a_row_along_its_first_axis():
    subspaces = found(MIXING[:, [2, 0]], MIXING[:, [1]])
    outputs = traverse_factors(read_factors, CODE, subspaces, codes=CODES, n_steps=7)
    assert outputs.shape == (2, 7, 4)
    for row, basis in zip(outputs, subspaces.bases, strict=True):
        np.testing.assert_allclose(row, traverse(read_factors, CODE, basis, codes=CODES, n_steps=7))


def test_outputs_may_have_any_shape():
    def images(codes):
        return np.multiply.outer(codes[:, 0], np.ones((3, 8, 8)))

    assert traverse_factors(images, CODE, found(MIXING[:, [0]], MIXING[:, [1]])).shape == (2, 9, 3, 8, 8)
    assert traverse(lambda codes: codes.sum(axis=1), CODE, MIXING).shape == (9,)


def test_the_input_is_left_alone():
    code, basis = CODE.copy(), MIXING.copy()
    code.setflags(write=False)
    basis.setflags(write=False)
    assert traverse(read_factors, code, basis, n_steps=2).shape == (2, 4)


def test_a_torch_decoder_goes_in_as_a_callable():
    import torch

    layer = torch.nn.Linear(4, 2, bias=False).double()
    outputs = traverse(lambda codes: layer(torch.as_tensor(codes)), CODE, MIXING, n_steps=3)
    assert isinstance(outputs, np.ndarray)
    weight = layer.weight.detach().numpy()
    np.testing.assert_allclose(outputs[2] - outputs[0], 4 * weight @ MIXING[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"code": CODES[:2]}, r"code must be one row of finite numbers, got shape \(2, 4\)"),
        ({"basis": np.eye(3)}, r"basis must have shape \(n_codes, n_axes\) with 4 codes, got \(3, 3\)"),
        ({"basis": CODE}, r"basis must have shape"),
        ({"axis": 4}, "axis must be one of the 4 columns of basis, counted from 0, got 4"),
        ({"axis": -1}, "axis must be one of"),
        ({"reach": -1.0}, "reach must be at least 0, got -1"),
        ({"n_steps": 1}, "n_steps must be at least 2, got 1"),
        ({"codes": CODES[:, :3]}, "codes must have as many columns as code has entries, got 3 and 4"),
        ({"decoder": lambda codes: codes[:1]}, "decoder must give one output for each code"),
        ({"decoder": lambda codes: 1.0}, r"decoder must give one output for each code, got shape \(\) for 9"),
    ],
)
def test_what_does_not_fit_is_named(changed, message):
    arguments = {"decoder": read_factors, "code": CODE, "basis": MIXING} | changed
    with pytest.raises(ValueError, match=message):
        traverse(**arguments)
