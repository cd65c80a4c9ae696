"""Networks and training step of DIVA: three encoders, learned priors, and classifiers of domain and class."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, softplus

from unbraid.models.ensemble.layers import Dense
from unbraid.models.ensemble.networks import EnsembleVAE, StepInputs, gaussians, make_decoder, make_encoder
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.families import DIVA_BLOCKS
from unbraid.models.objectives.diva import diva_loss
from unbraid.models.objectives.labels import one_hot
from unbraid.models.objectives.vae import capacity_at

#: Smallest deviation of posteriors and learned priors, as in the authors' code.
LEAST_SCALE = 1e-7
#: Softplus of this is 1.
RAW_OF_ONE = math.log(math.e - 1)


class BlockEncoder(nn.Module):
    """An encoder for each block of codes, side by side; they share no weight."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.parts = nn.ModuleList(make_encoder(settings, n_codes=size) for _, size in settings.blocks)

    def forward(self, x: Tensor) -> Tensor:
        """Return the means of all blocks, then their log-deviations."""
        halves = [part(x).chunk(2, dim=-1) for part in self.parts]
        return torch.cat([mean for mean, _ in halves] + [log_scale for _, log_scale in halves], dim=-1)


class PriorTable(nn.Module):
    """A learned Gaussian for each value of a label, one table for each model; all start as the standard normal.

    Args:
        n_models: Tables side by side.
        n_values: Values of the label.
        size: Codes of the block.
    """

    def __init__(self, n_models: int, n_values: int, size: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(n_models, n_values, size))
        self.raw_scale = nn.Parameter(torch.full((n_models, n_values, size), RAW_OF_ONE))

    def forward(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the means and log-deviations of labels ``[n_models, n]``; or of every value, ``[n_models, 1, ..]``."""
        log_scale = soft_log_scale(self.raw_scale)
        if labels is None:
            return self.mean.unsqueeze(1), log_scale.unsqueeze(1)
        chosen = one_hot(labels, self.mean.shape[1], self.mean.dtype)
        return torch.bmm(chosen, self.mean), torch.bmm(chosen, log_scale)


def soft_log_scale(raw: Tensor) -> Tensor:
    """Return log-deviations, of deviations that grow no faster than the numbers they are made from (softplus).

    The weights of the classifiers are in the thousands, and the divergences have no weight at first: with exponentials
    deviations fell to 1e-9 and rose until losses were no longer finite.
    """
    return (softplus(raw) + LEAST_SCALE).log()


class DomainVAE(EnsembleVAE):
    """DIVA: blocks for the domain, for the target and for the rest.

    A classifier is a linear map of the positive parts of the codes, as in the authors' code; the learned priors are
    tables, which can hold whatever the authors' networks of one-hot labels can.
    """

    def build(self) -> None:
        """Make encoders, decoder, priors and classifiers."""
        settings = self.settings
        n_models, self.discriminator = len(settings.seeds), None
        self.encoder, self.decoder = BlockEncoder(settings), make_decoder(settings)
        sizes = dict(settings.blocks)
        self.spans = {name: (span.start, span.stop) for name, span in settings.block_spans().items()}
        labelled = {role: (settings.n_values(role), sizes[f"z_{role}"]) for role in ("d", "y")}
        self.priors = nn.ModuleDict({role: PriorTable(n_models, *both) for role, both in labelled.items()})
        self.classifiers = nn.ModuleDict(
            {role: Dense(n_models, size, n_values) for role, (n_values, size) in labelled.items()}
        )

    def posterior_parameters(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return means and log-deviations of the posteriors; deviations are softplus of outputs, as the authors'."""
        mean, raw = super().posterior_parameters(x, context)
        return mean, soft_log_scale(raw)

    def block(self, codes: Tensor, name: str) -> Tensor:
        """Return the columns of a block."""
        start, stop = self.spans[name]
        return codes[..., start:stop]

    def logits(self, role: str, mean: Tensor) -> Tensor:
        """Return the logits of the domain or the class, from codes."""
        if role not in self.classifiers:
            return super().logits(role, mean)
        found: Tensor = self.classifiers[role](relu(self.block(mean, f"z_{role}")))
        return found

    def objective(self, inputs: StepInputs, hyperparameters: Mapping[str, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the number to minimise, summed over members, and the parts of the loss of each member."""
        x = as_numbers(inputs.x)
        mean, log_scale = self.posterior_parameters(x)
        z = mean + log_scale.exp() * inputs.noise
        of_domain, of_target, of_rest = (
            gaussians(self.block(mean, name), self.block(log_scale, name)) for name in DIVA_BLOCKS
        )
        y, d = inputs.labels.unbind(dim=-1)
        warm_up = hyperparameters["warm_up"].clamp(min=1)
        loss = diva_loss(
            x,
            self.decode(z),
            posterior_d=of_domain,
            posterior_y=of_target,
            posterior_x=of_rest,
            prior_d=gaussians(*self.priors["d"](d)),
            priors_y=gaussians(*self.priors["y"]()),
            z_y=self.block(z, "z_y"),
            d=d,
            y=y,
            logits_d=self.logits("d", z),
            logits_y=self.logits("y", z),
            beta=capacity_at(inputs.step + 1, highest=hyperparameters["beta"], n_steps=warm_up),
            alpha_d=hyperparameters["alpha_d"],
            alpha_y=hyperparameters["alpha_y"],
        )
        return loss.total.sum(), (*loss.in_short(), *loss[2:])
