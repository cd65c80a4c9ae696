import math

import numpy as np
import pytest
import torch

from unbraid.models.codes import CodeLayout
from unbraid.models.ensemble.families.info_gan import make_latents
from unbraid.models.objectives.info_gan import (
    categorical_information,
    continuous_information,
    gan_value,
    generator_loss,
    info_gan_loss,
    scaled_gradient,
)
from unbraid.models.traversals import moved_codes

EXACT = {"rel": 0, "abs": 1e-10}


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def logit(chance):
    return math.log(chance / (1 - chance))


REAL, GENERATED = [0.8, 0.6, 0.9], [0.3, 0.1, 0.25]


def test_value_of_the_gan_is_what_a_hand_computes():
    by_hand = (math.log(0.8) + math.log(0.6) + math.log(0.9)) / 3 + (math.log(0.7) + math.log(0.9) + math.log(0.75)) / 3
    found = gan_value(doubles([logit(d) for d in REAL]), doubles([logit(d) for d in GENERATED]))
    assert found.item() == pytest.approx(by_hand, **EXACT)


def test_loss_of_the_generator_is_what_a_hand_computes():
    by_hand = -(math.log(0.3) + math.log(0.1) + math.log(0.25)) / 3
    assert generator_loss(doubles([logit(d) for d in GENERATED])).item() == pytest.approx(by_hand, **EXACT)


def test_information_of_categorical_codes_is_what_a_hand_computes():
    # Two codes of three and two values; q gives the drawn values chances 0.5 and 0.8, then 0.2 and 0.4.
    chances = [[0.5, 0.3, 0.2, 0.8, 0.2], [0.7, 0.1, 0.2, 0.6, 0.4]]
    drawn = doubles([[1, 0, 0, 1, 0], [0, 0, 1, 0, 1]])
    by_hand = (math.log(0.5) + math.log(0.2)) / 2 + math.log(3) + (math.log(0.8) + math.log(0.4)) / 2 + math.log(2)
    logits = doubles(chances).log() + doubles([[7.0], [-2.0]])  # a constant changes no chance
    assert categorical_information(logits, drawn, (3, 2)).item() == pytest.approx(by_hand, **EXACT)


def test_information_of_continuous_codes_is_what_a_hand_computes():
    mean, log_scale, drawn = [[0.5, -0.25]], [[math.log(0.5), math.log(2.0)]], [[0.25, 0.75]]
    densities = [
        -((0.25 / 0.5) ** 2) / 2 - math.log(0.5 * math.sqrt(2 * math.pi)),
        -((1.0 / 2.0) ** 2) / 2 - math.log(2.0 * math.sqrt(2 * math.pi)),
    ]
    found = continuous_information(doubles(mean), doubles(log_scale), doubles(drawn))
    assert found.item() == pytest.approx(sum(densities) + 2 * math.log(2), **EXACT)


def test_loss_puts_the_terms_together():
    terms = doubles(-1.25), doubles(2.0), doubles(0.5)
    loss = info_gan_loss(*terms, weight=0.5, continuous_share=0.1)
    assert loss.loss.item() == pytest.approx(-1.25 - 0.5 * (2.0 + 0.1 * 0.5), **EXACT)
    assert [part.item() for part in loss[1:]] == [-1.25, 2.0, 0.5]
    assert info_gan_loss(*terms, weight=1.0).loss.item() == pytest.approx(-1.25 - 2.5, **EXACT)
    assert info_gan_loss(*terms, weight=0.0).loss.item() == -1.25


def test_information_is_at_most_the_entropy_and_reaches_it():
    drawn = torch.eye(10, dtype=torch.float64)
    assert categorical_information(1e4 * drawn, drawn, (10,)).item() == pytest.approx(math.log(10), **EXACT)
    assert categorical_information(0 * drawn, drawn, (10,)).item() == pytest.approx(0, **EXACT)


def test_terms_are_those_of_each_model():
    real, generated = doubles([[2.0, 1.0], [0.5, -1.0]]), doubles([[0.0, 0.0], [-3.0, 1.0]])
    for m in range(2):
        assert gan_value(real, generated)[m].item() == gan_value(real[m], generated[m]).item()


