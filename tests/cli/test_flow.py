"""Flows trained from the command line, and measured by their folder."""

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid.models.flows import load_flow
from unbraid.representation.files import save
from unbraid.representation.representation import Representation

pytestmark = pytest.mark.slow
SHORT = ("--steps", "4", "--batch", "16")


def points(n=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) * [3.0, 0.5] + 7


def test_a_flow_of_a_file_is_kept_resumed_and_measured(tmp_path, capsys):
    np.save(tmp_path / "points.npy", points())
    out = tmp_path / "flow"
    code, told, err = run_cli(capsys, "flow", tmp_path / "points.npy", "--out", out, "--blocks", "1", *SHORT)
    assert code == 0
    assert told.startswith("objective ")
    assert "best held-out state at step 4" in told
    assert f"unbraid manifold {out / 'decoder.py'}:decode --latent-dim 2" in err
    again = run_cli(capsys, "flow", tmp_path / "points.npy", "--out", out, "--blocks", "1", *SHORT)
    assert again[1] == told
    code, told, _ = run_cli(capsys, "manifold", f"{out / 'decoder.py'}:decode", "--latent-dim", "2", "--samples", "20")
    assert code == 0
    assert "total correlation" in told


def test_classes_of_a_factor_are_seen(tmp_path, capsys):
    save(Representation(points(), np.arange(60) % 3, names=["group"]), tmp_path / "points.npz")
    out = tmp_path / "flow"
    options = ("--kind", "affine", "--labels", "group", "--objective", "total_correlation", "--blocks", "1")
    code, _, err = run_cli(capsys, "flow", tmp_path / "points.npz", "--out", out, *options, *SHORT)
    assert code == 0
    assert err.rstrip().endswith("--latent-dim 2 --classes 3")


def pictures(n=60):
    """Pictures of 4 by 4 pixels, of three classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    return Representation(rng.normal(size=(n, 16)) + labels[:, None], labels, names=["group"])


def test_a_gin_is_measured_at_its_gaussians(tmp_path, capsys):
    save(pictures(), tmp_path / "pictures.npz")
    out = tmp_path / "gin"
    code, _, err = run_cli(
        capsys, "flow", tmp_path / "pictures.npz", "--kind", "gin", "--labels", "group", "--out", out, *SHORT
    )
    assert code == 0, err
    assert err.rstrip().endswith(f"--latent-dim 16 --mixture {out / 'mixture.npz'}")
    kept, flow = np.load(out / "mixture.npz"), load_flow(out)
    assert kept["means"].shape == kept["deviations"].shape == (3, 16)
    np.testing.assert_allclose(kept["deviations"], flow.prior.deviations.detach().numpy())
    measured = ("--latent-dim", "16", "--mixture", out / "mixture.npz", "--samples", "3")
    code, told, err = run_cli(capsys, "manifold", f"{out / 'decoder.py'}:decode", *measured)
    assert code == 0, err
    # GIN keeps volumes: the entropy of a class is that of its Gaussian.
    expected = 8 * (1 + np.log(2 * np.pi)) + np.log(kept["deviations"]).sum(axis=1)
    assert [float(line.split()[2]) for line in told.splitlines()[1:4]] == pytest.approx(expected, abs=0.01)


def test_the_sets_of_a_wavelet_flow_are_told(tmp_path, capsys):
    save(pictures(), tmp_path / "pictures.npz")
    code, _, err = run_cli(capsys, "flow", tmp_path / "pictures.npz", "--kind", "wavelet", "--out", tmp_path, *SHORT)
    assert code == 0, err
    assert err.rstrip().endswith("--partition average=0-0,detail_1=1-3,detail_2=4-15")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "glow"), "glow is for square pictures of one channel, got 2 numbers"),
        (("--kind", "gin"), "gin needs classes, one Gaussian each: give labels."),
        (("--hold-out", "1"), "hold_out must be a share of the rows from 0 to below 1, got 1."),
        (("--core", "3"), "core must be from 1 to 2, the latents, got 3."),
        (("--weight", "-1"), "weight must be at least 0, got -1"),
        (("--device", "abacus"), "device must be one"),
        (("--recorded",), "recorded is for device 'cuda'; leave it out on a processor."),
    ],
)
def test_bad_arguments_exit_2_in_one_sentence(tmp_path, capsys, arguments, message):
    np.save(tmp_path / "points.npy", points())
    code, told, err = run_cli(capsys, "flow", tmp_path / "points.npy", "--out", tmp_path / "flow", *arguments, *SHORT)
    assert (code, told) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert not (tmp_path / "flow" / "decoder.py").exists()
