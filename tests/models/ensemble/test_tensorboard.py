import sys

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from helpers.dots import Dots
from unbraid.data import sprites_mini
from unbraid.models import train
from unbraid.models.ensemble import Settings
from unbraid.models.ensemble.loop import loss_board

SMALL = {"n_codes": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3}


def read(folder):
    events = EventAccumulator(str(folder))
    events.Reload()
    return {name: [(event.step, event.value) for event in events.Scalars(name)] for name in events.Tags()["scalars"]}


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [2, 1])
def test_losses_can_be_read_back(tmp_path, at_once):
    found = train("beta_vae", Dots(), seeds=[0, 1], n_steps=100, tensorboard=tmp_path, at_once=at_once, **SMALL)
    for m in (0, 1):
        written = read(tmp_path / f"member_{m}")
        assert list(written) == ["loss", "distortion", "rate"]
        for k, name in enumerate(written):
            steps, values = zip(*written[name], strict=True)
            assert steps == (1, 50, 100)
            np.testing.assert_array_equal(np.float32(values), found.history[:, k, m])


@pytest.mark.slow
def test_information_is_written_beside_its_entropy(tmp_path):
    train("info_gan", Dots(), n_steps=2, tensorboard=tmp_path, categories=[4], **SMALL)
    written = read(tmp_path / "member_0")
    assert written["categorical_entropy"] == [(1, pytest.approx(np.log(4)))]
    assert list(written)[:3] == ["loss", "value", "categorical_information"]
    assert "continuous_entropy" not in written  # no column is left for a continuous code


def test_what_was_written_after_the_last_checkpoint_is_void(tmp_path):
    settings = Settings(model="vae", data="", n_rows=1, shape=(2,), seeds=(0, 1))
    for values in ({1: 5.0, 50: 4.0, 100: 3.0}, {100: 2.0, 150: 1.0}):
        with loss_board(tmp_path) as board:
            of_both = board.of([0, 3])
            for step, value in values.items():
                of_both.write(step, torch.full((3, 2), value), settings)
    assert read(tmp_path / "member_3")["loss"] == [(1, 5.0), (50, 4.0), (100, 2.0), (150, 1.0)]


def test_says_how_to_get_tensorboard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ValueError, match=r"needs tensorboard, .*\[tensorboard\]"):
        train("vae", Dots(), n_steps=1, tensorboard=tmp_path, out=tmp_path / "run", **SMALL)
    assert not list(tmp_path.glob("run/*"))


def test_nothing_is_written_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    train("vae", Dots(), n_steps=1, **SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "terms"),
    [
        ("diva", ["rate_d", "rate_y", "rate_x", "class_rate", "domain", "target"]),
        ("vfae", ["rate_1", "rate_2", "class_rate", "target", "discrepancy"]),
    ],
)
def test_families_with_labels_write_every_term(tmp_path, family, terms):
    sizes = SMALL | {"n_codes": 6}
    found = train(family, sprites_mini(), n_steps=2, tensorboard=tmp_path, **sizes)
    written = read(tmp_path / "member_0")
    assert list(written) == ["loss", "distortion", "rate", *terms]
    last = {name: values[-1][1] for name, values in written.items()}
    rates = [last[name] for name in terms if name.startswith("rate_")]
    rates += [last["class_rate"]] if family == "vfae" else []
    assert sum(rates) == pytest.approx(last["rate"], rel=1e-4)
    np.testing.assert_array_equal(np.float32(list(last.values())), found.history[-1, :, 0])
