"""Reproductions of the manifold figures: what is known on paper, then small runs."""

import json
import math

import numpy as np
import pytest
import torch

from helpers.small import run_cli
from unbraid.manifold import analyze
from unbraid.reproduce import (
    DigitsSettings,
    FigureResult,
    Line,
    MoonsSettings,
    SpectrumSettings,
    TorusSettings,
    beta_vae_spectrum,
    digits_flows,
    moons,
    torus,
)
from unbraid.reproduce.flows_of_digits import normalised, rank_correlation, read_digits
from unbraid.reproduce.torus_truth import mean_log_radius, random_torus, true_entropies
from unbraid.reproduce.two_moons import moons_entropy
from unbraid.reproduce.vae_spectrum import n_kept

pytestmark = pytest.mark.slow

UNIT = 0.5 * (1 + math.log(2 * math.pi))


@pytest.fixture(scope="module")
def small_torus():
    settings = TorusSettings(
        n_angles=2, n_data=4000, n_blocks=3, width=16, n_steps=150, batch_size=64, learning_rate=2e-2, n_samples=100
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
    name = "with total correlation"
    assert small_torus[f"latents in place, {name}"].ours == "4"
    assert small_torus[f"MCPMI on the diagonal, share, {name}"].ours > 0.8
    assert small_torus[f"squared Pearson on the diagonal, mean, {name}"].ours > 0.65
    assert small_torus[f"spectrum, largest error in nats, {name}"].ours < 0.5
    assert small_torus[f"total correlation, nats per latent, {name}"].ours < 0.05
    assert small_torus[f"nats lost on fresh data, {name}"].ours < 0.5


def test_likelihood_alone_does_not(small_torus):
    assert small_torus["total correlation, nats per latent, likelihood"].ours > 0.1
    assert small_torus["MCPMI on the diagonal, share, likelihood"].ours < 0.6


def test_the_torus_page_and_numbers_can_be_written(small_torus, tmp_path):
    html = small_torus.to_html(tmp_path / "torus.html").read_text()
    assert html.count("<rect ") == 4 * 16
    assert html.count('class="cross"') == 4 + 1
    data = json.loads(small_torus.to_json(tmp_path / "torus.json"))
    assert data == json.loads((tmp_path / "torus.json").read_text())
    assert data["rows"][0] | {"ours": 0} == {
        "what": "total correlation, nats per latent, likelihood",
        "ours": 0,
        "paper": 0.9,
        "truth": 0.0,
    }
    assert data["meta"]["couplings"] == 3
    assert len(data["data"]["likelihood"]["sorted_entropy"]) == 4


def test_the_entropy_of_moons_is_nearly_that_of_two_thin_arcs():
    thin = math.log(2 * math.pi) + 0.5 * math.log(2 * math.pi * math.e * 0.01)
    assert moons_entropy(5000) == pytest.approx(thin, abs=0.1)


def test_moons_have_three_panels_with_entropies_and_mutual_information(tmp_path):
    settings = MoonsSettings(n_data=200, n_blocks=2, width=8, n_steps=3, n_samples=20)
    found = moons(settings=settings)
    assert [chart.title[:3] for chart in found.groups[0].charts] == ["(A)", "(B)", "(C)"]
    for letter in "ABC":
        panel = found.data[letter]
        total = panel["entropy_c"] + panel["entropy_d"] - panel["mutual_information"]
        assert total == pytest.approx(panel["total_entropy"], abs=1e-4)
    assert found["(A) total entropy"].truth == pytest.approx(moons_entropy())
    assert found.to_html(tmp_path / "moons.html").read_text().count("<polyline") == 3 * 30


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
    assert list(found.data) == ["GLOW-like", "GIN", "cINN", "wavelet"]
    assert found["total correlation, nats per latent, wavelet"].paper == 0.5
    assert found["wavelet, mean entropy in set D (48 latents)"].paper == "significantly lower"
    assert all(len(one["latent_entropy"]) == 64 for one in found.data.values())
    assert found.table[0] == ("what", "ours", "paper")
    assert any("8 by 8" in note for note in found.notes)
    assert found.to_html(tmp_path / "digits.html").read_text().count("<rect ") == 4 * 64**2


def test_the_knee_is_the_largest_fall():
    assert n_kept(np.array([2.0, 1.9, 1.8, -1.0, -1.3])) == 3
    assert n_kept(np.array([2.0, 1.9, 1.8])) == 3
    assert n_kept(np.array([-1.0, -1.1, -1.2])) == 0


def test_larger_beta_keeps_fewer_latents():
    settings = SpectrumSettings(
        betas=(0.1, 30.0), n_codes=8, width=32, n_steps=400, batch_size=32, learning_rate=5e-3, n_samples=20
    )
    found = beta_vae_spectrum(settings=settings)
    assert int(found["latents kept, beta 0.1"].ours) >= 1
    assert found["latents kept, beta 30"].ours == "0"
    assert found["latents kept, beta 30"].paper == "uninformative"
    assert found["mean entropy of those kept, beta 0.1"].ours > 1.0


def test_a_result_leaves_out_an_empty_column():
    result = FigureResult(
        name="n",
        title="t",
        where="w",
        lede="l",
        groups=(),
        notes=(),
        data={},
        meta={},
        lines=(Line(what="a", ours=1.0),),
    )
    assert result.table == (("what", "ours", "paper"), [("a", "1.000", "")])


@pytest.mark.parametrize("name", ["moons", "torus", "digits-flows", "beta-vae-spectrum"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--figure", "nowhere/f.html"), "figure 'nowhere/f.html' cannot be written"),
        (("--json", "nowhere/f.json"), "json 'nowhere/f.json' cannot be written"),
        (("--steps", "0"), "n_steps must be at least 1, got 0."),
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
    assert err == "unbraid: device 'cuda' is not there: torch sees no CUDA card; give device='cpu'.\n"
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
    assert out.splitlines()[0].split() == ["what", "ours", "paper"]
    assert "latents kept, beta 0.03" in out
    assert f"wrote {figure}" in err
    assert "note: " in err
    assert json.loads(numbers.read_text())["meta"]["steps"] == 2
    assert "<svg" in figure.read_text()
