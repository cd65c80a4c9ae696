"""The loss of each model, from what one step of an ensemble has at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.distributions import Distribution

from unbraid.models.objectives import (
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
class Situation:
    """What a loss may look at.

    Attributes:
        step: Steps made before this one.
        n_rows: Size of the data set.
        x: Data, ``[n_models, n, *shape]``.
        posterior: Of the data.
        prior: Of the codes.
        z: Codes drawn from the posterior.
        likelihood: Of data given those codes.
        strengths: By name, one number for each model.
        log_ratio: What the discriminators say of the codes, where there are discriminators.
    """

    step: Tensor
    n_rows: int
    x: Tensor
    posterior: Distribution
    prior: Distribution
    z: Tensor
    likelihood: Distribution
    strengths: Mapping[str, Tensor]
    log_ratio: Tensor | None = None

    @property
    def common(self) -> tuple[Tensor, Distribution, Distribution, Distribution]:
        """What every loss takes."""
        return self.x, self.posterior, self.likelihood, self.prior


def _beta(at: Situation) -> Loss:
    return vae_loss(*at.common, beta=at.strengths.get("beta", 1.0))


def _annealed(at: Situation) -> Loss:
    s = at.strengths
    capacity = capacity_at(at.step, highest=s["capacity"], n_steps=s["capacity_steps"])
    return annealed_vae_loss(*at.common, gamma=s["gamma"], capacity=capacity)


def _factor(at: Situation) -> Loss:
    assert at.log_ratio is not None
    return factor_vae_loss(*at.common, log_ratio=at.log_ratio, gamma=at.strengths["gamma"])


def _tc(at: Situation) -> Loss:
    return beta_tcvae_loss(*at.common, z=at.z, n_rows=at.n_rows, beta=at.strengths["beta"])


def _dip(at: Situation, *, of_means: bool) -> Loss:
    s = at.strengths
    return dip_vae_loss(*at.common, off_diagonal=s["off_diagonal"], diagonal=s["diagonal"], of_means=of_means)


LOSSES: Mapping[str, Callable[[Situation], Loss]] = {
    "vae": _beta,
    "beta_vae": _beta,
    "annealed_vae": _annealed,
    "factor_vae": _factor,
    "beta_tcvae": _tc,
    "dip_vae_i": partial(_dip, of_means=True),
    "dip_vae_ii": partial(_dip, of_means=False),
    "conditioned_vae": _beta,
}


def judge_loss(judge: Callable[[Tensor], Tensor], z: Tensor, keys: Tensor) -> Tensor:
    """Return what the discriminators are trained for, one number for each model."""
    codes = z.detach()
    # One pass for both: weights of this size cost more to read than rows to multiply.
    found = judge(torch.cat([codes, shuffle_codes(codes, keys)], dim=1))
    together, shuffled = found.chunk(2, dim=1)
    return discriminator_loss(together, shuffled)
