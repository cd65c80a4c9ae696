"""``unbraid train`` for models that read labels."""

import struct
from base64 import b64encode

import numpy as np
import pytest

import unbraid
from helpers.small import run_cli
from unbraid.models import load_models

pytestmark = pytest.mark.slow

SMALL = ["--preset", "tiny", "--width", "2", "--batch", "8", "--steps", "3"]


def test_blocks_are_in_the_codes_and_in_a_picture(capsys, tmp_path):
    command = ["train", *SMALL, "--model", "diva", "--data", "rotated_digits", "--hold-out", "angle=4,5"]
    command += ["--blocks", "z_d=2,z_y=3,z_x=1", "--labelled", "0.5", "--out", str(tmp_path)]
    code, out, err = run_cli(capsys, *command)
    assert code == 0, err
    assert "of the targets of 2000 rows that were held out" in out
    rep = unbraid.load(tmp_path / "codes_0.npz")
    assert rep.codes.shape == (6000, 6)
    assert rep.blocks == {"z_d": (0, 1), "z_y": (2, 3, 4), "z_x": (5,)}
    settings = load_models(tmp_path).settings
    assert (settings.n_rows, settings.labelled) == (4000, 0.5)
    assert settings.labels == (("y", "digit", 10), ("d", "angle", 6))
    picture = (tmp_path / "blocks_0.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (10 * 30 - 2, 8 * 30 - 2)  # pictures, all, 3 alone, 3 swapped
    assert run_cli(capsys, *command)[0] == 0  # goes on where it was


def test_pictures_of_a_run_are_in_the_report_of_its_codes(capsys, tmp_path):
    command = ["train", *SMALL, "--model", "dc_ign", "--labels", "x,y", "--seeds", "0,1", "--out", str(tmp_path)]
    assert run_cli(capsys, *command)[0] == 0
    page = tmp_path / "report.html"
    scored = ["--metrics", "mig", "--no-intervals", "--no-nulls", "--report", str(page)]
    assert run_cli(capsys, "score", str(tmp_path / "codes_1.npz"), *scored)[0] == 0
    html = page.read_text(encoding="utf-8")
    for name in ("traversals_1.png", "blocks_1.png"):
        assert b64encode((tmp_path / name).read_bytes()).decode() in html
    assert b64encode((tmp_path / "traversals_0.png").read_bytes()).decode() not in html
    (tmp_path / "codes_1.npz").rename(tmp_path / "mine.npz")
    assert run_cli(capsys, "score", str(tmp_path / "mine.npz"), *scored)[0] == 0
    assert "What the model draws" not in page.read_text(encoding="utf-8")


def test_a_table_has_codes_and_no_pictures(capsys, tmp_path):
    command = ["train", *SMALL, "--model", "vfae", "--data", "applicants", "--labels", "s=group,y=hired"]
    code, _, err = run_cli(capsys, *command, "--out", str(tmp_path))
    assert code == 0, err
    assert unbraid.load(tmp_path / "codes_0.npz").factor_names == ("hired", "group")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes_0.npz", "data.json", "decoder.py", "ensemble.pt"]


def test_a_code_for_each_reserved_factor(capsys, tmp_path):
    command = ["train", *SMALL, "--model", "dc_ign", "--labels", "x,y", "--out", str(tmp_path)]
    assert run_cli(capsys, *command)[0] == 0
    assert unbraid.load(tmp_path / "codes_0.npz").blocks == {"x": (0,), "y": (1,), "rest": (2, 3, 4, 5)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "diva", "--hold-out", "angle=1,2,3,4,5"], "must take two values or more in the data, got 0 only"),
        (["--model", "diva", "--hold-out", "angle=9"], "hold_out must hold out some rows, got 'angle=9', which no"),
        (["--model", "diva", "--hold-out", "tilt=1"], "factor of hold_out must be one of digit, angle, got 'tilt'"),
        (["--model", "vfae", "--labels", "y=digit,d=angle"], "labels of vfae must name a factor for y and s"),
        (["--model", "diva", "--labels", "digit"], "labels of diva must name a factor for y and d"),
        (["--model", "diva", "--blocks", "z_y=2"], "blocks of diva must be z_d, z_y, z_x, got z_y"),
        (["--model", "diva", "--labelled", "2"], "labelled must be a share above 0 and at most 1, got 2"),
        (["--model", "beta_vae", "--labels", "digit"], "labels are for diva, vfae, dc_ign, got them for beta_vae"),
    ],
)
def test_bad_input(capsys, tmp_path, options, message):
    out = tmp_path / "run"
    code, printed, err = run_cli(capsys, "train", *SMALL, "--data", "rotated_digits", *options, "--out", str(out))
    assert code == 2
    assert message in err
    assert printed == ""
    assert not out.exists()


def test_blocks_are_drawn_alone_and_swapped():
    from unbraid.data import rotated_digits
    from unbraid.models import train
    from unbraid.models.traversals import blocks_png

    data = rotated_digits(n_per_digit=1, angles=(0, 90))
    model = train("diva", data, n_steps=2, n_codes=3, width=2, batch_size=4)
    pictures = data.observations(np.arange(2))
    both = blocks_png(model, pictures)
    assert both != blocks_png(model, pictures[::-1])
    plain = train("vae", data, n_steps=1, n_codes=3, width=2, batch_size=4)
    with pytest.raises(ValueError, match="vae has no blocks of codes to show"):
        blocks_png(plain, pictures)
