"""Tables 2 to 5 and 7 of Measuring Orthogonality: correlations of scores with downstream tasks.

From arXiv:2407.03728 as machine-read text. Columns are DCI-D, DCI-C, MIG, IWO and IWR unless said otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.progress import Show
from unbraid.metrics import METRICS
from unbraid.reproduce.result import Number
from unbraid.reproduce.studies import EngineName, Scale, StudyCorrelation, StudyTables, run_scaled
from unbraid.study import StudyStatus, cell_correlations, mean_correlations, pivot
from unbraid.study.table import ModelTable

FAMILIES = {
    "Annealed VAE": "annealed_vae",
    "β-TCVAE": "beta_tcvae",
    "β-VAE": "beta_vae",
    "DIP-VAE-I": "dip_vae_i",
    "DIP-VAE-II": "dip_vae_ii",
    "Factor-VAE": "factor_vae",
}
#: At the scale ``gpu`` drawn sprites take the place of dSprites.
STAND_INS = {"sprites": "dsprites"}
DATASETS = {
    "Cars3D": "cars3d",
    "Color dSprites": "sprites_colour",
    "dSprites": "dsprites",
    "Scream dSprites": "sprites_scream",
    "Shapes3D": "shapes3d",
    "smallNORB": "smallnorb",
}
PREDICTORS = {"random forest": "forest", "logistic regression": "linear", "multi-layer perceptron": "mlp"}
SCORES = {
    "DCI-D": "dci_boosting.disentanglement",
    "DCI-C": "dci_boosting.completeness",
    "MIG": "mig",
    "IWO": "iwo",
    "IWR": "iwr",
    "O": "orthogonality",
}
#: Mean over data sets of the correlation over settings, by task and family.
TABLE_2A: dict[tuple[str, str], tuple[float, ...]] = {
    ("random forest", "Annealed VAE"): (0.74, 0.64, 0.66, 0.74, 0.82),
    ("random forest", "β-TCVAE"): (0.66, 0.63, 0.64, 0.78, 0.66),
    ("random forest", "β-VAE"): (0.65, 0.65, 0.64, 0.26, 0.83),
    ("random forest", "DIP-VAE-I"): (0.56, 0.59, 0.52, 0.43, 0.40),
    ("random forest", "DIP-VAE-II"): (0.47, 0.32, 0.44, 0.09, 0.66),
    ("random forest", "Factor-VAE"): (0.62, 0.54, 0.18, 0.68, 0.61),
    ("logistic regression", "Annealed VAE"): (0.43, 0.20, 0.26, 0.77, 0.85),
    ("logistic regression", "β-TCVAE"): (0.13, 0.06, 0.13, 0.45, 0.09),
    ("logistic regression", "β-VAE"): (0.18, 0.19, 0.16, 0.44, 0.51),
    ("logistic regression", "DIP-VAE-I"): (0.73, 0.63, 0.59, 0.73, 0.63),
    ("logistic regression", "DIP-VAE-II"): (0.07, -0.53, 0.01, 0.88, 0.16),
    ("logistic regression", "Factor-VAE"): (0.14, -0.05, 0.07, 0.71, 0.69),
    ("multi-layer perceptron", "Annealed VAE"): (0.35, 0.17, 0.08, 0.41, 0.58),
    ("multi-layer perceptron", "β-TCVAE"): (-0.25, -0.31, -0.28, -0.28, -0.16),
    ("multi-layer perceptron", "β-VAE"): (-0.14, -0.20, -0.18, 0.61, 0.20),
    ("multi-layer perceptron", "DIP-VAE-I"): (0.54, 0.46, 0.43, 0.64, 0.56),
    # DCI-C is printed without its sign, which the mean of Table 3 has.
    ("multi-layer perceptron", "DIP-VAE-II"): (0.00, -0.57, 0.00, 0.71, 0.08),
    ("multi-layer perceptron", "Factor-VAE"): (-0.04, -0.19, -0.39, 0.51, 0.44),
}
#: Mean over families, by task and data set.
TABLE_2B: dict[tuple[str, str], tuple[float, ...]] = {
    ("random forest", "Cars3D"): (-0.52, -0.59, -0.64, 0.63, 0.46),
    ("random forest", "Color dSprites"): (0.73, 0.79, 0.69, 0.33, 0.77),
    ("random forest", "dSprites"): (0.94, 0.96, 0.94, 0.55, 0.79),
    ("random forest", "Scream dSprites"): (0.88, 0.93, 0.76, 0.51, 0.44),
    ("random forest", "Shapes3D"): (0.88, 0.76, 0.66, 0.13, 0.63),
    ("random forest", "smallNORB"): (0.78, 0.54, 0.67, 0.82, 0.88),
    ("logistic regression", "Cars3D"): (-0.39, -0.57, -0.70, 0.75, 0.69),
    ("logistic regression", "Color dSprites"): (0.66, 0.50, 0.64, 0.61, 0.50),
    ("logistic regression", "dSprites"): (0.38, 0.35, 0.30, 0.58, 0.36),
    ("logistic regression", "Scream dSprites"): (0.79, 0.55, 0.86, 0.86, 0.67),
    ("logistic regression", "Shapes3D"): (-0.30, -0.49, -0.61, 0.52, -0.06),
    ("logistic regression", "smallNORB"): (0.54, 0.17, 0.73, 0.65, 0.78),
    ("multi-layer perceptron", "Cars3D"): (-0.12, -0.36, -0.39, 0.56, 0.63),
    ("multi-layer perceptron", "Color dSprites"): (-0.25, -0.48, -0.26, -0.25, -0.77),
    ("multi-layer perceptron", "dSprites"): (0.18, 0.17, 0.13, 0.35, 0.08),
    ("multi-layer perceptron", "Scream dSprites"): (0.18, 0.01, 0.23, 0.59, 0.78),
    ("multi-layer perceptron", "Shapes3D"): (-0.38, -0.51, -0.66, 0.60, 0.05),
    ("multi-layer perceptron", "smallNORB"): (0.84, 0.52, 0.62, 0.77, 0.92),
}
#: The correlations themselves, by task, data set and family. The text has lost most names; lines follow the order of
#: the other tables.
TABLE_3: dict[tuple[str, str, str], tuple[float, ...]] = {
    # DCI-C and MIG are printed with the other sign, with which neither part of Table 2 is their mean.
    ("random forest", "Cars3D", "Annealed VAE"): (0.72, 0.18, 0.19, 0.74, 0.69),
    ("random forest", "Cars3D", "β-TCVAE"): (-0.92, -0.91, -0.91, 0.80, 0.11),
    ("random forest", "Cars3D", "β-VAE"): (-0.92, -0.94, -0.93, 0.67, 0.80),
    ("random forest", "Cars3D", "DIP-VAE-I"): (-0.84, -0.77, -0.61, -0.09, -0.18),
    ("random forest", "Cars3D", "DIP-VAE-II"): (-0.89, -0.96, -0.76, 0.90, 0.59),
    ("random forest", "Cars3D", "Factor-VAE"): (-0.26, -0.17, -0.81, 0.78, 0.74),
    ("random forest", "Color dSprites", "Annealed VAE"): (1.00, 1.00, 0.98, 0.97, 0.97),
    ("random forest", "Color dSprites", "β-TCVAE"): (0.99, 0.99, 1.00, 0.78, 0.97),
    ("random forest", "Color dSprites", "β-VAE"): (0.98, 0.99, 1.00, -0.80, 0.76),
    ("random forest", "Color dSprites", "DIP-VAE-I"): (0.46, 0.39, 0.61, 0.96, 0.94),
    ("random forest", "Color dSprites", "DIP-VAE-II"): (0.07, 0.50, -0.07, -0.73, 0.26),
    ("random forest", "Color dSprites", "Factor-VAE"): (0.91, 0.85, 0.63, 0.81, 0.75),
    ("random forest", "dSprites", "Annealed VAE"): (0.99, 0.99, 0.97, 0.89, 0.89),
    ("random forest", "dSprites", "β-TCVAE"): (1.00, 0.99, 0.99, 0.92, 0.97),
    ("random forest", "dSprites", "β-VAE"): (0.98, 0.99, 0.97, 0.75, 0.96),
    ("random forest", "dSprites", "DIP-VAE-I"): (0.96, 0.96, 0.94, 0.28, 0.11),
    ("random forest", "dSprites", "DIP-VAE-II"): (0.77, 0.88, 0.80, -0.33, 0.93),
    ("random forest", "dSprites", "Factor-VAE"): (0.96, 0.94, 0.96, 0.81, 0.86),
    ("random forest", "Scream dSprites", "Annealed VAE"): (0.84, 0.79, 0.85, 0.86, 0.87),
    ("random forest", "Scream dSprites", "β-TCVAE"): (0.91, 0.98, 0.90, 0.32, -0.12),
    ("random forest", "Scream dSprites", "β-VAE"): (0.94, 0.97, 0.96, 0.53, 0.54),
    ("random forest", "Scream dSprites", "DIP-VAE-I"): (0.79, 1.00, 0.28, 0.68, 0.78),
    ("random forest", "Scream dSprites", "DIP-VAE-II"): (0.93, 0.92, 0.81, 0.42, 0.46),
    ("random forest", "Scream dSprites", "Factor-VAE"): (0.87, 0.92, 0.80, 0.23, 0.11),
    ("random forest", "Shapes3D", "Annealed VAE"): (0.95, 0.62, 0.21, 0.91, 0.96),
    ("random forest", "Shapes3D", "β-TCVAE"): (1.00, 0.99, 0.93, 0.90, 0.96),
    ("random forest", "Shapes3D", "β-VAE"): (0.99, 0.97, 0.86, -0.57, 0.92),
    ("random forest", "Shapes3D", "DIP-VAE-I"): (1.00, 1.00, 0.95, -0.24, -0.24),
    ("random forest", "Shapes3D", "DIP-VAE-II"): (0.99, 0.99, 0.97, -0.74, 0.74),
    ("random forest", "Shapes3D", "Factor-VAE"): (0.35, -0.02, 0.03, 0.49, 0.44),
    ("random forest", "smallNORB", "Annealed VAE"): (-0.04, 0.28, 0.77, 0.09, 0.56),
    ("random forest", "smallNORB", "β-TCVAE"): (0.97, 0.76, 0.98, 0.94, 0.99),
    ("random forest", "smallNORB", "β-VAE"): (0.92, 0.93, 0.97, 0.97, 1.00),
    ("random forest", "smallNORB", "DIP-VAE-I"): (1.00, 0.98, 0.95, 0.97, 0.98),
    ("random forest", "smallNORB", "DIP-VAE-II"): (0.91, -0.44, 0.88, 1.00, 0.99),
    ("random forest", "smallNORB", "Factor-VAE"): (0.89, 0.73, -0.55, 0.95, 0.79),
    ("logistic regression", "Cars3D", "Annealed VAE"): (-0.40, -0.85, -0.82, 0.84, 0.89),
    ("logistic regression", "Cars3D", "β-TCVAE"): (-0.94, -0.97, -0.90, 0.75, -0.15),
    ("logistic regression", "Cars3D", "β-VAE"): (-0.93, -0.95, -0.92, 0.60, 0.91),
    ("logistic regression", "Cars3D", "DIP-VAE-I"): (0.61, 0.39, -0.10, 0.68, 0.73),
    ("logistic regression", "Cars3D", "DIP-VAE-II"): (-0.49, -0.72, -0.74, 0.74, 0.83),
    ("logistic regression", "Cars3D", "Factor-VAE"): (-0.17, -0.31, -0.71, 0.91, 0.91),
    ("logistic regression", "Color dSprites", "Annealed VAE"): (0.86, 0.85, 0.90, 0.91, 0.94),
    ("logistic regression", "Color dSprites", "β-TCVAE"): (0.44, 0.54, 0.45, 0.70, 0.55),
    ("logistic regression", "Color dSprites", "β-VAE"): (0.69, 0.85, 0.80, -0.45, 0.93),
    ("logistic regression", "Color dSprites", "DIP-VAE-I"): (0.73, 0.68, 0.70, 0.78, 0.63),
    ("logistic regression", "Color dSprites", "DIP-VAE-II"): (0.37, -0.78, 0.39, 0.90, -0.81),
    ("logistic regression", "Color dSprites", "Factor-VAE"): (0.86, 0.86, 0.62, 0.82, 0.72),
    ("logistic regression", "dSprites", "Annealed VAE"): (0.84, 0.82, 0.85, 0.87, 0.87),
    ("logistic regression", "dSprites", "β-TCVAE"): (0.37, 0.38, 0.25, 0.66, 0.54),
    ("logistic regression", "dSprites", "β-VAE"): (0.03, 0.07, 0.01, -0.18, 0.02),
    ("logistic regression", "dSprites", "DIP-VAE-I"): (0.80, 0.79, 0.77, 0.44, 0.35),
    ("logistic regression", "dSprites", "DIP-VAE-II"): (-0.20, -0.46, -0.43, 0.69, -0.59),
    ("logistic regression", "dSprites", "Factor-VAE"): (0.43, 0.48, 0.35, 0.99, 0.98),
    ("logistic regression", "Scream dSprites", "Annealed VAE"): (0.92, 0.85, 0.95, 0.92, 0.91),
    ("logistic regression", "Scream dSprites", "β-TCVAE"): (0.93, 0.83, 0.94, 0.65, -0.46),
    ("logistic regression", "Scream dSprites", "β-VAE"): (0.86, 0.83, 0.89, 0.78, 0.79),
    ("logistic regression", "Scream dSprites", "DIP-VAE-I"): (0.83, 0.50, 0.94, 0.95, 0.89),
    ("logistic regression", "Scream dSprites", "DIP-VAE-II"): (0.53, 0.13, 0.76, 0.99, 1.00),
    ("logistic regression", "Scream dSprites", "Factor-VAE"): (0.65, 0.14, 0.68, 0.79, 0.89),
    ("logistic regression", "Shapes3D", "Annealed VAE"): (0.60, -0.13, -0.51, 0.91, 0.83),
    ("logistic regression", "Shapes3D", "β-TCVAE"): (-0.91, -0.93, -0.96, -0.87, -0.87),
    ("logistic regression", "Shapes3D", "β-VAE"): (-0.53, -0.62, -0.80, 0.94, -0.55),
    ("logistic regression", "Shapes3D", "DIP-VAE-I"): (0.46, 0.45, 0.32, 0.57, 0.25),
    ("logistic regression", "Shapes3D", "DIP-VAE-II"): (-0.63, -0.78, -0.83, 0.98, -0.44),
    ("logistic regression", "Shapes3D", "Factor-VAE"): (-0.80, -0.96, -0.90, 0.59, 0.43),
    ("logistic regression", "smallNORB", "Annealed VAE"): (-0.26, -0.37, 0.21, 0.14, 0.68),
    ("logistic regression", "smallNORB", "β-TCVAE"): (0.86, 0.53, 0.97, 0.78, 0.92),
    ("logistic regression", "smallNORB", "β-VAE"): (0.97, 0.96, 0.96, 0.93, 0.97),
    ("logistic regression", "smallNORB", "DIP-VAE-I"): (0.97, 0.94, 0.91, 0.93, 0.94),
    ("logistic regression", "smallNORB", "DIP-VAE-II"): (0.85, -0.56, 0.90, 0.99, 0.98),
    ("logistic regression", "smallNORB", "Factor-VAE"): (-0.14, -0.51, 0.40, 0.13, 0.18),
    ("multi-layer perceptron", "Cars3D", "Annealed VAE"): (0.25, -0.36, -0.33, 0.98, 0.97),
    ("multi-layer perceptron", "Cars3D", "β-TCVAE"): (0.06, -0.04, 0.16, -0.48, -0.90),
    ("multi-layer perceptron", "Cars3D", "β-VAE"): (-0.66, -0.67, -0.67, 0.22, 0.82),
    ("multi-layer perceptron", "Cars3D", "DIP-VAE-I"): (-0.07, -0.32, -0.50, 0.98, 0.99),
    ("multi-layer perceptron", "Cars3D", "DIP-VAE-II"): (-0.49, -0.70, -0.49, 0.67, 0.94),
    ("multi-layer perceptron", "Cars3D", "Factor-VAE"): (0.22, -0.08, -0.49, 0.97, 0.98),
    ("multi-layer perceptron", "Color dSprites", "Annealed VAE"): (-0.80, -0.80, -0.82, -0.86, -0.85),
    ("multi-layer perceptron", "Color dSprites", "β-TCVAE"): (-0.81, -0.89, -0.85, -0.68, -0.86),
    ("multi-layer perceptron", "Color dSprites", "β-VAE"): (-0.67, -0.85, -0.78, 0.32, -0.95),
    ("multi-layer perceptron", "Color dSprites", "DIP-VAE-I"): (0.89, 0.91, 0.75, 0.04, -0.18),
    ("multi-layer perceptron", "Color dSprites", "DIP-VAE-II"): (0.71, -0.45, 0.73, 0.50, -0.92),
    ("multi-layer perceptron", "Color dSprites", "Factor-VAE"): (-0.79, -0.80, -0.60, -0.80, -0.87),
    ("multi-layer perceptron", "dSprites", "Annealed VAE"): (0.47, 0.45, 0.54, 0.73, 0.72),
    ("multi-layer perceptron", "dSprites", "β-TCVAE"): (-0.14, -0.18, -0.25, 0.07, 0.03),
    ("multi-layer perceptron", "dSprites", "β-VAE"): (-0.04, -0.06, 0.02, 0.40, 0.08),
    ("multi-layer perceptron", "dSprites", "DIP-VAE-I"): (0.91, 0.91, 0.90, -0.10, -0.22),
    ("multi-layer perceptron", "dSprites", "DIP-VAE-II"): (-0.92, -1.00, -0.92, 0.14, -0.98),
    ("multi-layer perceptron", "dSprites", "Factor-VAE"): (0.79, 0.93, 0.49, 0.86, 0.84),
    ("multi-layer perceptron", "Scream dSprites", "Annealed VAE"): (0.81, 0.86, 0.71, 0.84, 0.84),
    ("multi-layer perceptron", "Scream dSprites", "β-TCVAE"): (-0.88, -0.75, -0.89, -0.78, 0.37),
    ("multi-layer perceptron", "Scream dSprites", "β-VAE"): (0.17, 0.13, 0.23, 0.87, 0.90),
    ("multi-layer perceptron", "Scream dSprites", "DIP-VAE-I"): (0.86, 0.61, 0.89, 0.98, 0.94),
    ("multi-layer perceptron", "Scream dSprites", "DIP-VAE-II"): (0.49, 0.03, 0.72, 0.99, 0.99),
    ("multi-layer perceptron", "Scream dSprites", "Factor-VAE"): (-0.38, -0.79, -0.30, 0.66, 0.64),
    ("multi-layer perceptron", "Shapes3D", "Annealed VAE"): (0.87, 0.45, -0.01, 0.97, 1.00),
    ("multi-layer perceptron", "Shapes3D", "β-TCVAE"): (-0.64, -0.68, -0.83, -0.69, -0.60),
    ("multi-layer perceptron", "Shapes3D", "β-VAE"): (-0.57, -0.66, -0.84, 0.92, -0.63),
    ("multi-layer perceptron", "Shapes3D", "DIP-VAE-I"): (-0.33, -0.34, -0.41, 0.96, 0.82),
    ("multi-layer perceptron", "Shapes3D", "DIP-VAE-II"): (-0.73, -0.86, -0.90, 0.97, -0.56),
    ("multi-layer perceptron", "Shapes3D", "Factor-VAE"): (-0.85, -0.98, -0.96, 0.45, 0.27),
    ("multi-layer perceptron", "smallNORB", "Annealed VAE"): (0.50, 0.42, 0.38, -0.17, 0.80),
    ("multi-layer perceptron", "smallNORB", "β-TCVAE"): (0.93, 0.64, 1.00, 0.89, 0.99),
    ("multi-layer perceptron", "smallNORB", "β-VAE"): (0.93, 0.94, 0.97, 0.97, 0.99),
    ("multi-layer perceptron", "smallNORB", "DIP-VAE-I"): (0.99, 0.98, 0.96, 0.97, 0.98),
    ("multi-layer perceptron", "smallNORB", "DIP-VAE-II"): (0.93, -0.45, 0.86, 1.00, 1.00),
    ("multi-layer perceptron", "smallNORB", "Factor-VAE"): (0.77, 0.59, -0.47, 0.94, 0.77),
}
#: On smallNORB, by share of the rows and family: IWO with logistic regression and random forest, then IWR with both.
#: Of the lines for half of the rows the reading of names is ours: the text has them run together.
TABLE_4: dict[tuple[float, str], tuple[float, ...]] = {
    (1.0, "Annealed VAE"): (0.14, 0.09, 0.68, 0.56),
    (1.0, "β-VAE"): (0.93, 0.97, 0.97, 1.00),
    (1.0, "β-TCVAE"): (0.78, 0.94, 0.92, 0.99),
    (1.0, "Factor-VAE"): (0.13, 0.95, 0.18, 0.79),
    (0.5, "Annealed VAE"): (0.20, 0.02, 0.43, 0.75),
    (0.5, "β-VAE"): (0.97, 0.98, 0.97, 1.00),
    (0.5, "β-TCVAE"): (0.82, 0.95, 0.94, 0.99),
    (0.5, "Factor-VAE"): (0.13, 0.72, -0.09, 0.95),
    (0.1, "Annealed VAE"): (-0.02, -0.30, 0.50, 0.31),
    (0.1, "β-VAE"): (0.94, 0.99, 0.96, 0.99),
    (0.1, "β-TCVAE"): (0.87, 0.95, 0.92, 1.00),
    (0.1, "Factor-VAE"): (0.32, 0.56, 0.12, 0.58),
}
#: With segmenting the sprite of Scream dSprites, by family.
TABLE_5: dict[str, tuple[float, ...]] = {
    "Annealed VAE": (0.74, 0.80, 0.65, 0.79, 0.79),
    "β-TCVAE": (-0.91, -0.78, -0.91, -0.65, 0.48),
    "β-VAE": (-0.20, -0.27, -0.19, 0.52, 0.51),
    "DIP-VAE-I": (0.01, 0.33, -0.31, 0.01, 0.08),
    "DIP-VAE-II": (0.45, 0.02, 0.69, 1.00, 1.00),
    "Factor-VAE": (0.09, -0.33, 0.19, 0.63, 0.62),
}
#: IWO, IWR and O: mean over data sets, by task and family.
TABLE_7: dict[tuple[str, str], tuple[float, ...]] = {
    ("random forest", "Annealed VAE"): (0.74, 0.82, 0.53),
    ("random forest", "β-TCVAE"): (0.78, 0.66, 0.12),
    ("random forest", "β-VAE"): (0.26, 0.83, -0.03),
    ("random forest", "DIP-VAE-I"): (0.43, 0.40, 0.30),
    ("random forest", "DIP-VAE-II"): (0.09, 0.66, -0.27),
    ("random forest", "Factor-VAE"): (0.68, 0.61, 0.59),
    ("logistic regression", "Annealed VAE"): (0.77, 0.85, 0.60),
    ("logistic regression", "β-TCVAE"): (0.45, 0.09, 0.02),
    ("logistic regression", "β-VAE"): (0.44, 0.51, 0.09),
    ("logistic regression", "DIP-VAE-I"): (0.73, 0.63, 0.18),
    ("logistic regression", "DIP-VAE-II"): (0.88, 0.16, 0.64),
    ("logistic regression", "Factor-VAE"): (0.71, 0.69, 0.56),
}


#: Seeds of each setting in the paper, and settings of a family that can be correlated.
PUBLISHED_SEEDS, FEWEST_SETTINGS = 10, 3
N_RESAMPLES, ROUNDING, QUANTILE = 400, 0.005, 1.96
WHOLE, SEGMENTATION = "factors_as_classes", "segmentation"


def iwo_tables(state: StudyStatus, scale: Scale) -> StudyTables:
    """Return the correlations of scores with tasks, over settings, as the paper's tables have them."""
    table = state.table()
    table = table.assign(dataset=table["dataset"].replace(STAND_INS))
    cells = _cells(table, shares=(1.0, 0.5, 0.1))
    whole = cells[cells["share"] == 1.0]
    is_part = scale == "gpu"
    rows = [
        *_means("Table 2a", "family", TABLE_2A, whole, of_part=is_part),
        *(_means("Table 2b", "dataset", TABLE_2B, whole) if scale != "mini" else ()),
        *(_single(whole) if scale != "mini" else ()),
        *_means("Table 7", "family", TABLE_7, whole, of_part=is_part),
        *(_small_norb(cells) if scale != "mini" else ()),
        *(_segmentation(table) if scale != "mini" else ()),
    ]
    return StudyTables(
        study="iwo",
        scale=scale,
        n_models=table["model"].nunique(),
        n_failed=len(state.failed_models) + len(state.missing),
        gpu_seconds=state.training_seconds,
        correlations=tuple(rows),
    )


