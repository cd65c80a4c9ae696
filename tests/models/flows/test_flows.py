"""Every flow must be a bijection whose determinant is the right one, and must come back from a file the same."""

import math
import warnings

import pytest
import torch
from torch.autograd.functional import jacobian

from unbraid.models.flows import affine_flow, gin_flow, glow_flow, spline_flow, wavelet_flow, wavelet_partition
from unbraid.models.flows.build import _squeeze_order
from unbraid.models.flows.coupling import VolumePreservingTransform
from unbraid.models.flows.flow import ClassMixture, StandardNormal
from unbraid.models.flows.mixing import HaarTransform, Normalise

with warnings.catch_warnings():
    # Its docstrings have escapes that Python warns of when it compiles them for the first time.
    warnings.simplefilter("ignore")
    from FrEIA.modules import AllInOneBlock, HaarDownsampling

N, N_CLASSES = 12, 3
SMALL = {"n_blocks": (1, 2), "channels": (3, 4), "width": 9}
FLOWS = {
    "spline": lambda seed=0: spline_flow(5, n_blocks=3, hidden=(8,), seed=seed),
    "spline, permuted": lambda seed=0: spline_flow(5, n_blocks=3, hidden=(8,), rotates=False, seed=seed),
    "affine": lambda seed=0: affine_flow(5, n_blocks=3, hidden=(8, 8), seed=seed),
    "affine, classes": lambda seed=0: affine_flow(5, n_blocks=3, hidden=(8,), n_classes=N_CLASSES, seed=seed),
    "glow": lambda seed=0: glow_flow(4, **SMALL, seed=seed),
    "cinn": lambda seed=0: glow_flow(4, **SMALL, n_classes=N_CLASSES, seed=seed),
    "gin": lambda seed=0: gin_flow(4, N_CLASSES, **SMALL, seed=seed),
    "cinn, as counted": lambda seed=0: glow_flow(4, **SMALL, n_classes=N_CLASSES, as_counted=True, seed=seed),
    "gin, as counted": lambda seed=0: gin_flow(4, N_CLASSES, **SMALL, as_counted=True, seed=seed),
    "wavelet": lambda seed=0: wavelet_flow(4, **SMALL, seed=seed),
}


