"""Tables of studies that never ran, so that tests know every number in them."""

import numpy as np
import pandas as pd

from unbraid.study.table import NOTHING_TO_MEASURE, SCHEMA, FailureKind


def row(model, value, name="mig", **changes):
    """One row; a score of 1000 rows unless told otherwise."""
    parts = {
        "model": model,
        "dataset": "dots",
        "family": "beta_vae",
        "hyperparameter": 1.0,
        "seed": 0,
        "kind": "score",
        "name": name,
        "predictor": "",
        "factor": "",
        "n_rows": 1000,
        "value": value,
        "failure": None,
        "failure_kind": None,
        "seconds": 1.0,
        "version": "1",
    }
    parts |= changes
    words = ("model", "kind", "name", "predictor", "factor", "n_rows")
    return parts | {"key": "|".join(str(parts[word]) for word in words)}


def table(rows):
    return pd.DataFrame(rows, columns=SCHEMA.names)


def task(model, value, name="shape", **changes):
    return row(model, value, name, **({"kind": "task", "predictor": "linear", "n_rows": 100} | changes))


def two_columns(x, y, **about):
    """A score and a task for each model; ``about`` holds a list for each thing to vary."""
    rows = []
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        parts = {"seed": i} | {name: values[i] for name, values in about.items()}
        rows += [row(f"m{i:04}", a, **parts), task(f"m{i:04}", b, **parts)]
    return table(rows)


def study(*, families=("beta_vae", "factor_vae", "dip_vae"), n_settings=4, n_seeds=5, datasets=("dots",), seed=0):
    """Three scores (one an agreement) at two sizes and two tasks, driven by one hidden quality of each model.

    ``mig`` follows the quality, ``irs`` is noise, ``udr_lasso`` follows it but is shifted in ``dip_vae``; the task
    ``shape`` follows it, ``size`` falls with it. One ``irs`` failed.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in datasets:
        for family in families:
            for place in range(n_settings):
                for k in range(n_seeds):
                    quality = place + rng.normal()
                    about = {"dataset": dataset, "family": family, "hyperparameter": 2.0**place, "seed": k}
                    model = f"{dataset}-{family}-{place}-{k}"
                    shift = 3.0 if family == "dip_vae" else 0.0
                    scores = {
                        "mig": quality + 0.3 * rng.normal(),
                        "irs": rng.normal(),
                        "udr_lasso": quality + shift + 0.3 * rng.normal(),
                    }
                    for name, value in scores.items():
                        kind = "agreement" if name == "udr_lasso" else "score"
                        for n_rows, wobble in ((100, 0.5), (1000, 0.0)):
                            at = {"n_rows": n_rows, "kind": kind} | about
                            rows.append(row(model, value + wobble * rng.normal(), name, **at))
                    rows.append(task(model, 0.5 + 0.1 * quality + 0.05 * rng.normal(), **about))
                    rows.append(task(model, 0.5 - 0.1 * quality + 0.05 * rng.normal(), "size", **about))
    found = table(rows)
    failed = (found["name"] == "irs") & (found["n_rows"] == 1000)
    first = found.index[failed][0]
    words = "codes must vary, got 10 constant columns."
    found.loc[first, ["value", "failure", "failure_kind"]] = [np.nan, words, FailureKind.FAILED]
    return found


def study_with_collapsed_models(**options):
    """The same, but that the first two models of ``dip_vae`` collapsed: no scores, no tasks, an agreement of 0."""
    found = study(**options)
    lost = sorted(found.loc[found["family"] == "dip_vae", "model"].unique())[:2]
    of_lost = found["model"].isin(lost)
    found.loc[of_lost & (found["kind"] == "agreement"), "value"] = 0.0
    without = of_lost & (found["kind"] != "agreement")
    kind, reason = NOTHING_TO_MEASURE
    found.loc[without, ["value", "failure", "failure_kind"]] = [np.nan, reason, kind]
    return found