def _cells(table: pd.DataFrame, shares: tuple[float, ...]) -> pd.DataFrame:
    """Correlate over settings, for each data set, family and share of the rows; scores and tasks at that share."""
    whole = table[table["factor"] == ""]
    parts = []
    for dataset, rows in whole.groupby("dataset"):
        tasks = rows[(rows["kind"] == "task") & (rows["name"] == WHOLE)]
        scores = rows[rows["kind"] == "score"]
        for share, n_scored, n_learned in zip(shares, _sizes(scores), _sizes(tasks), strict=False):
            kept = pd.concat([scores[scores["n_rows"] == n_scored], tasks[tasks["n_rows"] == n_learned]])
            settings = pivot(kept, per="setting")
            found = oriented(cell_correlations(settings, settings.scores, settings.tasks, correct="none"))
            found = found.merge(seed_errors(pivot(kept)), how="left", on=["dataset", "family", "row", "column"])
            predictor = found["column"].str.extract(r"/(\w+)@", expand=False)
            parts.append(found.assign(dataset=dataset, share=share, column=predictor))
    return pd.concat(parts, ignore_index=True)


def seed_errors(models: ModelTable) -> pd.DataFrame:
    """Return by how much correlations over the settings of a data set and family scatter with other seeds.

    Seeds of every setting are drawn again with replacement. The column ``error`` is the standard deviation of the
    difference from the same correlation with the published number of seeds; NaN for a single seed.
    """
    lines = []
    scores, tasks = models.scores, models.tasks
    rng = np.random.default_rng(0)
    for (dataset, family), about in models.about.groupby(["dataset", "family"]):
        by_setting = [models.values.loc[part.index] for _, part in about.groupby("hyperparameter")]
        n_seeds = min(len(part) for part in by_setting)
        if n_seeds < 2 or len(by_setting) < FEWEST_SETTINGS:
            continue
        values = np.stack([part.to_numpy(float)[:n_seeds] for part in by_setting])
        drawn = rng.integers(n_seeds, size=(N_RESAMPLES, len(values), n_seeds))
        means = values[np.arange(len(values))[None, :, None], drawn].mean(axis=2)
        means -= means.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            means /= np.sqrt((means**2).sum(axis=1, keepdims=True))
        places = {str(name): number for number, name in enumerate(models.values)}
        left, right = (means[:, :, [places[name] for name in names]] for names in (scores, tasks))
        r = np.einsum("bsi,bsj->bij", left, right)
        # A resample of n has (n - 1) / n of the variance, and the published mean over seeds scatters too.
        times = n_seeds / (n_seeds - 1) * (1 + n_seeds / PUBLISHED_SEEDS)
        error = np.sqrt(times * np.nanvar(r, axis=0))
        lines += [
            {"dataset": dataset, "family": family, "row": row, "column": column, "error": error[i, j]}
            for i, row in enumerate(scores)
            for j, column in enumerate(tasks)
        ]
    return pd.DataFrame(lines, columns=["dataset", "family", "row", "column", "error"])


