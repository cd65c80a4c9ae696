import numpy as np
import torch
from scipy.stats import kstest

from unbraid.models.ensemble.streams import Purpose, normal, random_rows, uniform

SEEDS = torch.tensor([0, 1, 2, 2**40])


def test_a_member_draws_what_it_would_draw_alone():
    together = normal(SEEDS, Purpose.CODES, 7, (5, 3))
    assert together.shape == (4, 5, 3)
    for m, seed in enumerate(SEEDS):
        assert torch.equal(normal(seed[None], Purpose.CODES, 7, (5, 3))[0], together[m])


def test_first_numbers_of_splitmix():
    # SplitMix64 started from 0 gives 0xE220A8397B1DCDAF first (Steele, Lea & Flood 2014), whose top 23 bits are used;
    # seed, purpose and step all 0 leave the key at 0.
    first = uniform(torch.tensor([0]), Purpose.WEIGHTS, 0, (1,)).item()
    assert first == ((0xE220A8397B1DCDAF >> 41) + 0.5) / 2**23


def test_distributions():
    drawn = torch.cat([uniform(SEEDS, Purpose.SHUFFLE, step, (1000,)) for step in range(5)], dim=1)
    assert all(kstest(row.numpy(), "uniform").pvalue > 0.001 for row in drawn)
    drawn = torch.cat([normal(SEEDS, Purpose.CODES, step, (1000,)) for step in range(5)], dim=1)
    assert all(kstest(row.numpy(), "norm").pvalue > 0.001 for row in drawn)
    assert np.abs(np.corrcoef(drawn.numpy()) - np.eye(4)).max() < 0.06
    assert abs(np.corrcoef(drawn[0, :-1], drawn[0, 1:])[0, 1]) < 0.05


def test_seed_purpose_and_step_each_change_everything():
    base = uniform(SEEDS[:1], Purpose.CODES, 3, (200,))
    others = [
        uniform(SEEDS[1:2], Purpose.CODES, 3, (200,)),
        uniform(SEEDS[:1], Purpose.SHUFFLE, 3, (200,)),
        uniform(SEEDS[:1], Purpose.CODES, 4, (200,)),
    ]
    for other in others:
        assert not (base == other).any()
        assert abs(np.corrcoef(base[0], other[0])[0, 1]) < 0.25


def test_every_row_is_drawn_about_as_often():
    rows = torch.cat([random_rows(SEEDS, step, 7, 1000) for step in range(3)], dim=1)
    counts = torch.stack([(rows == k).sum(dim=1) for k in range(7)])
    assert counts.sum() == 4 * 3000
    assert (counts - 3000 / 7).abs().max() < 100
