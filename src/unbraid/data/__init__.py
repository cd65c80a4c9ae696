"""Where data with known factors comes from."""

from unbraid.data._coloured_digits import ColouredDigits, coloured_digits
from unbraid.data._digits import Digits, bundled_digits, mnist_digits
from unbraid.data._example import example
from unbraid.data._idx import read_idx
from unbraid.data._orthogonal_scheme import OrthogonalScheme, orthogonal_scheme

__all__ = [
    "ColouredDigits",
    "Digits",
    "OrthogonalScheme",
    "bundled_digits",
    "coloured_digits",
    "example",
    "mnist_digits",
    "orthogonal_scheme",
    "read_idx",
]