def oriented(cells: pd.DataFrame) -> pd.DataFrame:
    """Turn the sign of correlations of scores that are better when lower: O is printed as 1 less Eq. 5, like IWO."""
    is_lower = ~cells["row"].map(lambda name: METRICS[name].higher_is_better).astype(bool)
    return cells.assign(r=cells["r"].where(~is_lower, -cells["r"]))


def _sizes(rows: pd.DataFrame) -> list[int]:
    """Return numbers of rows, the largest first."""
    return sorted(rows["n_rows"].unique(), reverse=True)


def _means(
    where: str,
    by: str,
    published: dict[tuple[str, str], tuple[float, ...]],
    cells: pd.DataFrame,
    *,
    of_part: bool = False,
) -> list[StudyCorrelation]:
    """Average correlations by family or data set, beside a table whose rows are those and whose columns are scores.

    Where the study has some of the data sets only (``of_part``), the published number is the mean of Table 3 over these
    data sets; plain orthogonality, which Table 3 lacks, then stands beside the mean over all.
    """
    means = mean_correlations(cells, by=by).set_index([by, "row", "column"])["mean"]  # type: ignore[arg-type]
    errors = cells.groupby([by, "row", "column"])["error"].agg(_error_of_mean)
    names = FAMILIES if by == "family" else DATASETS
    there = [name for name, key in DATASETS.items() if key in set(cells["dataset"])]
    found = []
    for (task, group), row in published.items():
        for score, paper in zip(_columns(where), row, strict=True):
            key = (names[group], SCORES[score], PREDICTORS[task])
            of_these = of_part and score in _columns("Table 3")
            printed = _published_mean(task, group, score, there) if of_these else paper
            found.append(
                StudyCorrelation(
                    table=where,
                    group=group,
                    task=task,
                    score=score,
                    number=Number(ours=_value(means, key), paper=printed),
                    tolerance=_tolerance(_value(errors, key)),
                )
            )
    return found


