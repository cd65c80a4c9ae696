"""What a study needs that may not be installed, said before anything starts."""

from __future__ import annotations

from unbraid._torch import has_torch, without_torch
from unbraid.data._catalogue import check_files
from unbraid.study._cards import visible_cards
from unbraid.study._state import State

#: What solves tasks with torch.
NETWORK = "mlp"


def check_needs(state: State, *, data_folder: str = "") -> None:
    """Raise if this machine lacks what the rest of a study needs: torch, files of data sets, or a GPU.

    Args:
        state: What is there already.
        data_folder: Where files of data sets are; empty for the usual place.

    Raises:
        ValueError: With the cure.
    """
    check_torch(state)
    for dataset in dict.fromkeys(one.dataset for one in state.to_train):
        check_files(dataset, data_folder or None)
    training = state.plan.study.training
    if state.to_train and training.device.startswith("cuda"):
        there = len(visible_cards())
        if training.gpus > there:
            raise ValueError(
                f"training the models of study {state.plan.study.name!r} needs {training.gpus:g} GPU, and torch sees "
                f"{there or 'none'} here; write device: cpu under training, or run it where there is one."
            )


def check_torch(state: State) -> None:
    """Raise if what is left of a study needs torch and there is none on this machine; takes no time.

    Raises:
        ValueError: With what to install.
    """
    if has_torch():
        return
    name = state.plan.study.name
    if state.to_train:
        raise ValueError(without_torch(f"training the models of study {name!r}", extra="train"))
    if any(one.predictor == NETWORK for _, _, one in state.to_measure):
        raise ValueError(without_torch(f"the predictor {NETWORK} of study {name!r}"))
