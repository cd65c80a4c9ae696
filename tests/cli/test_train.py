import struct

import numpy as np
import pytest

import unbraid
from helpers.small import run_cli
from unbraid.cli import main
from unbraid.models.traversals import traversal_png

pytestmark = pytest.mark.slow

SMALL = ["--preset", "tiny", "--width", "2", "--batch", "8", "--codes", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "made" / "here"
    with pytest.raises(SystemExit) as stop:
        main(["train", *SMALL, "--seeds", "0,1", "--set", "beta=1,8", "--steps", "60", "--out", str(out)])
    assert stop.value.code == 0
    return out


def test_codes_of_each_member_can_be_scored(folder):
    for m in (0, 1):
        rep = unbraid.load(folder / f"codes_{m}.npz")
        assert rep.codes.shape == (4608, 3)
        assert rep.factor_names == ("shape", "scale", "orientation", "x", "y")
        assert rep.factors[2].kind.value == "circular"
    assert not np.array_equal(*(unbraid.load(folder / f"codes_{m}.npz").codes for m in (0, 1)))


def test_decoder_file_can_be_measured(capsys, folder):
    code, out, err = run_cli(
        capsys, "manifold", f"{folder / 'decoder.py'}:member_1", "--latent-dim", "3", "--samples", "20"
    )
    assert code == 0, err
    assert "effective dimension" in out


def test_traversals_have_a_row_for_each_code(folder):
    picture = (folder / "traversals_0.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (9 * 34 - 2, 3 * 34 - 2)


def test_same_command_goes_on_and_another_is_refused(capsys, folder):
    before = (folder / "ensemble.pt").read_bytes()
    code, out, err = run_cli(
        capsys, "train", *SMALL, "--seeds", "0,1", "--set", "beta=1,4", "--steps", "60", "--out", str(folder)
    )
    assert code == 2
    assert "holds a run with other settings (hyperparameters" in err
    assert (folder / "ensemble.pt").read_bytes() == before
    code, out, err = run_cli(
        capsys, "train", *SMALL, "--seeds", "0,1", "--set", "beta=1,8", "--steps", "61", "--out", str(folder)
    )
    assert code == 0, err
    assert [line.partition(":")[0] for line in out.splitlines()] == ["member 0", "member 1"]
    assert unbraid.models.load_models(folder).settings.seeds == (0, 1)
    assert f"note: {folder} held this run already: it went on from step 60; its codes, pictures and decoder.py" in err
    _, _, err = run_cli(
        capsys, "train", *SMALL, "--seeds", "0,1", "--set", "beta=1,8", "--steps", "61", "--out", str(folder)
    )
    assert "held this run already: nothing was left to train" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model", "beta_vae", "--noise", "2"], "noise_dim is for info_gan, got it for beta_vae"),
        (["--device", "meta"], "device 'meta' cannot hold numbers here"),
        (["--batch", "1000000000000"], "to train, and"),
        (["--at-once", "-1"], "at_once must be at least 1, got -1"),
        (["--tensorboard", __file__], "cannot be a folder to write to"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(capsys, tmp_path, options, says):
    code, _, err = run_cli(capsys, "train", *SMALL[:4], *options, "--out", str(tmp_path / "made" / "run"))
    assert code == 2
    assert says in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["decoder.py", "codes_0.npz", "codes_2.npz", "traversals_1.png"])
def test_files_of_the_user_are_replaced_only_on_demand(capsys, tmp_path, name):
    (tmp_path / name).write_text("mine")
    command = ["train", *SMALL, "--steps", "1", "--set", "beta=1,2,3", "--out", str(tmp_path)]
    code, _, err = run_cli(capsys, *command)
    assert code == 2
    assert f"{name}' would be replaced, and no earlier run wrote it as it is; give another folder, or --over" in err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]
    code, _, err = run_cli(capsys, *command, "--overwrite")
    assert code == 0, err
    assert (tmp_path / name).read_bytes() != b"mine"
    code, _, err = run_cli(capsys, *command)
    assert code == 0, err


def test_a_decoder_file_that_was_changed_after_training_is_the_users(capsys, tmp_path):
    command = ["train", *SMALL, "--steps", "1", "--out", str(tmp_path)]
    assert run_cli(capsys, *command)[0] == 0
    text = (tmp_path / "decoder.py").read_text() + "scaled = lambda z: 2 * member_0(z)\n"
    (tmp_path / "decoder.py").write_text(text)
    assert run_cli(capsys, *command)[0] == 2
    assert (tmp_path / "decoder.py").read_text() == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "betavae"], "did you mean 'beta_vae'"),
        (["--data", "sprite"], "did you mean 'sprites'"),
        (["--set", "beta"], "set must be such as beta=4 or beta=1,2,4, got 'beta'"),
        (["--set", "gamma=3"], "no hyperparameter 'gamma'"),
        (["--seeds", "a"], "seeds must be whole numbers such as 0,1,2, got 'a'"),
        (["--steps", "0"], "n_steps must be"),
    ],
)
def test_bad_input(capsys, tmp_path, options, message):
    code, _, err = run_cli(capsys, "train", *SMALL, "--out", str(tmp_path / "new"), *options)
    assert code == 2
    assert message in err
    assert not list(tmp_path.glob("new/*"))