def _published_mean(task: str, family: str, score: str, datasets: list[str]) -> float:
    """Return the mean of Table 3 over some data sets."""
    place = _columns("Table 3").index(score)
    return round(float(np.mean([TABLE_3[task, dataset, family][place] for dataset in datasets])), 3)


def _error_of_mean(errors: pd.Series[float]) -> float:
    return float(np.sqrt((errors**2).sum(skipna=False)) / len(errors))


def _tolerance(error: float | None) -> float | None:
    return None if error is None else QUANTILE * error + ROUNDING


def _single(cells: pd.DataFrame) -> list[StudyCorrelation]:
    """Return every correlation over the settings of a data set and family (Table 3)."""
    indexed = cells.set_index(["dataset", "family", "row", "column"])
    found, errors = indexed["r"], indexed["error"]
    return [
        StudyCorrelation(
            table="Table 3",
            group=f"{group}, {dataset}",
            task=task,
            score=score,
            number=Number(
                ours=_value(found, (DATASETS[dataset], FAMILIES[group], SCORES[score], PREDICTORS[task])), paper=paper
            ),
            tolerance=_tolerance(_value(errors, (DATASETS[dataset], FAMILIES[group], SCORES[score], PREDICTORS[task]))),
        )
        for (task, dataset, group), row in TABLE_3.items()
        for score, paper in zip(_columns("Table 3"), row, strict=True)
    ]


