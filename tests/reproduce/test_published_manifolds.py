"""Every printed number of the paper on manifold entropic metrics in the code is the one in the paper's text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unbraid.reproduce import flows_of_digits, torus_flow, torus_truth, two_moons, vae_spectrum
from unbraid.reproduce.digit_flows import flows as digit_flows

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "manifolds.json").read_text(encoding="utf-8"))


def test_two_moons():
    printed, ours = PUBLISHED["moons, sec. 6 and D.1"], two_moons.FULL
    assert pytest.approx(printed["noise variance"]) == two_moons.NOISE**2
    assert (ours.n_blocks, two_moons.N_BINS) == (printed["blocks"], printed["bins"])
    assert (printed["weight of (B)"], printed["weight of (C)"]) == (two_moons.WEIGHT_B, two_moons.WEIGHT_C)


def test_torus():
    printed = PUBLISHED["torus, sec. 6"]
    torus = torus_truth.random_torus(torus_flow.FULL.n_angles, np.random.default_rng(0))
    angles, radii = np.split(torus.deviations, 2)
    assert (len(angles), torus.size) == (printed["angles"], printed["dimensions"])
    assert angles[0] == pytest.approx(printed["angle deviation over a turn"] * 2 * np.pi)
    assert radii[0] == pytest.approx(printed["radius deviation"])
    assert np.log(angles[0] / angles[-1]) == np.log(radii[0] / radii[-1]) == pytest.approx(printed["last exponent"])
    assert PUBLISHED["torus, D.3.2"] == torus_flow.PUBLISHED


def test_flows_of_digits():
    printed, ours = PUBLISHED["digits, sec. 7"], digit_flows.FULL
    assert {name: printed[name] for name in digit_flows.PUBLISHED} == digit_flows.PUBLISHED
    assert printed["side"] == digit_flows.PUBLISHED_SIDE
    assert printed["dimensions"] == digit_flows.PUBLISHED_SIDE**2
    assert ours.noise == PUBLISHED["digits, E.1.4"]["noise"]
    for table in ("Table E.1", "Table E.2"):
        about = PUBLISHED[f"digits, {table}"]
        assert [ours.n_blocks[0], *ours.n_blocks] == about["blocks"]
        assert [*ours.channels, ours.width] == about["widths"]
    assert PUBLISHED["digits, Table E.1"]["classes"] == digit_flows.N_CLASSES


def test_index_sets_of_the_wavelet_flow():
    printed = PUBLISHED["digits, sec. 7, index sets"]
    edges = flows_of_digits.set_edges(digit_flows.PUBLISHED_SIDE)
    assert [[start + 1, stop] for start, stop in edges] == list(printed.values())


def test_learned_numbers_of_cinn_and_gin():
    pytest.importorskip("zuko")
    flows = digit_flows.make_flows(digit_flows.PUBLISHED_SIDE, digit_flows.FULL, 0)
    for name, table in (("cINN", "Table E.1"), ("GIN", "Table E.2")):
        learned = sum(one.numel() for one in flows[name].transform.parameters() if one.requires_grad)
        assert learned == PUBLISHED[f"digits, {table}"]["parameters"]


def test_beta_vaes():
    printed, ours = PUBLISHED["beta-VAEs, sec. 7 and Fig. 6"], vae_spectrum.FULL
    assert (ours.betas[0], ours.betas[-1]) == (printed["beta from"], printed["beta to"])
    assert list(ours.n_codes) == printed["latents"]
    assert printed["uninformative above"] == vae_spectrum.PUBLISHED_LIMIT
    assert ours.batch_size == PUBLISHED["beta-VAEs, E.2.1"]["batch size"]
