"""Where data with known factors comes from."""

from unbraid.data._coloured_digits import ColouredDigits, coloured_digits
from unbraid.data._cosine_dependence import CosineScenario, cosine_dependence
from unbraid.data._digits import Digits, bundled_digits, mnist_digits
from unbraid.data._example import example
from unbraid.data._idx import read_idx
from unbraid.data._mpi3d_labels import mpi3d_labels
from unbraid.data._orthogonal_scheme import OrthogonalScheme, orthogonal_scheme

__all__ = [
    "ColouredDigits",
    "CosineScenario",
    "Digits",
    "OrthogonalScheme",
    "bundled_digits",
    "coloured_digits",
    "cosine_dependence",
    "example",
    "mnist_digits",
    "mpi3d_labels",
    "orthogonal_scheme",
    "read_idx",
]