def start(name, *, seed=0):
    """Return a flow away from its first weights, with data and labels it takes."""
    flow = FLOWS[name](seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    x = 2 * torch.randn(N, flow.size, generator=generator, dtype=torch.float64) + 1
    has_classes = flow.n_classes or isinstance(flow.prior, ClassMixture)
    return flow, x, torch.arange(N) % N_CLASSES if has_classes else None


@pytest.mark.parametrize("name", FLOWS)
def test_decoding_undoes_encoding(name):
    flow, x, labels = start(name)
    z = flow.encode(x, labels)
    assert (z - x).abs().max() > 0.1
    torch.testing.assert_close(flow.decode(z, labels), x, rtol=0, atol=1e-9)
    torch.testing.assert_close(flow.encode(flow.decode(x, labels), labels), x, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOWS)
def test_log_determinants_are_those_of_the_jacobian(name):
    flow, x, labels = start(name)
    one = None if labels is None else labels[:1]
    _, found = flow.encode_with_log_determinant(x[:1], one)
    of_encoder = jacobian(lambda v: flow.encode(v[None], one)[0], x[0])
    of_decoder = jacobian(lambda v: flow.decode(v[None], one)[0], x[0])
    assert found.shape == (1,)
    torch.testing.assert_close(found[0], torch.linalg.slogdet(of_encoder)[1], rtol=0, atol=1e-9)
    of_flow = flow.log_determinant(x[:1], one)[0]
    torch.testing.assert_close(of_flow, torch.linalg.slogdet(of_decoder)[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", FLOWS)
def test_every_parameter_gets_a_gradient(name):
    flow, x, labels = start(name)
    flow.log_prob(x, labels).mean().backward()
    learned = {key: parameter.grad for key, parameter in flow.named_parameters() if parameter.requires_grad}
    assert not [key for key, gradient in learned.items() if gradient is None or not gradient.any()]
    fixed = [key for key, parameter in flow.named_parameters() if not parameter.requires_grad]
    assert bool(fixed) == ("as counted" in name)
    assert all(key.endswith("generator") for key in fixed)


@pytest.mark.parametrize("name", FLOWS)
def test_a_saved_flow_gives_the_same_densities(name, tmp_path):
    flow, x, labels = start(name)
    torch.save(flow.state_dict(), tmp_path / "flow.pt")
    other = FLOWS[name](7).double()
    assert not torch.equal(other.log_prob(x, labels), flow.log_prob(x, labels))
    other.load_state_dict(torch.load(tmp_path / "flow.pt", weights_only=True))
    assert torch.equal(other.log_prob(x, labels), flow.log_prob(x, labels))


@pytest.mark.parametrize("name", FLOWS)
def test_the_seed_decides_the_start_and_nothing_else_changes(name):
    state = torch.random.get_rng_state()
    first, again, other = (FLOWS[name](seed).state_dict() for seed in (3, 3, 4))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", [name for name in FLOWS if "as counted" not in name])  # these end with a coupling
def test_normalisations_set_from_data_make_latents_of_mean_0_and_deviation_1(name):
    flow, x, labels = start(name)
    flow.set_from(x, labels)
    z = flow.encode(x, labels).detach()
    assert z.mean(dim=0).abs().max().item() < 1e-9
    if name != "gin":
        # a rotation may come after the last normalisation, so it is the mean variance that is known
        assert z.var(dim=0).mean().item() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", ["gin", "gin, as counted"])
def test_gin_keeps_volumes_exactly(name):
    flow, x, labels = start(name)
    _, log_determinant = flow.encode_with_log_determinant(x, labels)
    assert log_determinant.tolist() == [0.0] * N
    found = jacobian(lambda v: flow.encode(v[None], labels[:1])[0], x[0])
    assert float(torch.linalg.slogdet(found)[1]) == pytest.approx(0.0, abs=1e-10)


def test_a_gin_prior_set_from_data_has_the_moments_of_each_class():
    flow, x, labels = start("gin")
    flow.set_from(x, labels)
    z = flow.encode(x, labels)
    for label in range(N_CLASSES):
        torch.testing.assert_close(flow.prior.means[label], z[labels == label].mean(dim=0))
        torch.testing.assert_close(flow.prior.deviations[label], z[labels == label].std(dim=0, correction=0))


def test_a_mixture_without_labels_is_the_mean_of_its_classes():
    prior = ClassMixture(2, 2)
    with torch.no_grad():
        prior.means.copy_(torch.tensor([[0.0, 0.0], [3.0, 1.0]]))
        prior.log_deviations.copy_(torch.tensor([[0.0, math.log(2.0)], [0.5, -0.5]]))
    z = torch.tensor([[1.0, -1.0]])
    each = [prior.log_prob(z, torch.tensor([label])).exp() for label in (0, 1)]
    assert prior.log_prob(z).exp().item() == pytest.approx((sum(each) / 2).item())
    by_hand = math.exp(-0.5 - 0.125) / (2 * math.pi * 2)
    assert each[0].item() == pytest.approx(by_hand)


def test_the_standard_normal_has_its_density():
    z = torch.tensor([[1.0, 2.0, 0.0]])
    assert float(StandardNormal(3).log_prob(z)) == pytest.approx(-2.5 - 1.5 * math.log(2 * math.pi))


def test_a_conditional_flow_sees_the_class():
    flow, x, labels = start("cinn")
    assert not torch.allclose(flow.encode(x, labels), flow.encode(x, (labels + 1) % N_CLASSES))
    with pytest.raises(ValueError, match="labels must be given to a flow with 3 classes"):
        flow.encode(x)


def test_the_decoder_of_a_class_stretches_noise_by_its_deviations():
    flow, x, _ = start("gin")
    expected = flow.decode(flow.prior.means[1] + flow.prior.deviations[1] * x, None)
    torch.testing.assert_close(flow.decoder(1)(x), expected)
    with pytest.raises(ValueError, match="labels must be given to draw from a mixture"):
        flow.decoder()(x)


def test_samples_come_from_the_seed():
    flow, _, _ = start("affine")
    first, again, other = (flow.sample(3, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.allclose(flow.encode(first), torch.randn(3, 5, generator=torch.Generator().manual_seed(1)).double())


def test_haar_is_the_one_in_freia_and_orthogonal():
    image = torch.randn(2, 3, 4, 4, dtype=torch.float64)
    peer = HaarDownsampling([(3, 4, 4)], order_by_wavelet=True).double()
    ours = HaarTransform(3, 4)(image.flatten(1)).reshape(2, 12, 2, 2)
    theirs = peer([image])[0][0]
    torch.testing.assert_close(ours, theirs)
    turn = jacobian(HaarTransform(3, 4), image.flatten(1)[0])
    torch.testing.assert_close(turn @ turn.T, torch.eye(48, dtype=torch.float64))


def test_a_flat_image_has_no_detail():
    found = HaarTransform(1, 4)(torch.full((16,), 0.5))
    assert found.tolist() == [1.0] * 4 + [0.0] * 12


def test_wavelet_latents_of_the_average_do_not_know_the_detail():
    flow, x, _ = start("wavelet")
    change = torch.zeros(1, 4, 4, dtype=torch.float64)
    change[0, :2, :2] = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])  # no average at any scale
    moved = flow.encode(x + change.flatten()) - flow.encode(x)
    torch.testing.assert_close(moved[:, :4], torch.zeros_like(moved[:, :4]), rtol=0, atol=1e-12)
    assert (moved[:, 4:].abs() > 0.1).any()


def test_sets_of_a_wavelet_flow_are_its_averages_and_details():
    """A change of the finest detail moves the last set alone, one of a coarser detail no average."""
    flow, x, _ = start("wavelet")
    sets = wavelet_partition(4)
    assert [len(members) for members in sets.values()] == [1, 3, 12]
    fine, coarse = torch.zeros(1, 4, 4, dtype=torch.float64), torch.zeros(1, 4, 4, dtype=torch.float64)
    fine[0, :2, :2] = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    coarse[0, :, :2], coarse[0, :, 2:] = 1.0, -1.0
    for change, still in ((fine, ("average", "detail_1")), (coarse, ("average",))):
        moved = (flow.encode(x + change.flatten()) - flow.encode(x)).abs()
        kept = {name for name, members in sets.items() if moved[:, list(members)].max() < 1e-12}
        assert kept == set(still)
    assert [len(members) for members in wavelet_partition(28, n_scales=1).values()] == [196, 588]
    with pytest.raises(ValueError, match="side must be divisible by 4"):
        wavelet_partition(6)


def test_scales_of_gin_are_those_of_freia():
    raw, shift = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    peer = AllInOneBlock([(6,)], subnet_constructor=torch.nn.Linear, gin_block=True)
    # FrEIA takes the mean off as well; its own soft bound differs, so what is bounded is given to both.
    bounded = raw / (1 + raw.abs() / math.log(10.0))
    x = torch.randn(4, 3, dtype=torch.float64)
    peer.clamp = 4.0
    theirs, jac = peer._affine(x, torch.cat((torch.atanh(bounded / 4) * 10, shift * 10), dim=1))
    torch.testing.assert_close(VolumePreservingTransform(shift, raw)(x), theirs)
    assert float(jac.abs().max()) < 1e-12


def test_squeezing_makes_channels_of_squares():
    image = torch.arange(16.0)
    assert image[_squeeze_order(1, 4)].tolist() == [0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15]


def test_a_normalisation_shares_numbers_within_a_channel():
    x = torch.randn(50, 8, dtype=torch.float64) * torch.tensor([3.0] * 4 + [0.01] * 4) + 5
    part = Normalise(8, n_each=4).double()
    part.set_from(x)
    y = part()(x).unflatten(-1, (2, 4))
    torch.testing.assert_close(y.mean(dim=(0, 2)), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-6)
    torch.testing.assert_close(y.transpose(0, 1).flatten(1).std(dim=1), torch.ones(2, dtype=torch.float64))


def n_learned(part):
    return sum(parameter.numel() for parameter in part.parameters() if parameter.requires_grad)


def test_flows_have_as_many_learned_numbers_as_the_paper_prints():
    cinn, gin = glow_flow(28, n_classes=10, as_counted=True), gin_flow(28, 10, as_counted=True)
    assert n_learned(cinn) == 4_859_768
    assert n_learned(gin.transform) == 5_214_400  # without the prior, one mean and deviation a class and latent
    assert n_learned(gin.prior) == 2 * 10 * 784


def test_blocks_transform_one_half_by_default():
    flow = glow_flow(28, n_classes=10)
    assert flow.size == 784
    assert sum(1 for name, _ in flow.named_parameters() if name.endswith("network.layers.0.weight")) == 6 + 6 + 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: glow_flow(6), "side must be divisible by 4"),
        (lambda: wavelet_flow(6, n_scales=2), "side must be divisible by 4"),
        (lambda: spline_flow(1), "size must be at least 2"),
        (lambda: spline_flow(2, n_bins=1), "n_bins must be at least 2"),
        (lambda: gin_flow(4, 0), "n_classes must be at least 1"),
    ],
)
def test_impossible_flows_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
