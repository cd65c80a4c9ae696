"""Decoders in the explorer: sizes, ranges, axes that move one factor alone, exports."""

import io
import subprocess
import sys

import numpy as np
import pytest
import torch

import unbraid as ub
from helpers.blobs import blob_representation, write_blobs
from unbraid._base.images import gif
from unbraid._base.optional import pip_install
from unbraid.explorer.decoding import make_decoder
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.subject import Subject, factor_strips


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    model, codes = write_blobs(tmp_path_factory.mktemp("blobs"))
    return open_session([codes], OpeningOptions(decoder=f"{model}:decoder")).subject("m0")


def centre(picture):
    """Where the blob of a picture is, in units of the decoder."""
    grid, weight = np.linspace(-1.5, 1.5, 16), picture[..., 0].astype(float)
    return np.array([(weight.sum(0) * grid).sum(), (weight.sum(1) * grid).sum()]) / weight.sum()


def test_pictures_are_those_of_the_decoder(subject):
    assert subject.decoder.about() == {"n_codes": 4, "height": 16, "width": 16, "channels": 1}
    place = centre(subject.decoder.pictures(np.array([[0.5 * np.cos(np.pi / 6), 0.25, 0, 0]]))[0])
    assert place == pytest.approx([0.5, 0], abs=0.02)


def test_the_axis_of_a_factor_moves_it_and_nothing_else(subject):
    start = np.zeros(4)
    for axis in subject.axes():
        if axis["label"] not in ("x", "y"):
            continue
        moved = start + 0.6 * np.array(axis["move"])
        shift = centre(subject.decoder.pictures(moved[None])[0]) - centre(subject.decoder.pictures(start[None])[0])
        along, across = (0, 1) if axis["label"] == "x" else (1, 0)
        assert shift[along] > 0.5  # towards larger values
        assert abs(shift[across]) < 0.06


def test_axes_that_are_not_at_right_angles_are_still_moved_apart():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (2, 800))
    rep = ub.Representation(np.stack([x + y, y, rng.standard_normal(800)], 1), {"x": x, "y": y})
    axes = Subject("m0", "skewed", rep=rep).axes()
    crossed = np.array([a["axis"] for a in axes]) @ np.array([a["move"] for a in axes]).T
    assert crossed == pytest.approx(np.eye(2), abs=1e-6)


def test_every_factor_has_a_slider_even_where_axes_are_more_than_codes():
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, (600, 4))
    rep = ub.Representation(factors @ rng.standard_normal((4, 2)), factors)
    assert {axis["factor"] for axis in Subject("m0", "narrow", rep=rep).axes()} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("scale", "shift", "low", "high"), [(1.0, 0.0, 0.0, 1.0), (2.0, -1.0, -1.0, 1.0), (200.0, 0.0, 0.0, 200.0)]
)
def test_the_range_of_outputs_is_found(scale, shift, low, high):
    decoder = make_decoder(lambda z: scale * torch.sigmoid(9 * z[:, :, None] * torch.ones(1, 1, 5)) + shift, n_codes=4)
    assert (decoder.low, decoder.high) == pytest.approx((low, high), abs=0.01 * (high - low))


def test_the_number_of_latents_is_tried_out():
    assert make_decoder(torch.nn.Sequential(torch.nn.Linear(7, 9), torch.nn.ReLU())).n_codes == 7


def test_a_module_is_not_changed():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).train()
    make_decoder(module, n_codes=3)
    assert module.training
    assert module[1].num_batches_tracked == 0


def test_numbers_are_drawn_as_a_line_and_flat_pictures_by_their_shape():
    layer = torch.nn.Linear(3, 12)
    assert make_decoder(layer, n_codes=3).about()["numbers"] == 12
    assert make_decoder(layer, n_codes=3, image=(3, 4)).about()["width"] == 4


@pytest.mark.parametrize("model", [lambda z: z[:, :, None, None].repeat(1, 1, 600, 600), lambda z: z.sum(), 3])
def test_what_is_no_decoder_is_refused(model):
    with pytest.raises(ValueError, match=r"(decoder|pictures) must"):
        make_decoder(model, n_codes=1)


