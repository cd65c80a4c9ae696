"""Reproductions of the manifold figures: what is known on paper, then small runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.small import run_cli
from unbraid.manifold import analyze, draw_classes
from unbraid.models.flows import gin_flow
from unbraid.reproduce import (
    DigitsFigure,
    DigitsSettings,
    MoonsFigure,
    MoonsSettings,
    SpectrumFigure,
    SpectrumSettings,
    TorusFigure,
    TorusSettings,
    beta_vae_spectrum,
    digits_flows,
    moons,
    torus,
)
from unbraid.reproduce.digit_flows.flows import (
    class_decoders_of,
    measured_classes,
    mixture_of,
    normalised,
    read_digits,
)
from unbraid.reproduce.flows_of_digits import rank_correlation
from unbraid.reproduce.result import Number
from unbraid.reproduce.torus_flow import TorusQuantity
from unbraid.reproduce.torus_truth import mean_log_radius, random_torus, true_entropies
from unbraid.reproduce.two_moons import MoonsFlow, MoonsQuantity, moons_entropy, over_seeds
from unbraid.reproduce.vae_spectrum import BetaSpectrum, n_kept, spectrum_checks

pytestmark = pytest.mark.slow

UNIT = 0.5 * (1 + math.log(2 * math.pi))


@pytest.fixture(scope="module")
def small_torus():
    settings = TorusSettings(
        n_angles=2, n_points=4000, n_blocks=3, width=16, n_steps=150, batch_size=64, learning_rate=2e-2, n_samples=100
    )
    return torus(settings=settings)


def test_the_true_torus_has_the_entropies_known_on_paper():
    truth = random_torus(10, np.random.default_rng(0))
    found = analyze(truth, latent_dim=20, n_samples=400, dtype="float64")
    expected = true_entropies(truth.deviations)
    tolerance = 3.5 * found.latent_entropy_error + 1e-9
    assert (np.abs(found.latent_entropy - expected) < tolerance).all()
    assert found.total_correlation == pytest.approx(0.0, abs=1e-9)
    assert expected[0] == pytest.approx(UNIT + math.log(0.07 * 2 * math.pi) - 0.05**2 / 2, abs=1e-4)
    assert expected[19] == pytest.approx(UNIT + math.log(0.05) - 1.5)


def test_torus_data_lie_near_circles_of_radius_one():
    truth = random_torus(10, np.random.default_rng(0))
    pairs = (truth.sample(500, np.random.default_rng(1)) @ truth.turn).reshape(500, 10, 2)
    radii = np.linalg.norm(pairs, axis=2)
    np.testing.assert_allclose(radii.mean(axis=0), 1.0, atol=0.01)
    np.testing.assert_allclose(radii.std(axis=0), truth.deviations[10:], rtol=0.2)
    angles = np.arctan2(pairs[..., 1], pairs[..., 0])
    np.testing.assert_allclose(angles.std(axis=0), truth.deviations[:10], rtol=0.2)


def test_the_mean_logarithm_of_the_radius():
    assert mean_log_radius(np.array([0.0, 0.05])) == pytest.approx([0.0, -(0.05**2) / 2], abs=1e-4)


def test_total_correlation_in_the_loss_finds_angles_and_radii_in_order(small_torus):
    _, separated = small_torus.flows
    ours = {quantity: number.ours for quantity, number in separated.numbers.items()}
    assert separated.objective == "with total correlation"
    assert ours[TorusQuantity.IN_PLACE] == 4
    assert ours[TorusQuantity.DIAGONAL_SHARE] > 0.8
    assert ours[TorusQuantity.SQUARED_PEARSON] > 0.65
    assert ours[TorusQuantity.SPECTRUM_ERROR] < 0.5
    assert ours[TorusQuantity.TOTAL_CORRELATION] < 0.05
    assert ours[TorusQuantity.EXCESS] < 0.5


def test_likelihood_alone_does_not(small_torus):
    entangled, _ = small_torus.flows
    assert entangled.numbers[TorusQuantity.TOTAL_CORRELATION].ours > 0.1
    assert entangled.numbers[TorusQuantity.DIAGONAL_SHARE].ours < 0.6


def test_the_torus_page_and_numbers_can_be_written(small_torus, tmp_path):
    small_torus.to_json(tmp_path / "torus.json")
    again = TorusFigure.from_json((tmp_path / "torus.json").read_text())
    assert again == small_torus
    html = again.draw(tmp_path / "torus.html").read_text()  # charts of the torus need only what is kept
    assert html.count('class="matrix" role="img" viewBox="0 0 4 4"') == 4
    assert html.count('href="#sx"') == 4 + 1
    number = again.flows[0].numbers[TorusQuantity.TOTAL_CORRELATION]
    assert (number.paper, number.truth) == (0.9, 0)
    assert again.settings.n_blocks == 3
    assert len(again.flows[0].sorted_entropy) == 4


def test_the_entropy_of_moons_is_nearly_that_of_two_thin_arcs():
    thin = math.log(2 * math.pi) + 0.5 * math.log(2 * math.pi * math.e * 0.01)
    assert moons_entropy(5000) == pytest.approx(thin, abs=0.1)


def test_a_share_of_nothing_is_a_number_like_any_other():
    """A latent that runs along no point of a moon has a share of 0, which is not the same as no share."""
    flow = MoonsFlow(
        letter="B",
        objective="with total correlation",
        numbers={MoonsQuantity.ALONG_UPPER: Number(ours=0.0), MoonsQuantity.ALONG_LOWER: Number(ours=None)},
        entropy_errors=(),
        mutual_information_error=None,
    )
    found = over_seeds([flow, flow])
    assert found[MoonsQuantity.ALONG_UPPER] == 0.0
    assert found[MoonsQuantity.ALONG_LOWER] is None


def test_moons_have_three_panels_with_entropies_and_mutual_information(tmp_path):
    settings = MoonsSettings(n_points=200, n_blocks=2, width=8, n_steps=3, n_samples=20)
    found = moons(settings=settings, n_seeds=1)
    assert [chart.title[:3] for chart in found.charts()[0].charts] == ["(A)", "(B)", "(C)"]
    assert [flow.letter for flow in found.flows] == ["A", "B", "C"]
    for flow in found.flows:
        total = flow[MoonsQuantity.ENTROPY_C] + flow[MoonsQuantity.ENTROPY_D] - flow[MoonsQuantity.MUTUAL_INFORMATION]
        assert total == pytest.approx(flow[MoonsQuantity.TOTAL_ENTROPY], abs=1e-4)
        assert flow.numbers[MoonsQuantity.CROSS_ENTROPY].truth == pytest.approx(moons_entropy())
    assert MoonsFigure.from_json(found.to_json()) == found
    assert found.draw(tmp_path / "moons.html").read_text().count("<polyline") == 3 * 30


def test_digits_are_read_and_normalised():
    images, labels = read_digits(None)
    x = normalised(images)
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert sorted(set(labels)) == list(range(10))
    assert x.shape == (1797, 64)
    assert x.std() == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-12)


def test_rank_correlation():
    assert rank_correlation(np.array([1.0, 2, 9]), np.array([-3.0, 0, 1])) == pytest.approx(1.0)
    assert rank_correlation(np.array([1.0, 2, 9]), np.array([1.0, 0, -5])) == pytest.approx(-1.0)


def test_digits_flows_measure_all_four(tmp_path):
    settings = DigitsSettings(
        n_blocks=(1, 1), wavelet_blocks=(1, 1), channels=(2, 2), width=8, n_steps=2, batch_size=32, n_samples=4
    )
    found = digits_flows(settings=settings)
    assert [flow.name for flow in found.flows] == ["GLOW-like", "GIN", "cINN", "wavelet"]
    assert [flow.total_correlation.paper for flow in found.flows] == [1.9, None, None, 0.5]
    assert [(one.name, one.n_latents) for one in found.sets] == [("C", 4), ("M", 12), ("D", 48)]
    assert all(len(flow.latent_entropy) == 64 for flow in found.flows)
    assert found.tables()[0].text[0] == ["what", "ours", "paper"]
    assert any("8 by 8" in note for note in found.notes)
    assert DigitsFigure.from_json(found.to_json()) == found
    assert found.draw(tmp_path / "digits.html").read_text().count('class="matrix" role="img" viewBox="0 0 64 64"') == 4


@pytest.mark.parametrize("as_counted", [False, True])
def test_columns_of_gin_are_stretched_by_the_deviations_of_each_digit_once(as_counted, tmp_path):
    """A GIN without couplings only reorders pixels: columns, and mean Jacobians, are as long as the deviations."""
    flow = gin_flow(8, 10, n_blocks=(0, 0), as_counted=as_counted).double()
    with torch.no_grad():
        flow.prior.log_deviations.copy_(torch.randn(10, 64, generator=torch.Generator().manual_seed(0)))
    found = measured_classes(flow, 20, "cpu", 0, False)
    logs = flow.prior.log_deviations.detach().numpy()
    np.testing.assert_allclose(found.latent_entropy, 0.5 * math.log(2 * math.pi * math.e) + logs.mean(axis=0))
    drawn = draw_classes(
        class_decoders_of(flow), found, prior=mixture_of(flow), n_latents=64, n_samples=2, image_shape=(8, 8)
    )
    lengths = np.stack([np.linalg.norm(one.mean_jacobian.reshape(64, -1), axis=1) for one in drawn.values()])
    np.testing.assert_allclose(lengths, np.exp(logs)[:, found.order], rtol=1e-5)


def test_the_knee_is_the_largest_fall():
    assert n_kept(np.array([2.0, 1.9, 1.8, -1.0, -1.3])) == 3
    assert n_kept(np.array([2.0, 1.9, 1.8])) == 3
    assert n_kept(np.array([-1.0, -1.1, -1.2])) == 0
    assert n_kept(np.array([0.9, 0.8, 0.1, 0.0])) == 2
    assert n_kept(np.array([0.9, 0.8, 0.3, 0.0])) == 4  # most of them move the picture: no cutoff
    assert n_kept(np.array([-1.0, -1.1, -4.0])) == 0  # a knee of latents that do not move the picture


def test_larger_beta_keeps_fewer_latents(tmp_path):
    settings = SpectrumSettings(
        betas=(1.0, 100.0), n_codes=(8, 4), width=4, n_steps=250, batch_size=32, learning_rate=5e-3, n_samples=10
    )
    found = beta_vae_spectrum(settings=settings, n_seeds=1)
    assert [(one.n_codes, one.beta) for one in found.spectra] == [(8, 1), (8, 100), (4, 1), (4, 100)]
    small, large = found.with_codes(8)
    assert small.kept >= 1
    assert small.mean_entropy > 1.0
    assert (large.kept, large.mean_entropy, large.knee) == (0, None, None)
    assert SpectrumFigure.from_json(found.to_json()) == found
    assert [len(group.charts) for group in found.charts()] == [3, 3]
    assert found.draw(tmp_path / "f.html").read_text().count("Manifold total correlation") >= 2


def spectrum(beta, kept, *, n_codes=100, height=1.0, correlation=0.5, total=-50.0):
    """Return a spectrum with a knee of 3 nats after the latents kept, or without any."""
    entropies = [height] * kept + [-2.0] * (n_codes - kept)
    return BetaSpectrum(
        n_codes=n_codes,
        beta=beta,
        kept=kept,
        sorted_entropy=tuple(entropies),
        total_correlation_per_latent=correlation,
        total_entropy=total,
    )


def checked(*spectra):
    settings = SpectrumSettings(betas=tuple(one.beta for one in spectra), n_codes=(spectra[0].n_codes,))
    figure = SpectrumFigure(settings=settings, seed=0, device="cpu", seconds=0, n_digits=1, spectra=spectra)
    return {part.where: part for part in spectrum_checks(figure)}


#: As the paper describes its models: nothing is left beyond 20, where the total correlation rises.
AS_PUBLISHED = (
    spectrum(0.1, 40, height=1.0),
    spectrum(1.0, 20, height=1.5),
    spectrum(10.0, 4, height=2.0),
    spectrum(20.0, 1, height=1.2, correlation=1.5, total=-90.0),
    spectrum(30.0, 0, correlation=2.0, total=-300.0),
    spectrum(100.0, 0, total=-300.0),
)


def test_what_the_paper_says_of_its_models_is_found_to_agree():
    parts = checked(*AS_PUBLISHED)
    assert [(part.where, part.colour) for part in parts.values()] == [("Fig. 6", "green"), ("Fig. E.8", "green")]
    assert parts["Fig. 6"].n_agree == 5  # the entropy at 20 is lower, and too near the collapse to count


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("Fig. 6", {1: spectrum(1.0, 45, height=1.5)}),
        ("Fig. 6", {2: spectrum(10.0, 4, height=1.4)}),
        ("Fig. 6", {3: spectrum(20.0, 1, height=2.0), 4: spectrum(30.0, 1, height=2.0)}),
        ("Fig. E.8", {3: spectrum(20.0, 1, total=-90.0), 4: spectrum(30.0, 0, total=-300.0)}),
        ("Fig. E.8", {3: spectrum(20.0, 1, correlation=1.5), 4: spectrum(30.0, 0, correlation=2.0)}),
        ("Fig. E.8", {2: spectrum(10.0, 4, height=2.0, correlation=0.1)}),
    ],
)
def test_models_of_another_kind_are_found_to_differ(where, change):
    spectra = [change.get(place, one) for place, one in enumerate(AS_PUBLISHED)]
    part = checked(*spectra)[where]
    assert part.n_agree == len(part.checks) - 1


@pytest.mark.parametrize(("heights", "agrees"), [((1.9, 1.3, 1.6), True), ((1.31, 1.3, 1.29), False)])
def test_entropy_may_be_lower_at_the_next_beta_by_as_much_as_seeds_differ(heights, agrees):
    before = [replace(spectrum(1.0, 20, height=height), seed=seed) for seed, height in enumerate((1.4, 1.8, 1.6))]
    after = [replace(spectrum(10.0, 4, height=height), seed=seed) for seed, height in enumerate(heights)]
    last = [replace(spectrum(30.0, 0), seed=seed) for seed in range(3)]
    settings = SpectrumSettings(betas=(1.0, 10.0, 30.0), n_codes=(100,))
    spectra = (*before, *after, *last)
    figure = SpectrumFigure(settings=settings, seed=0, device="cpu", seconds=0, n_digits=1, spectra=spectra)
    grows = spectrum_checks(figure)[0].checks[1]
    assert (grows.agreement == "agrees") is agrees


def test_betas_must_rise():
    with pytest.raises(ValueError, match="betas must rise"):
        SpectrumSettings(betas=(1.0, 0.1))


@pytest.mark.parametrize("name", ["moons", "torus", "digits-flows", "beta-vae-spectrum"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--figure", "nowhere/f.html"), "figure 'nowhere/f.html' cannot be written"),
        (("--json", "nowhere/f.json"), "json 'nowhere/f.json' cannot be written"),
        (("--steps", "0"), "n_steps must be"),
        (("--device", "abacus"), 'Invalid value "abacus" for --device.'),
    ],
)
def test_bad_arguments_stop_before_any_work(capsys, tmp_path, monkeypatch, name, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli(capsys, "reproduce", name, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["moons", "torus", "digits-flows", "beta-vae-spectrum"])
def test_a_card_that_is_not_there_is_said_so(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, _, err = run_cli(capsys, "reproduce", name, "--quick", "--device", "cuda")
    assert code == 2
    assert err.startswith("unbraid: device 'cuda' is not there")
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["digits-flows", "beta-vae-spectrum"])
def test_a_folder_without_digits_is_refused(capsys, tmp_path, name):
    code, out, err = run_cli(capsys, "reproduce", name, "--data", tmp_path, "--figure", tmp_path / "f.html")
    assert (code, out) == (2, "")
    assert "has no digits" in err


def test_the_command_prints_the_table_and_writes_the_figure(capsys, tmp_path):
    figure, numbers = tmp_path / "f.html", tmp_path / "f.json"
    code, out, err = run_cli(
        capsys, "reproduce", "beta-vae-spectrum", "--quick", "--steps", 2, "--figure", figure, "--json", numbers
    )
    assert code == 0
    assert out.splitlines()[0].split()[:4] == ["latents", "beta", "kept", "knee"]
    assert out.splitlines()[1].split()[:2] == ["20", "0.1"]
    assert f"wrote {figure}" in err
    assert "note: " in err
    assert SpectrumFigure.from_json(numbers.read_text()).settings.n_steps == 2
    assert "<svg" in figure.read_text()