def _columns(where: str) -> tuple[str, ...]:
    return ("IWO", "IWR", "O") if where == "Table 7" else ("DCI-D", "DCI-C", "MIG", "IWO", "IWR")


def _small_norb(cells: pd.DataFrame) -> list[StudyCorrelation]:
    """Return correlations on smallNORB from all, half and a tenth of the rows (Table 4)."""
    found = cells[cells["dataset"] == DATASETS["smallNORB"]].set_index(["share", "family", "row", "column"])["r"]
    columns = [(score, task) for score in ("IWO", "IWR") for task in ("logistic regression", "random forest")]
    return [
        StudyCorrelation(
            table="Table 4",
            group=f"{group}, {share:.0%}",
            task=task,
            score=score,
            number=Number(ours=_value(found, (share, FAMILIES[group], SCORES[score], PREDICTORS[task])), paper=paper),
        )
        for (share, group), row in TABLE_4.items()
        for (score, task), paper in zip(columns, row, strict=True)
    ]


def _segmentation(table: pd.DataFrame) -> list[StudyCorrelation]:
    """Return correlations with segmenting the sprite on a texture (Table 5)."""
    rows = table[(table["factor"] == "") & (table["dataset"] == DATASETS["Scream dSprites"])]
    kept = rows[(rows["kind"] == "score") | (rows["name"] == SEGMENTATION)]
    settings = pivot(kept, per="setting")
    cells = oriented(cell_correlations(settings, settings.scores, settings.tasks, correct="none"))
    found = cells.set_index(["family", "row"])["r"]
    errors = seed_errors(pivot(kept)).set_index(["family", "row"])["error"]
    return [
        StudyCorrelation(
            table="Table 5",
            group=group,
            task=SEGMENTATION,
            score=score,
            number=Number(ours=_value(found, (FAMILIES[group], SCORES[score])), paper=paper),
            tolerance=_tolerance(_value(errors, (FAMILIES[group], SCORES[score]))),
        )
        for group, row in TABLE_5.items()
        for score, paper in zip(_columns("Table 5"), row, strict=True)
    ]


