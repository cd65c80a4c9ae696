"""Checkpoints whose weights do not fit their settings are refused, before networks of any size are made."""

import json

import pytest

pytest.importorskip("torch")

import torch

from helpers.dots import Dots
from unbraid.models import load_models, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train("vae", Dots(), n_steps=1, n_codes=2, width=2, batch_size=2, out=folder, progress=False)
    return torch.load(folder / "ensemble.pt", weights_only=True)


def changed_settings(**changes):
    def change(state):
        state["settings"] = json.dumps(json.loads(state["settings"]) | changes)

    return change


def first_weight(make):
    def change(state):
        name = next(iter(state["network"]))
        state["network"][name] = make(state["network"][name])

    return change


CHANGES = {
    "another shape": first_weight(lambda value: value[..., :-1]),
    "more members": first_weight(lambda value: torch.cat([value, value])),
    "sparse": first_weight(lambda value: value.to_sparse()),
    "text": first_weight(lambda value: "text"),
    "missing": lambda state: state["network"].pop(next(iter(state["network"]))),
    "one more": lambda state: state["network"].update(extra=torch.zeros(1)),
    "no history": lambda state: state.pop("history"),
    "another history": lambda state: state.update(history=torch.zeros(3)),
    "steps that are no numbers": lambda state: state.update(diverged=torch.tensor([float("nan")])),
    "settings of a huge network": changed_settings(width=10**7),
    "settings of many codes": changed_settings(n_codes=10**12),
    "settings of more members": changed_settings(seeds=[0, 1, 2]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_weights_that_do_not_fit_are_one_sentence(trained, tmp_path, name):
    state = {**trained, "network": dict(trained["network"])}
    CHANGES[name](state)
    torch.save(state, tmp_path / "ensemble.pt")
    with pytest.raises(ValueError, match=r"holds weights that do not fit their own settings; train again in another "):
        load_models(tmp_path)


def test_weights_that_fit_are_loaded(trained, tmp_path):
    torch.save(trained, tmp_path / "ensemble.pt")
    assert len(load_models(tmp_path)) == 1
