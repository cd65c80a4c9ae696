import math

import torch
from torch.distributions import Bernoulli, Independent, Normal

from unbraid.models.objectives import (
    UNKNOWN,
    clamp_codes,
    class_weights,
    cross_entropy,
    discrepancy,
    diva_loss,
    uniform_divergence,
    vfae_loss,
)

LOG_2 = math.log(2)


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def gaussian(mean, scale):
    return Independent(Normal(number(mean), number(scale)), 1)


def close(found, wanted):
    """Assert equality in double precision."""
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, number(wanted), rtol=0, atol=1e-10)


def kl(mean, scale, to_mean, to_scale):
    """Return the divergence of a Gaussian from a Gaussian, written out."""
    return math.log(to_scale / scale) + (scale**2 + (mean - to_mean) ** 2) / (2 * to_scale**2) - 0.5


def log_normal(z, mean, scale):
    return -0.5 * ((z - mean) / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)


def even_pixels():
    """Return two pictures of three pixels, each lit with chance a half."""
    return number([[1.0, 0, 0], [0, 1, 1]]), Independent(Bernoulli(probs=number([[0.5] * 3] * 2)), 1)


def test_unknown_labels_have_the_predicted_classes_and_no_cross_entropy():
    labels, logits = torch.tensor([1, UNKNOWN]), number([[0.0, 0.0], [math.log(3), 0.0]])
    close(class_weights(labels, logits), [[0.0, 1.0], [0.75, 0.25]])
    close(cross_entropy(labels, logits), LOG_2 / 2)
    close(uniform_divergence(labels, logits), (0.75 * math.log(1.5) + 0.25 * math.log(0.5)) / 2)


def diva_terms(y, **weights):
    x, likelihood = even_pixels()
    given = {"beta": 2.0, "alpha_d": 3.0, "alpha_y": 5.0} | weights
    return diva_loss(
        x,
        likelihood,
        posterior_d=gaussian([[1.0], [2.0]], [[1.0], [0.5]]),
        posterior_y=gaussian([[0.5], [-1.0]], [[0.5], [1.5]]),
        posterior_x=gaussian([[0.0], [3.0]], [[1.0], [2.0]]),
        prior_d=gaussian([[0.0], [1.0]], [[1.0], [2.0]]),
        priors_y=gaussian([[[1.0], [-2.0]]], [[[0.5], [3.0]]]),
        z_y=number([[0.25], [-0.75]]),
        d=torch.tensor([0, 2]),
        y=torch.tensor(y),
        logits_d=number([[0.0, 0.0, 0.0], [0.0, 0.0, LOG_2]]),
        logits_y=number([[math.log(3), 0.0], [0.0, math.log(4)]]),
        **given,
    )


DISTORTION = 3 * LOG_2
RATE_D = (kl(1, 1, 0, 1) + kl(2, 0.5, 1, 2)) / 2
RATE_X = (kl(0, 1, 0, 1) + kl(3, 2, 0, 1)) / 2
DOMAIN = (math.log(3) + math.log(2)) / 2  # one of three alike; half of four parts


def test_diva_is_what_a_hand_computes():
    terms = diva_terms([1, 0])
    close(terms.distortion, DISTORTION)
    close(terms.rate_d, RATE_D)
    close(terms.rate_y, (kl(0.5, 0.5, -2, 3) + kl(-1, 1.5, 1, 0.5)) / 2)
    close(terms.rate_x, RATE_X)
    close(terms.class_rate, 0.0)
    close(terms.domain, DOMAIN)
    close(terms.target, (math.log(4) + math.log(5)) / 2)
    rates = terms.rate_d + terms.rate_y + terms.rate_x
    close(terms.total, float(terms.distortion + 2 * rates + 3 * terms.domain + 5 * terms.target))
    close(terms.in_short().rate, float(rates))


def test_diva_expects_the_classes_of_a_row_without_a_label():
    terms = diva_terms([1, UNKNOWN])
    z, own = -0.75, log_normal(-0.75, -1, 1.5)
    by_class = [own - log_normal(z, 1, 0.5), own - log_normal(z, -2, 3)]
    close(terms.rate_y, (kl(0.5, 0.5, -2, 3) + 0.2 * by_class[0] + 0.8 * by_class[1]) / 2)
    close(terms.class_rate, (0.2 * math.log(0.4) + 0.8 * math.log(1.6)) / 2)
    close(terms.target, math.log(4) / 2)
    close(terms.rate_d, RATE_D)
    close(terms.domain, DOMAIN)
    rates = terms.rate_d + terms.rate_y + terms.rate_x
    total = terms.distortion + 2 * rates + terms.class_rate + 3 * terms.domain + 5 * terms.target
    close(terms.total, float(total))