def _value(found: pd.Series[float], key: tuple[Any, ...]) -> float | None:
    value = found.get(key)
    return None if value is None or pd.isna(value) else float(value)


def iwo_study(
    *,
    scale: Scale = "mini",
    store: str | Path | None = None,
    yes: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    data_folder: str | Path | None = None,
    commit: str = "",
    progress: Show = None,
) -> StudyTables:
    """Reproduce the study of orthogonality against downstream tasks (arXiv:2407.03728, Tables 2, 3, 4, 5 and 7).

    Trains six families of VAEs with six settings each on six data sets, scores their codes, predicts the factors from
    them with three predictors, and prints the correlations beside the published ones; in small, Tables 2a and 7. For
    each data set and family, scores and accuracies are averaged over seeds and correlated over six settings; Table 2
    averages the correlations over data sets (a) or families (b).

    Args:
        scale: ``mini``: small models of small sprites, two seeds; ``gpu``: 216 published networks of drawn sprites,
            about ten minutes of one GPU; ``full``: the published study.
        store: Where results go, and are found again by the next run; in small, a temporary folder by default.
        yes: Start even if it is going to be long.
        engine: ``local``: processes on this machine; ``ray``: a Ray cluster.
        workers: Jobs at the same time; as many as there are cores by default.
        address: Address of the Ray cluster, ``host:port`` of its head or ``auto``.
        data_folder: Folder with the files of official data sets.
        commit: Version of the source that models are trained with, which is kept with the result.
        progress: Show a bar; by default when standard error is a terminal.

    Raises:
        ValueError: A study at another scale than ``mini`` without a store, or a long one without ``yes``.
    """
    how: dict[str, Any] = {"engine": engine, "address": address, "data_folder": data_folder, "commit": commit}
    return run_scaled("iwo", scale, iwo_tables, store=store, yes=yes, workers=workers, progress=progress, **how)