def test_members_that_diverge_are_named_and_the_others_kept(capsys, tmp_path):
    options = [*SMALL, "--seeds", "0,1,2", "--steps", "3", "--at-once", "2", "--out", str(tmp_path / "run")]
    code, out, err = run_cli(capsys, "train", *options, "--set", "beta=1e39,1,2")
    assert code == 0, err
    assert "wrote " in err
    assert [line.partition(" loss")[0] for line in out.splitlines()] == [
        "member 0: diverged at step 1; it has no codes",
        "member 1:",
        "member 2:",
    ]
    made = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert made == [
        *("codes_1.npz", "codes_2.npz", "data.json", "decoder.py", "group_0", "group_1", "groups.json"),
        *("traversals_1.png", "traversals_2.png"),
    ]
    assert "codes_1.npz" in err
    assert "held this run" not in err
    code, _, err = run_cli(capsys, "manifold", f"{tmp_path / 'run' / 'decoder.py'}:member_2", "--latent-dim", "3")
    assert code == 0, err


def test_nothing_is_written_for_a_single_member_that_diverges(capsys, tmp_path):
    code, _, err = run_cli(
        capsys, "train", *SMALL, "--steps", "1", "--set", "beta=1e39", "--out", str(tmp_path / "run")
    )
    assert code == 2
    assert "the model diverged, at step 1: its loss was not finite; train with a smaller learning_rate" in err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["ensemble.pt"]


def test_out_must_be_a_folder(capsys, tmp_path):
    (tmp_path / "file").write_text("here")
    code, _, err = run_cli(capsys, "train", *SMALL, "--out", str(tmp_path / "file"))
    assert code == 2
    assert "cannot be a folder to write to: File exists" in err


class Echo:
    """A model whose picture is its codes: two pixels, one for each."""

    class settings:  # noqa: N801
        shape = (1, 1, 2)
        categories = ()

    def decode(self, codes):
        return codes.reshape(1, -1, 1, 1, 2)


def test_traversals_move_one_code_over_what_the_data_show():
    import zlib

    codes = np.stack([np.linspace(0.4, 0.6, 101), np.linspace(0, 1, 101)], axis=1)
    picture = traversal_png(Echo(), codes, n_steps=3)
    width, height = struct.unpack(">II", picture[16:24])
    assert (width, height) == (3 * 2 + 2 * 2, 2 * 1 + 2)
    start = picture.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", picture[start - 8 : start - 4])
    lines = np.frombuffer(zlib.decompress(picture[start : start + length]), np.uint8).reshape(height, 1 + width)[:, 1:]
    wide, narrow = np.round(255 * np.array([0.02, 0.5, 0.98])), np.round(255 * np.array([0.404, 0.5, 0.596]))
    middle = round(255 * 0.5)
    assert lines[0].tolist() == [middle, wide[0], 128, 128, middle, wide[1], 128, 128, middle, wide[2]]
    assert lines[3].tolist() == [narrow[0], middle, 128, 128, narrow[1], middle, 128, 128, narrow[2], middle]


def test_traversals_need_pictures():
    class Vectors(Echo):
        class settings:  # noqa: N801
            shape = (5,)

    with pytest.raises(ValueError, match=r"pictures with 1 or 3 channels, got rows of shape \(5,\)"):
        traversal_png(Vectors(), np.zeros((4, 2)))


def test_the_earlier_name_of_set_is_a_note(capsys, tmp_path):
    made = ("train", *SMALL, "--strength", "beta=2", "--steps", "2", "--out", tmp_path / "run")
    status, _, err = run_cli(capsys, *made)
    assert status == 0
    assert "note: --strength is now called --set" in err


def test_info_gan_is_trained_encoded_and_measured(capsys, tmp_path):
    out = tmp_path / "gan"
    command = f"train --model info_gan --out {out} --steps 3 --codes 5 --categories 3 --noise 4 --width 4 --batch 8"
    code, said, err = run_cli(capsys, *command.split(), "--set", "weight=1,0")
    assert code == 0, err
    assert "categorical information" in said
    assert " of 1.10" in said  # the entropy of three values
    assert unbraid.load(out / "codes_1.npz").code_names == ("c0=0", "c0=1", "c0=2", "c1", "c2")
    picture = (out / "traversals_0.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (9 * 34 - 2, 3 * 34 - 2)  # one row for the categorical code
    measure = ["manifold", f"{out / 'decoder.py'}:member_1_2", "--latent-dim", "6", "--samples", "4"]
    assert run_cli(capsys, *measure)[0] == 0
    code, _, err = run_cli(capsys, *command.split(), "--set", "weight=1,0")
    assert code == 0, err  # decoder.py is as it was written, and written anew
