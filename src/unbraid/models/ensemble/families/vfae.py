"""Networks and training step of the variational fair autoencoder: two layers of codes, and a sensitive attribute."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.functional import relu

from unbraid.models.ensemble.layers import Dense
from unbraid.models.ensemble.networks import EnsembleVAE, StepInputs, gaussians, make_decoder, make_encoder
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.objectives.diva import standard_normal
from unbraid.models.objectives.labels import one_hot
from unbraid.models.objectives.vfae import vfae_loss


class GaussianLayer(nn.Module):
    """Gaussians given codes and a class: one hidden layer.

    Args:
        n_models: Networks side by side.
        n_in: Codes and classes together.
        n_hidden: Units of the hidden layer.
        n_out: Codes of the Gaussians.
    """

    def __init__(self, n_models: int, n_in: int, n_hidden: int, n_out: int) -> None:
        super().__init__()
        self.hidden, self.last = Dense(n_models, n_in, n_hidden), Dense(n_models, n_hidden, 2 * n_out)

    def forward(self, codes: Tensor, classes: Tensor, precision: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return means and log-deviations for codes ``[.., n, n_classes, size]`` and one-hot classes beside them."""
        rows = torch.cat([codes, classes], dim=-1)
        found = self.last(relu(self.hidden(rows.flatten(1, 2).to(precision)))).float()
        mean, log_scale = found.unflatten(1, rows.shape[1:3]).chunk(2, dim=-1)
        return mean, log_scale


class FairVAE(EnsembleVAE):
    """VFAE: the codes are those of the first layer, q(z1 | x, s); the second layer has as many."""

    def build(self) -> None:
        """Make the networks of both layers and the classifier."""
        settings = self.settings
        n_models, n_codes, self.discriminator = len(settings.seeds), settings.n_codes, None
        self.n_classes, self.n_sensitive = settings.n_values("y"), settings.n_values("s")
        self.encoder = make_encoder(settings, n_more=self.n_sensitive)
        self.decoder = make_decoder(settings, n_more=self.n_sensitive)
        second = (n_models, n_codes + self.n_classes, 8 * settings.width, n_codes)
        self.second_posterior, self.first_prior = GaussianLayer(*second), GaussianLayer(*second)
        self.classifier = Dense(n_models, n_codes, self.n_classes)

    def posterior_parameters(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return means and log-deviations of the first layer, given the sensitive values."""
        sensitive = self._sensitive(context)
        if self.settings.network == "conv":
            planes = sensitive[..., None, None].expand(*sensitive.shape, *x.shape[-2:])
            rows = torch.cat([x, planes], dim=2)
        else:
            rows = torch.cat([x.flatten(2), sensitive], dim=2)
        mean, log_scale = self.encoder(rows.to(self.precision)).float().chunk(2, dim=-1)
        return mean, log_scale

    def decode(self, z: Tensor, context: Tensor | None = None) -> Distribution:
        """Return the likelihoods of data given codes of the first layer and sensitive values."""
        rows = torch.cat([z, self._sensitive(context).to(z.dtype)], dim=2)
        return self.likelihood(self.decoder(rows.to(self.precision)).float())

    def logits(self, role: str, mean: Tensor) -> Tensor:
        """Return the logits of the class, from codes of the first layer."""
        if role != "y":
            return super().logits(role, mean)
        found: Tensor = self.classifier(mean)
        return found

    def objective(self, inputs: StepInputs, hyperparameters: Mapping[str, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the number to minimise, summed over members, and the parts of the loss of each member."""
        x = as_numbers(inputs.x)
        y, s = inputs.labels.unbind(dim=-1)
        first_noise, second_noise = inputs.noise.chunk(2, dim=-1)
        first = self.encode(x, s)
        z_1 = first.mean + first.stddev * first_noise
        classes = torch.eye(self.n_classes, device=x.device).expand(*z_1.shape[:2], -1, -1)
        for_each = z_1.unsqueeze(2).expand(-1, -1, self.n_classes, -1)
        second = gaussians(*self.second_posterior(for_each, classes, self.precision))
        z_2 = second.mean + second.stddev * second_noise.unsqueeze(2)
        loss = vfae_loss(
            x,
            self.decode(z_1, s),
            posterior_1=first,
            posteriors_2=second,
            priors_1=gaussians(*self.first_prior(z_2, classes, self.precision)),
            prior_2=standard_normal(second.mean),
            z_1=z_1,
            s=s,
            y=y,
            logits_y=self.logits("y", z_1),
            n_sensitive=self.n_sensitive,
            alpha=hyperparameters["alpha"],
            mmd=hyperparameters["mmd"],
        )
        return loss.total.sum(), (*loss.in_short(), *loss[2:])

    def _sensitive(self, context: Tensor | None) -> Tensor:
        assert context is not None, "checked where the model is called"
        return one_hot(context, self.n_sensitive)
