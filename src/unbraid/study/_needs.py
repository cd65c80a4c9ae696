"""What a study needs that may not be installed, said before anything starts."""

from __future__ import annotations

from unbraid._torch import has_torch, without_torch
from unbraid.study._state import State

#: What solves tasks with torch.
NETWORK = "mlp"


def check_needs(state: State) -> None:
    """Raise if what is left of a study needs torch and there is none on this machine.

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
