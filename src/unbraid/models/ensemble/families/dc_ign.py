"""Training step of DC-IGN: the codes of factors that do not vary in a batch are clamped to their mean."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from unbraid.models.ensemble.networks import EnsembleVAE, StepInputs, gaussians
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.objectives.dc_ign import clamp_codes
from unbraid.models.objectives.diva import standard_normal
from unbraid.models.objectives.vae import Loss, vae_loss


class ClampedVAE(EnsembleVAE):
    """DC-IGN: the networks of a VAE; the first codes are reserved for a factor each.

    Means and log-deviations of the posterior are both clamped before codes are drawn, as in the authors' code, so that
    divergence and likelihood both see the clamped posterior.
    """

    def build(self) -> None:
        """Make the networks, and the table of the codes that each kind of batch leaves as they are."""
        super().build()
        settings = self.settings
        n_kinds = len(settings.labels) + 1
        active = torch.zeros(n_kinds, settings.n_codes, dtype=torch.bool)
        active[torch.arange(n_kinds - 1), torch.arange(n_kinds - 1)] = True
        active[-1, n_kinds - 1 :] = True
        self.active: Tensor
        self.register_buffer("active", active, persistent=False)

    def objective(self, inputs: StepInputs, hyperparameters: Mapping[str, Tensor]) -> tuple[Tensor, Loss]:
        """Return the number to minimise, summed over members, and total, distortion and rate of each member."""
        x = as_numbers(inputs.x)
        active, invariance = self.active[inputs.kind], hyperparameters["invariance"]
        mean, log_scale = (clamp_codes(part, active, invariance) for part in self.posterior_parameters(x))
        posterior = gaussians(mean, log_scale)
        z = posterior.mean + posterior.stddev * inputs.noise
        loss = vae_loss(x, posterior, self.decode(z), standard_normal(mean))
        return loss.total.sum(), loss
