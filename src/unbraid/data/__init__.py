"""Where data with known factors comes from."""

from unbraid.data._cosine_dependence import CosineScenario, cosine_dependence
from unbraid.data._example import example
from unbraid.data._mpi3d_labels import mpi3d_labels
from unbraid.data._orthogonal_scheme import OrthogonalScheme, orthogonal_scheme

__all__ = [
    "CosineScenario",
    "OrthogonalScheme",
    "cosine_dependence",
    "example",
    "mpi3d_labels",
    "orthogonal_scheme",
]
