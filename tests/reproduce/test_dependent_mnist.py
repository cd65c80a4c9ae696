import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import numpy as np
import pytest

from helpers.idx import random_digits, write_part
from helpers.small import run_cli
from unbraid._base.optional import pip_install
from unbraid.cli import main
from unbraid.data import ColouredDigits, Digits, bundled_digits, coloured_digits
from unbraid.reproduce import PUBLISHED_NUMBERS, DependentMnist, VaeSettings, dependent_mnist
from unbraid.reproduce.coloured_vae import PLACES, _trained, learn_codes
from unbraid.reproduce.dependent_digits import _coloured

pytestmark = pytest.mark.slow


class Ran(NamedTuple):
    code: int
    out: str
    err: str
    result: DependentMnist
    picture: str


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Run the command once, on scikit-learn's digits, with hardly any training."""
    folder = tmp_path_factory.mktemp("tiny")
    files = ("--json", folder / "out.json", "--picture", folder / "digits.svg")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main(["reproduce", "dependent-mnist", "--quick", "--epochs", "12", *map(str, files)])
    result = DependentMnist.from_json((folder / "out.json").read_text())
    return Ran(stop.value.code, out.getvalue(), err.getvalue(), result, (folder / "digits.svg").read_text())


def test_published_numbers_are_those_of_the_paper():
    # Tables 6, 7 and 8 of arXiv:2408.07016, then the errors and accuracies in the text of section 6.
    published = {line.label: line.published for line in PUBLISHED_NUMBERS if line.published is not None}
    assert list(published.values()) == [
        *(1.0, 0.7117, 0.9314, 0.9565),
        *(0.4819, 0.7972, 0.5728, 0.9971),
        *(0.9892, 0.9914, 0.9953),
        *(1.25e-3, 7.50e-4, 7.04e-4, 0.9925, 1.0, 1.0),
    ]


def test_prints_ours_beside_the_papers(tiny):
    table, settings, _ = tiny.out.split("\n\n")
    header, *rows = table.splitlines()
    assert tiny.code == 0
    assert header.split() == ["where", "paper's", "name", "metric", "ours", "paper"]
    assert "cross-fitted forests, absolute error" in " ".join(settings.split())
    assert all(any(line.name in row and line.label in row for row in rows) for line in PUBLISHED_NUMBERS)
    (mig,) = [row.split() for row in rows if " mig " in row]
    assert mig[:5] == ["Table", "7", "MIG", "mig", f"{tiny.result.scores['mig'].ours:.3f}"]
    assert mig[5] == "0.4819"


def test_writes_everything_as_json(tiny):
    found = tiny.result
    assert list(found.scores) == [row.name for row in PUBLISHED_NUMBERS]
    assert all(0 <= score.ours <= 1 and score.spread is None for score in found.scores.values())
    assert found.scores["mig"].paper == 0.4819
    assert (found.n_train, found.n_test, found.settings.n_codes, found.settings.n_epochs) == (570, 150, 16, 12)
    assert found.drawing is None


def test_colours_are_soon_in_their_codes(tiny):
    ours = {name: number.ours for name, number in tiny.result.scores.items()}
    assert ours["accuracy.background_colour"] > 0.95
    assert ours["error.background_colour"] < 0.02 < ours["error.digit"]
    assert ours["classifier.digit"] > 0.95


def test_notes_say_what_differs_and_what_was_written(tiny):
    lines = [line for line in tiny.err.splitlines() if line.startswith(("note:", "wrote"))]
    assert [line.partition(" ")[0] for line in lines] == ["note:"] * 3 + ["wrote"] * 2
    assert "Trained on 570 digits and measured on 150 others" in lines[1]
    assert "a weight of 0.005" in lines[2]


def test_the_picture_has_eight_styles(tiny):
    assert tiny.picture.count("<image ") == 5
    assert f'height="{2 * 16 + 2 * 8 * 30}"' in tiny.picture


def test_a_decoder_that_does_as_asked_is_said_to(monkeypatch):
    def paint(model, codes):
        [codes] = codes
        values = np.stack([np.abs(codes[:, [k]] - np.array(p)).argmin(axis=1) for k, p in enumerate(PLACES)], axis=1)
        first = np.array([np.flatnonzero(known.digits.labels == digit)[0] for digit in values[:, 0]])
        pictures = ColouredDigits(known.digits.take(first), values, n_digits=4)
        return pictures.observations(np.arange(len(values)))[None]

    monkeypatch.setattr("unbraid.models.ensemble.TrainedEnsemble.decode", paint)
    digits = bundled_digits()
    known = coloured_digits(digits.take(np.arange(300)), rng=0)
    judged = coloured_digits(digits.take(np.arange(300, 400)), rng=1)
    [run] = learn_codes([(known, judged)], VaeSettings(n_codes=4, n_epochs=1))
    assert run.as_asked.all()
    assert run.as_asked.shape[1:] == (16, 3)
    assert run.codes.shape == (len(judged), 4)
    assert run.train_codes.shape == (len(known), 4)


