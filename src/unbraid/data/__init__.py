"""Where data with known factors comes from."""

from unbraid.data._catalogue import DATASETS, DatasetEntry, load_dataset
from unbraid.data._coloured_digits import ColouredDigits, coloured_digits
from unbraid.data._cosine_dependence import CosineScenario, cosine_dependence
from unbraid.data._dataset import FactorDataset, FactorGrid, FactorJoint, factor_joint, sample_rows
from unbraid.data._digits import Digits, bundled_digits, mnist_digits
from unbraid.data._example import example
from unbraid.data._idx import read_idx
from unbraid.data._mpi3d_labels import mpi3d_labels
from unbraid.data._orthogonal_scheme import OrthogonalScheme, orthogonal_scheme
from unbraid.data._sprite_variants import (
    PaintedSprites,
    SquaredSprites,
    sprites_colour,
    sprites_noisy,
    sprites_scream,
    sprites_square,
)
from unbraid.data._sprites import Sprites, sprites, sprites_mini

__all__ = [
    "DATASETS",
    "ColouredDigits",
    "CosineScenario",
    "DatasetEntry",
    "Digits",
    "FactorDataset",
    "FactorGrid",
    "FactorJoint",
    "OrthogonalScheme",
    "PaintedSprites",
    "Sprites",
    "SquaredSprites",
    "bundled_digits",
    "coloured_digits",
    "cosine_dependence",
    "example",
    "factor_joint",
    "load_dataset",
    "mnist_digits",
    "mpi3d_labels",
    "orthogonal_scheme",
    "read_idx",
    "sample_rows",
    "sprites",
    "sprites_colour",
    "sprites_mini",
    "sprites_noisy",
    "sprites_scream",
    "sprites_square",
]
