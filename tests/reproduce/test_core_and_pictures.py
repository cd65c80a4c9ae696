"""Core latents of flows, pictures of their latents, and which moon a latent runs along."""

import numpy as np
import pytest
import torch

from unbraid.manifold import DecoderPictures
from unbraid.reproduce import Colour, CoreFigure, CoreSettings, DigitsSettings, core_latents
from unbraid.reproduce.digit_flows.core import CoreFlow, core_checks
from unbraid.reproduce.digit_flows.pictures import GAP, interpolation_sheet, jacobian_sheet, sheet_of
from unbraid.reproduce.flows_of_digits import digits_flows
from unbraid.reproduce.two_moons import MoonsQuantity, MoonsSettings, draw_moons, moons, runs_along


class Polar:
    """A flow by hand: one latent turns about the centre of the upper moon, the other moves away from it."""

    def __init__(self, turns_first):
        self.order = [0, 1] if turns_first else [1, 0]

    def encode(self, x):
        both = torch.stack([torch.atan2(x[:, 1], x[:, 0]), x.norm(dim=1)], dim=1)
        return both[:, self.order]

    def decode(self, z):
        angle, radius = z[:, self.order].T
        return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)


@pytest.mark.parametrize("turns_first", [True, False])
def test_a_latent_that_turns_runs_along_the_upper_moon(turns_first):
    points, is_lower = draw_moons(400, 0)
    along = runs_along(Polar(turns_first), points, is_lower, "cpu")
    assert (along[~is_lower] == turns_first).all()
    assert 0.2 < along[is_lower].mean() < 0.8  # the lower moon has another centre


@pytest.mark.slow
def test_moons_go_on_from_their_checkpoints(tmp_path, monkeypatch):
    settings = MoonsSettings(n_points=200, n_blocks=2, width=8, n_steps=2, n_samples=20)
    first = moons(settings=settings, n_seeds=1, store=tmp_path)
    assert len(list(tmp_path.glob("*/flow.pt"))) == 3
    monkeypatch.setattr(
        "unbraid.models.flows.loop.FlowLearner.make_step", lambda *_: pytest.fail("a kept flow was trained again")
    )
    again = moons(settings=settings, n_seeds=1, store=tmp_path)
    assert again.flows == first.flows
    assert 0 <= first.flows[1][MoonsQuantity.ALONG_UPPER] <= 1


def core_flow(n_core, n_before, *, across=0.1, core=2.0):
    return CoreFlow(
        n_core=n_core,
        n_before_knee=n_before,
        fall=1.0,
        latent_entropy=(core,) * n_core + (0.0,) * (64 - n_core),
        across=across,
        within=0.2,
        rebuilt=0.9,
        held_out_nats_per_pixel=0.5,
        training_seconds=1.0,
    )


@pytest.mark.parametrize(
    ("flow", "colours"),
    [
        (core_flow(10, 10), (Colour.GREEN, Colour.GREEN)),
        (core_flow(10, 11), (Colour.GREEN, Colour.GREEN)),
        (core_flow(10, 12), (Colour.AMBER, Colour.GREEN)),
        (core_flow(10, 12, core=0.1), (Colour.RED, Colour.GREEN)),
        (core_flow(10, 10, across=0.3), (Colour.GREEN, Colour.RED)),
    ],
)
def test_the_knee_must_lie_behind_the_core(flow, colours):
    figure = CoreFigure(settings=CoreSettings(), seed=0, device="cpu", seconds=0, n_digits=1, side=8, flows=(flow,))
    assert tuple(part.colour for part in core_checks(figure)) == colours


@pytest.mark.slow
def test_core_latents_are_measured_and_kept(tmp_path):
    settings = CoreSettings(
        n_core=(3, 5), n_blocks=(1, 1), channels=(2, 2), width=8, n_steps=2, batch_size=32, n_samples=3
    )
    found = core_latents(settings=settings, store=tmp_path)
    assert [one.n_core for one in found.flows] == [3, 5]
    assert all(len(one.latent_entropy) == 64 for one in found.flows)
    assert CoreFigure.from_json(found.to_json()) == found
    assert found.draw(tmp_path / "core.html").read_text(encoding="utf-8").count('viewBox="0 0 64 64"') == 2
    again = core_latents(settings=settings, store=tmp_path)
    assert again.flows == found.flows  # with the seconds of the first run


def test_more_core_latents_than_pixels_are_refused():
    with pytest.raises(ValueError, match="n_core must be below 64, the pixels of a digit, got 64"):
        core_latents(settings=CoreSettings(n_core=(64,)))


def test_sheets_have_a_place_for_every_picture():
    sheet = sheet_of(np.arange(6.0).reshape(2, 3, 1, 1) / 5)
    assert sheet.shape == (2 + GAP, 3 + 2 * GAP, 1)
    assert sheet[:: 1 + GAP, :: 1 + GAP, 0].tolist() == [[0, 51, 102], [153, 204, 255]]


def test_pictures_of_classes_become_rows_and_columns():
    rng = np.random.default_rng(0)
    pictures = {
        name: DecoderPictures(
            latents=np.arange(3),
            mean_jacobian=rng.normal(size=(3, 4, 4, 1)),
            traversals=rng.normal(size=(3, 5, 4, 4, 1)),
            steps=np.linspace(-2, 2, 5),
            contours=None,
        )
        for name in "ab"
    }
    cell = 4 + GAP
    assert jacobian_sheet(pictures).shape == (2 * cell - GAP, 3 * cell - GAP, 1)
    assert interpolation_sheet(pictures).shape == (3 * cell - GAP, 2 * (5 + 1) * cell - GAP, 1)


@pytest.mark.slow
def test_flows_with_classes_leave_pictures_beside_their_numbers(tmp_path):
    settings = DigitsSettings(
        n_blocks=(1, 1), channels=(2, 2), width=8, as_counted=False, n_steps=1, batch_size=32, n_samples=4
    )
    found = digits_flows(settings=settings, flows=["GIN"], store=tmp_path)
    assert {path.name for path in tmp_path.glob("GIN-*/*.png")} == {"jacobians.png", "interpolations.png"}
    assert len(found.flows[0].deviations) == 64
    assert found.charts()[0].title == "Two spectra of GIN"
