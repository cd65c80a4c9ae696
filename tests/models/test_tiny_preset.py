"""The small preset learns: a stated reconstruction and a stated MIG after its 1500 steps."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from unbraid import encode
from unbraid.cli._train import TINY
from unbraid.data import sprites_mini
from unbraid.metrics import mig
from unbraid.models import train

pytestmark = pytest.mark.slow

DATA = sprites_mini()


@pytest.fixture(scope="module")
def model():
    return train("beta_vae", DATA, seeds=[0], progress=False, **TINY)[0]


def nats(chances, pictures):
    return float(functional.binary_cross_entropy(chances, pictures, reduction="sum") / len(pictures))


def test_a_beta_vae_rebuilds_small_sprites(model):
    """Far better than guessing each pixel by how often it is white."""
    pictures = DATA.observations(np.random.default_rng(0).integers(len(DATA), size=500))
    codes = torch.as_tensor(model.encode(pictures)[0], dtype=torch.float32)
    with torch.no_grad():
        rebuilt = model.decoder(codes)
    shown = torch.as_tensor(pictures)
    often = shown.mean(dim=0).clamp(1e-3, 1 - 1e-3).expand_as(shown)
    assert nats(rebuilt, shown) < 55
    assert nats(rebuilt, shown) < 0.5 * nats(often, shown)


def test_its_codes_separate_factors_better_than_chance(model):
    rep = encode(model, DATA, n=4000)
    shuffled = rep.with_shuffled_factors(np.random.default_rng(0))
    assert mig(rep).value > 0.12
    assert mig(shuffled).value < 0.03
