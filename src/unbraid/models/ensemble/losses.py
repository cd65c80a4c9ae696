"""The loss of each family, computed from the tensors of one training step of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.distributions import Distribution

from unbraid.models.objectives.vae import (
    Loss,
    annealed_vae_loss,
    beta_tcvae_loss,
    capacity_at,
    dip_vae_loss,
    discriminator_loss,
    factor_vae_loss,
    shuffle_codes,
    vae_loss,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """Tensors and distributions of one training step, from which a loss is computed.

    Attributes:
        step: Steps made before this one.
        n_rows: Size of the data set.
        x: Data, ``[n_models, n, *shape]``.
        posterior: Of the data.
        prior: Of the codes.
        z: Codes drawn from the posterior.
        likelihood: Of data given those codes.
        hyperparameters: By name, one number for each model.
        log_ratio: Output of the discriminators for the codes, for a family with discriminators.
    """

    step: Tensor
    n_rows: int
    x: Tensor
    posterior: Distribution
    prior: Distribution
    z: Tensor
    likelihood: Distribution
    hyperparameters: Mapping[str, Tensor]
    log_ratio: Tensor | None = None

    @property
    def common(self) -> tuple[Tensor, Distribution, Distribution, Distribution]:
        """Arguments of every loss: data, posterior, likelihood, prior."""
        return self.x, self.posterior, self.likelihood, self.prior


def _beta(at: LossInputs) -> Loss:
    return vae_loss(*at.common, beta=at.hyperparameters.get("beta", 1.0))


def _annealed(at: LossInputs) -> Loss:
    s = at.hyperparameters
    capacity = capacity_at(at.step, highest=s["capacity"], n_steps=s["capacity_steps"])
    return annealed_vae_loss(*at.common, gamma=s["gamma"], capacity=capacity)


def _factor(at: LossInputs) -> Loss:
    assert at.log_ratio is not None
    return factor_vae_loss(*at.common, log_ratio=at.log_ratio, gamma=at.hyperparameters["gamma"])


def _tc(at: LossInputs) -> Loss:
    return beta_tcvae_loss(*at.common, z=at.z, n_rows=at.n_rows, beta=at.hyperparameters["beta"])


def _dip(at: LossInputs, *, of_means: bool) -> Loss:
    s = at.hyperparameters
    return dip_vae_loss(*at.common, off_diagonal=s["off_diagonal"], diagonal=s["diagonal"], of_means=of_means)


LOSSES: Mapping[str, Callable[[LossInputs], Loss]] = {
    "vae": _beta,
    "beta_vae": _beta,
    "annealed_vae": _annealed,
    "factor_vae": _factor,
    "beta_tcvae": _tc,
    "dip_vae_i": partial(_dip, of_means=True),
    "dip_vae_ii": partial(_dip, of_means=False),
    "conditioned_vae": _beta,
}


def discriminator_step_loss(discriminator: Callable[[Tensor], Tensor], z: Tensor, keys: Tensor) -> Tensor:
    """Return the loss of the discriminators on codes and shuffled codes, one number for each model."""
    codes = z.detach()
    # One pass for both: weights of this size cost more to read than rows to multiply.
    found = discriminator(torch.cat([codes, shuffle_codes(codes, keys)], dim=1))
    joint, shuffled = found.chunk(2, dim=1)
    return discriminator_loss(joint, shuffled)
