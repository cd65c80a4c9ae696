"""Checkpoints of earlier versions, which called the discriminator ``judge`` and hyperparameters strengths.

``data/old_checkpoint`` was written by commit 0623468: two FactorVAEs after 50 steps, their codes of four rows then, and
the codes of a run of 100 steps.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from unbraid.models import load_models, train

OLD = Path(__file__).parent / "data" / "old_checkpoint"
X = np.random.default_rng(0).normal(size=(32, 2)).astype("f4")
HOW = {"seeds": [0, 1], "gamma": [2.0, 8.0], "n_codes": 2, "width": 1, "batch_size": 8, "progress": False}


def test_an_old_checkpoint_is_loaded():
    found = load_models(OLD)
    assert found.settings.discriminator_width == 2
    assert found.settings.hyperparameters == (("gamma", (2.0, 8.0)),)
    np.testing.assert_allclose(found.encode(X[:4]), np.load(OLD / "codes.npy"), atol=1e-6)


def test_training_goes_on_from_an_old_checkpoint(tmp_path):
    out = shutil.copytree(OLD, tmp_path / "run")
    with pytest.warns(DeprecationWarning, match="judge_width is now called discriminator_width"):
        found = train("factor_vae", X, n_steps=100, judge_width=2, out=out, **HOW)
    np.testing.assert_allclose(found.encode(X[:4]), np.load(OLD / "codes_later.npy"), atol=1e-5)