def test_colour_and_grey_animations_are_read_back():
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for channels in (1, 3):
        frames = rng.integers(0, 256, (3, 40, 30, channels), dtype=np.uint8)
        found = image.open(io.BytesIO(gif(frames)))
        assert (found.n_frames, found.size) == (3, (30, 40))
        for at in range(3):
            found.seek(at)
            back = np.asarray(found.convert("RGB")).astype(int)
            most = 0 if channels == 1 else 26  # half a step between the colours of the palette
            assert np.abs(back - frames[at]).max() <= most


def test_long_runs_fill_the_table_of_codes_and_begin_anew():
    image = pytest.importorskip("PIL.Image")
    frame = np.random.default_rng(1).integers(0, 256, (1, 200, 200, 1), dtype=np.uint8)
    assert np.array_equal(np.asarray(image.open(io.BytesIO(gif(frame))).convert("L")), frame[0, ..., 0])


def test_a_decoder_alone_starts_from_the_prior(tmp_path):
    (tmp_path / "model.py").write_text("import torch\n\n\ndef make():\n    return torch.nn.Linear(6, 9)\n")
    subject = open_session([f"{tmp_path / 'model.py'}:make"], OpeningOptions(image=(3, 3))).subject("m0")
    assert subject.sliders() == {"low": [-3.0] * 6, "high": [3.0] * 6, "start": [0.0] * 6}
    assert subject.about()["n_rows"] == 0
    assert subject.decoder.pictures(np.zeros((2, 6))).shape == (2, 3, 3, 1)


def test_a_portrait_shows_codes_from_low_to_high(subject):
    assert subject.portrait().shape == (3 * 16 + 2 * 2, 5 * 16 + 4 * 2, 1)


@pytest.mark.slow
def test_without_torch_codes_are_shown_and_decoders_say_what_to_install(tmp_path):
    from test_without_torch import NO_TORCH

    model, codes = write_blobs(tmp_path)
    code = """
from unbraid.explorer.opening import OpeningOptions, open_session
session = open_session([sys.argv[2]], OpeningOptions())
print(session.subject("m0").about()["n_rows"], len(session.subject("m0").axes()))
from unbraid.cli import main
main(["explore", sys.argv[2], "--decoder", f"{sys.argv[1]}:decoder", "--no-browser"])
"""
    done = subprocess.run(
        [sys.executable, "-c", NO_TORCH + code, str(model), str(codes)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "600 3\n"
    assert done.returncode == 2
    assert done.stderr == f"unbraid: a decoder needs torch, which is not installed; run {pip_install('torch')}.\n"


def test_rows_show_decoded_pictures_where_there_are_no_others():
    rep = blob_representation(50)
    decoder = make_decoder(lambda z: z[:, :, None].repeat(1, 1, 3), codes=rep.codes, n_codes=4)
    about = Subject("m0", "decoded", rep=rep, decoder=decoder).about()
    assert about["pictures"]["origin"] == "decoded"


def test_strips_along_axes_stand_beside_strips_along_the_best_codes_of_dci():
    """Two factors turned by 30 degrees: an axis moves its factor alone, the best code moves the other as well."""
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, (800, 2))
    angle = np.pi / 6
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rep = ub.Representation(factors @ turn, {"x": factors[:, 0], "y": factors[:, 1]})
    back = torch.as_tensor(turn.T, dtype=torch.float32)
    decoder = make_decoder(lambda z: (z @ back)[:, None, None, :].expand(-1, 1, 2, 2), n_codes=2, codes=rep.codes)
    report = ub.evaluate(rep, metrics="iwo,dci_linear", n_jobs=1, progress=False, intervals=False, nulls=False)
    strips = factor_strips(rep, report, decoder, n_steps=5)
    assert strips.labels == ("x", "x, best code code_0", "y", "y, best code code_1")
    moved = np.ptp(strips.pictures[..., 0, :, 0].astype(float), axis=1)  # how far each strip moves x and y
    assert moved[0][1] < 0.1 * moved[0][0]
    assert moved[1][1] > 0.3 * moved[1][0]


def test_without_importances_there_are_strips_along_axes_only():
    rng = np.random.default_rng(0)
    codes = rng.uniform(-1, 1, (500, 2))
    rep = ub.Representation(codes, {"x": codes[:, 0], "y": codes[:, 1]})
    decoder = make_decoder(lambda z: z[:, None, None, :].expand(-1, 1, 2, 2), n_codes=2, codes=rep.codes)
    report = ub.evaluate(rep, metrics="iwo", n_jobs=1, progress=False, intervals=False, nulls=False)
    assert factor_strips(rep, report, decoder).labels == ("x", "y")