def vfae_terms(y):
    x, likelihood = even_pixels()
    return vfae_loss(
        x,
        likelihood,
        posterior_1=gaussian([[1.0], [0.0]], [[0.5], [2.0]]),
        posteriors_2=gaussian([[[1.0], [0.0]], [[2.0], [-1.0]]], [[[1.0], [2.0]], [[0.5], [1.0]]]),
        priors_1=gaussian([[[0.0], [1.0]], [[1.0], [-1.0]]], [[[1.0], [1.0]], [[2.0], [0.5]]]),
        prior_2=gaussian([[[0.0]] * 2] * 2, [[[1.0]] * 2] * 2),
        z_1=number([[1.5], [-1.0]]),
        s=torch.tensor([0, 1]),
        y=torch.tensor(y),
        logits_y=number([[0.0, math.log(3)], [math.log(4), 0.0]]),
        n_sensitive=2,
        alpha=number(3.0),
        mmd=number(7.0),
    )


#: Of two codes 2.5 apart, one in each group.
APART = 2 - 2 * math.exp(-(2.5**2))


def test_vfae_is_what_a_hand_computes():
    terms = vfae_terms([1, 0])
    close(terms.distortion, DISTORTION)
    first = log_normal(1.5, 1, 0.5) - log_normal(1.5, 1, 1)
    second = log_normal(-1, 0, 2) - log_normal(-1, 1, 2)
    close(terms.rate_1, (first + second) / 2)
    close(terms.rate_2, (kl(0, 2, 0, 1) + kl(2, 0.5, 0, 1)) / 2)
    close(terms.class_rate, 0.0)
    close(terms.target, (math.log(4 / 3) + math.log(5 / 4)) / 2)
    close(terms.discrepancy, APART)
    total = terms.distortion + terms.rate_1 + terms.rate_2 + 3 * terms.target + 7 * terms.discrepancy
    close(terms.total, float(total))


def test_vfae_expects_the_classes_of_a_row_without_a_label():
    terms = vfae_terms([UNKNOWN, 0])
    weights = (0.25, 0.75)
    towards = weights[0] * log_normal(1.5, 0, 1) + weights[1] * log_normal(1.5, 1, 1)
    second = log_normal(-1, 0, 2) - log_normal(-1, 1, 2)
    close(terms.rate_1, (log_normal(1.5, 1, 0.5) - towards + second) / 2)
    close(terms.rate_2, (weights[0] * kl(1, 1, 0, 1) + weights[1] * kl(0, 2, 0, 1) + kl(2, 0.5, 0, 1)) / 2)
    close(terms.class_rate, (0.25 * math.log(0.5) + 0.75 * math.log(1.5)) / 2)
    close(terms.target, math.log(5 / 4) / 2)
    total = terms.distortion + terms.rate_1 + terms.rate_2 + terms.class_rate
    close(terms.total, float(total + 3 * terms.target + 7 * terms.discrepancy))


def test_discrepancy_is_the_sum_over_pairs_of_rows():
    rng = torch.Generator().manual_seed(0)
    z, groups = torch.randn(7, 3, generator=rng, dtype=torch.float64), torch.tensor([0, 0, 0, 1, 1, 2, 2])

    def mean_kernel(a, b):
        return sum(math.exp(-float((p - q).square().sum()) / 3) for p in a for q in b) / (len(a) * len(b))

    parts = [z[groups == k] for k in range(3)]
    wanted = [
        mean_kernel(parts[i], parts[i]) + mean_kernel(parts[j], parts[j]) - 2 * mean_kernel(parts[i], parts[j])
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    close(discrepancy(z, groups, 3), sum(wanted) / 3)
    close(discrepancy(z[:5], groups[:5], 3), wanted[0])  # a group that is not there
    close(discrepancy(z[:3], groups[:3], 3), 0.0)


def test_clamped_codes_are_the_batch_mean_and_their_gradient_is_the_distance_from_it():
    codes = number([[[1.0, 5.0, 0.0], [3.0, 7.0, 6.0]]] * 2).requires_grad_()
    active = torch.tensor([[True, False, False], [False, False, True]])
    found = clamp_codes(codes, active, number([1.0, 10.0]))
    close(found.detach(), [[[1.0, 6.0, 3.0], [3.0, 6.0, 3.0]], [[2.0, 6.0, 0.0], [2.0, 6.0, 6.0]]])
    weights = number([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]] * 2)
    (found * weights).sum().backward()
    # Active columns keep the gradient of the sum; the others have (code - mean) / 2 rows, times 1 or 10.
    wanted = [
        [[0.1, -0.5, -1.5], [0.4, 0.5, 1.5]],
        [[-5.0, -5.0, 0.3], [5.0, 5.0, 0.6]],
    ]
    close(codes.grad, wanted)


def test_terms_keep_the_axis_of_models():
    both = discrepancy(number([[[0.0], [0.0]], [[0.0], [1.0]]]), torch.tensor([[0, 1], [0, 1]]), 2)
    close(both, [0.0, 2 - 2 * math.exp(-1)])
