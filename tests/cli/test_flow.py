"""Flows trained from the command line, and measured by their folder."""

import numpy as np
import pytest

from helpers.small import run_cli
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "glow"), "glow is for square pictures of one channel, got 2 numbers"),
        (("--kind", "gin"), "gin needs classes, one Gaussian each: give labels."),
        (("--hold-out", "1"), "hold_out must be a share of the rows from 0 to below 1, got 1."),
        (("--core", "3"), "core must be from 1 to 2, the latents, got 3."),
        (("--weight", "-1"), "weight must be at least 0, got -1"),
        (("--device", "abacus"), "device must be one"),
    ],
)
def test_bad_arguments_exit_2_in_one_sentence(tmp_path, capsys, arguments, message):
    np.save(tmp_path / "points.npy", points())
    code, told, err = run_cli(capsys, "flow", tmp_path / "points.npy", "--out", tmp_path / "flow", *arguments, *SHORT)
    assert (code, told) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert not (tmp_path / "flow" / "decoder.py").exists()
