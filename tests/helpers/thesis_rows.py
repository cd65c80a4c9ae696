"""The rows of a study like that of the thesis, of models that never were."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers.study_tables import row, task
from unbraid.reproduce.thesis.tables import FIGURE_E1, PREDICTORS, TASKS

FAMILIES = ("beta_vae", "factor_vae", "annealed_vae")
FACTORS = ("shape", "scale", "orientation", "x", "y")
DATA, SQUARE = "sprites_mini", "sprites_mini_square"


def thesis_table(*, n_settings=3, n_seeds=3, with_square=True, with_sizes=True):
    """Scores and tasks follow one quality of each model; the first model is scored at further sizes."""
    rng = np.random.default_rng(0)
    rows = []
    for family in FAMILIES:
        for setting in range(n_settings):
            for seed in range(n_seeds):
                quality = setting + rng.normal()
                about = {"dataset": DATA, "family": family, "hyperparameter": 2.0**setting, "seed": seed}
                model = f"{family}-{setting}-{seed}"
                for name in (*FIGURE_E1, "modularity"):
                    kind = "agreement" if name == "udr_lasso" else "score"
                    value = quality + 0.3 * rng.normal()
                    rows.append(row(model, value, name, kind=kind, **about))
                    if name in ("z1", "z2", "mig"):
                        parts = [row(model, value + k, name, factor=one, **about) for k, one in enumerate(FACTORS)]
                        rows += parts
                    if with_sizes and model == "beta_vae-0-0":
                        further = [
                            row(model, value + 10 / n, name, kind=kind, **about | {"n_rows": n}) for n in (100, 500)
                        ]
                        rows += further
                for name in TASKS:
                    for predictor in PREDICTORS:
                        for size in (700, 140):
                            value = quality + 0.5 * rng.normal()
                            rows.append(task(model, value, name, predictor=predictor, **about | {"n_rows": size}))
                if with_square:
                    elsewhere = about | {"dataset": SQUARE}
                    rows.append(row(f"{model}-square", quality, "udr_lasso", kind="agreement", **elsewhere))
                    rows.append(task(f"{model}-square", rng.normal(), "square", predictor="forest", **elsewhere))
    return pd.DataFrame(rows)


def thesis_state(table, *, also=(SQUARE,)):
    """Return what figures read of the status of a study."""
    study = SimpleNamespace(name="thesis-mini", about="Made up.", data=(DATA,), also=also)
    return SimpleNamespace(table=lambda: table, plan=SimpleNamespace(study=study))