def test_a_folder_with_both_parts_holds_out_the_second(tmp_path, monkeypatch):
    scores = dict.fromkeys((line.name for line in PUBLISHED_NUMBERS), 0.5)
    monkeypatch.setattr(
        "unbraid.reproduce.dependent_digits.all_scores", lambda codes, *, seed, progress: scores | {"mig": seed}
    )
    rng = np.random.default_rng(0)
    for part, n_samples in (("train", 200), ("t10k", 100)):
        write_part(tmp_path, part, *random_digits(n_samples, seed=int(rng.integers(99))), compress=True)
    found = dependent_mnist(tmp_path, n_seeds=3, settings=VaeSettings(n_codes=16, n_epochs=1))
    assert (found.n_train, found.n_test) == (80, 40)
    assert (found.scores["mig"].seeds, found.scores["mig"].ours, found.scores["mig"].spread) == ((0, 1, 2), 1, 1)
    assert not found.bundled
    assert len(found.notes) == 2


def test_the_network_and_its_training_are_those_of_the_appendix(monkeypatch):
    # App. D of arXiv:2408.07016: four convolutions, beta 0.005, 200 epochs of batches of 128, steps at 80, 120 and 160.
    given = {}
    monkeypatch.setattr("unbraid.models.train", lambda model, data, **options: given.update(options, model=model))
    data = coloured_digits(bundled_digits(), rng=0)
    assert len(data) == 720  # six batches
    _trained([data, data], VaeSettings(), device="cpu")
    assert list(given["seeds"]) == [0, 1]
    assert [(rows[0], rows[-1]) for rows in given["member_rows"]] == [(0, 719), (720, 1439)]
    assert given["model"] == "conditioned_vae"
    assert given["places"] == PLACES
    assert given["convolutions"] == ((16, 7), (16, 5), (32, 3), (32, 3))
    assert (given["n_codes"], given["batch_size"], given["learning_rate"]) == (64, 128, 1e-3)
    assert (given["n_steps"], given["milestones"]) == (200 * 6, [80 * 6, 120 * 6, 160 * 6])
    # Half the summed squared error is the mean times half the number of pixels and channels, and so is the weight.
    assert (given["likelihood"], given["beta"]) == ("gaussian", pytest.approx(0.005 * 3 * 28 * 28 / 2))


def test_no_digit_is_both_learned_from_and_held_out():
    images = np.arange(400, dtype=np.uint16)[:, None, None].view(np.uint8)  # each its own number
    sets = _coloured(Digits(images=images, labels=np.arange(400) % 4), None, 0, None)
    learned, judged = ({image.tobytes() for image in part.digits.images} for part in sets)
    assert (len(learned), len(judged), len(learned | judged)) == (320, 80, 400)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "nowhere"), "data must be a folder"),
        (("--data", "."), "data folder '.' has"),
        (("--data", "few"), "digits must have pictures"),
        (("--seeds", "0"), "n_seeds must be"),
        (("--epochs", "0"), "n_epochs must be at least 1, got 0."),
        (("--codes", "2"), "n_codes must be at least 3, got 2."),
        (("--beta", "-1"), "beta must be at least 0, got -1.0."),
        (("--device", "tpu"), 'Invalid value "tpu" for --device.'),
        (("--picture", "nowhere/a.svg"), "picture 'nowhere/a.svg' cannot be written"),
        (("--json", "nowhere/a.json"), "json 'nowhere/a.json' cannot be written"),
    ],
)
def test_bad_arguments_exit_2_and_write_nothing(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few").mkdir()
    write_part(tmp_path / "few", "train", *random_digits(4))
    code, out, err = run_cli(capsys, "reproduce", "dependent-mnist", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["few"]


def test_says_how_to_get_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    code, out, err = run_cli(capsys, "reproduce", "dependent-mnist")
    assert (code, out) == (2, "")
    assert err.startswith("unbraid: dependent-mnist, which trains a network, needs torch,")
    assert err.endswith(f"run {pip_install('torch')}.\n")