def test_gradient_is_scaled_and_the_number_is_not():
    x = torch.tensor([[3.0, -0.1], [0.7, 5.0]], requires_grad=True)
    found = scaled_gradient(x, torch.tensor([0.25, 0.0]))
    assert torch.equal(found, x)
    found.sum().backward()
    assert x.grad.tolist() == [[0.25, 0.25], [0.0, 0.0]]


LAYOUT = CodeLayout(categories=(4, 2), n_continuous=2, n_noise=3)


def test_latents_are_even_values_even_codes_and_normal_noise():
    normal = torch.as_tensor(np.random.default_rng(0).standard_normal((40_000, LAYOUT.n_drawn)))
    latents = make_latents(normal, LAYOUT).numpy()
    assert latents.shape == (40_000, LAYOUT.n_latents)
    np.testing.assert_allclose(latents[:, :6].mean(axis=0), [0.25] * 4 + [0.5] * 2, atol=0.01)
    assert set(latents[:, :4].sum(axis=1)) == {1.0}
    assert set(latents[:, 4:6].sum(axis=1)) == {1.0}
    np.testing.assert_allclose(latents[:, 6:8].var(axis=0), 1 / 3, atol=0.01)
    assert np.abs(latents[:, 6:8]).max() <= 1
    np.testing.assert_array_equal(latents[:, 8:], normal[:, 4:])


def test_the_last_value_is_drawn_at_the_end_of_the_scale():
    far = make_latents(torch.full((1, LAYOUT.n_drawn), 9.0), LAYOUT)
    assert far[0, :6].tolist() == [0, 0, 0, 1, 0, 1]


def test_rates_are_divergences_from_the_prior():
    mean = np.array([[0.25, 0.25, 0.25, 0.25, 1.0, 0.0, 0.0, 0.5]])
    deviation = np.array([[0.4, 0.4, 0.4, 0.4, 1e-19, 1e-19, math.sqrt(1 / 3), 0.1]])
    rates = LAYOUT.rates(mean, deviation)[0]
    np.testing.assert_allclose(rates[:4], 0, atol=1e-12)  # q knows nothing of the first code
    np.testing.assert_allclose(rates[4:6], math.log(2), atol=1e-12)
    assert rates[6] == pytest.approx(0, abs=1e-12)
    gaussian = torch.distributions.kl_divergence(
        torch.distributions.Normal(0.5, 0.1), torch.distributions.Normal(0.0, math.sqrt(1 / 3))
    )
    assert rates[7] == pytest.approx(gaussian.item(), rel=1e-6)


def test_drawn_codes_have_one_value_as_often_as_its_chance():
    mean = np.tile([0.1, 0.2, 0.3, 0.4, 0.9, 0.1, 0.5, -0.5], (20_000, 1))
    deviation = np.full_like(mean, 0.25)
    noise = np.random.default_rng(1).standard_normal(mean.shape)
    drawn = LAYOUT.drawn(mean, deviation, noise)
    np.testing.assert_allclose(drawn[:, :6].mean(axis=0), mean[0, :6], atol=0.015)
    assert set(np.unique(drawn[:, :6])) == {0.0, 1.0}
    np.testing.assert_allclose(drawn[:, 6:].std(axis=0), 0.25, atol=0.01)


def test_traversal_goes_through_the_values_of_a_categorical_code():
    codes = np.column_stack([np.full((30, 4), 0.25), np.full((30, 2), 0.5), np.linspace(-1, 1, 60).reshape(30, 2)])
    moved = moved_codes(codes, (4, 2), n_steps=4)
    assert moved.shape == (4, 4, 8)
    np.testing.assert_array_equal(moved[0, :, :4], np.eye(4))
    np.testing.assert_array_equal(moved[1, :, 4:6], np.eye(2)[[0, 0, 1, 1]])
    assert set(moved[2:, :, :6].sum(axis=-1).ravel()) == {2.0}  # the other rows keep one value of each
    assert (np.diff(moved[2:, :, 6:].sum(axis=-1), axis=1) > 0).all()
