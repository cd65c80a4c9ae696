"""Data sets with known factors."""

from unbraid.data.catalogue import DATASETS, DatasetEntry, load_dataset
from unbraid.data.coloured import ColouredDigits, coloured_digits
from unbraid.data.dataset import FactorDataset, FactorGrid, FactorJoint, factor_joint, sample_rows
from unbraid.data.mnist import Digits, bundled_digits, mnist_digits, read_idx
from unbraid.data.orthogonal import OrthogonalScheme, orthogonal_scheme
from unbraid.data.procedural import (
    PaintedSprites,
    Sprites,
    SquaredSprites,
    sprites,
    sprites_colour,
    sprites_mini,
    sprites_noisy,
    sprites_scream,
    sprites_square,
)
from unbraid.data.rotated import RotatedDigits, rotated_digits
from unbraid.data.synthetic import CosineScenario, cosine_dependence, example, mpi3d_labels
from unbraid.data.tables import DatasetRows, FactorTable, applicants

__all__ = [
    "DATASETS",
    "ColouredDigits",
    "CosineScenario",
    "DatasetEntry",
    "DatasetRows",
    "Digits",
    "FactorDataset",
    "FactorGrid",
    "FactorJoint",
    "FactorTable",
    "OrthogonalScheme",
    "PaintedSprites",
    "RotatedDigits",
    "Sprites",
    "SquaredSprites",
    "applicants",
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
    "rotated_digits",
    "sample_rows",
    "sprites",
    "sprites_colour",
    "sprites_mini",
    "sprites_noisy",
    "sprites_scream",
    "sprites_square",
]
