"""Training and loading of models; torch is imported when a function is called."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid._base.optional import require

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble


def train(model: str, data: Any, *, seeds: int | Sequence[int] = 0, **options: Any) -> TrainedEnsemble:
    """Train VAEs of one family as one ensemble: one member for each seed or hyperparameter.

    Args:
        model: ``"vae"``, ``"beta_vae"``, ``"annealed_vae"``, ``"factor_vae"``, ``"beta_tcvae"``, ``"dip_vae_i"``,
            ``"dip_vae_ii"`` or ``"conditioned_vae"``; or, with labels, ``"diva"``, ``"vfae"`` or ``"dc_ign"``;
            or ``"info_gan"``.
        data: A data set with ``observations`` and ``factors`` by row, or an array of pictures or vectors.
        seeds: One for each member.
        options: Of ``unbraid.models.ensemble.train_vaes``: steps, sizes, labels, folder, device, and the family's
            hyperparameters.

    Returns:
        The trained models; ``ensemble[m]`` is one of them.

    Raises:
        ValueError: No torch, an unknown model or option, or data that do not fit.
    """
    require("training", "torch", extra="train")
    from unbraid.models.ensemble import train_vaes

    if "judge_width" in options:
        warnings.warn("judge_width is now called discriminator_width.", DeprecationWarning, stacklevel=2)
        options["discriminator_width"] = options.pop("judge_width")
    return train_vaes(model, data, seeds=seeds, **options)


def load_models(folder: str | Path, *, device: str = "cpu") -> TrainedEnsemble:
    """Return the models that were trained with ``out=folder``, as far as their last checkpoint.

    Raises:
        ValueError: No torch, no checkpoint there, or a damaged one.
    """
    require("loading a model", "torch", extra="torch")
    from unbraid.models.ensemble import load_ensemble

    return load_ensemble(folder, device=device)
