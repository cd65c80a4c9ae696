"""Networks and training step of InfoGAN: a generator, and a discriminator that shares its layers with q."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import leaky_relu, relu

from unbraid.models.codes import CodeLayout
from unbraid.models.ensemble.layers import Dense
from unbraid.models.ensemble.networks import (
    ConvolutionalDecoder,
    ConvolutionalEncoder,
    DenseDecoder,
    DenseEncoder,
    EnsembleVAE,
    StepInputs,
    make_decoder,
    make_encoder,
)
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.ensemble.streams import Purpose, normal
from unbraid.models.objectives.info_gan import (
    InfoGanLoss,
    categorical_information,
    continuous_information,
    gan_value,
    generator_loss,
    info_gan_loss,
    scaled_gradient,
)

#: Of the leaky rectifiers of discriminator and q; the authors' code has 0.01.
SLOPE = 0.1
#: Share of the present batch in the running statistics of a batch normalisation, and what is added to variances.
MOMENTUM, EPSILON = 0.1, 1e-5
#: Learning rate of discriminator and q as a share of the generator's (0.0002 of 0.001), and Adam's betas, as in the
#: authors' code.
RATE_SHARE, BETAS = 0.2, (0.5, 0.999)


class InfoGAN(EnsembleVAE):
    """Generators, and discriminators with the posterior of the codes, one of each for each seed.

    ``decoder`` is the generator, and ``encoder`` the network of discriminator and q. Latents are codes and, behind
    them, noise.
    """

    deviation: Tensor

    def build(self) -> None:
        """Make generator and discriminator."""
        given = dict(self.settings.hyperparameters).get("deviation", (0.0,) * len(self.settings.seeds))
        # Not part of a checkpoint, whose settings have it; those of earlier versions do not.
        self.register_buffer("deviation", torch.tensor(given)[:, None, None], persistent=False)
        self.decoder = Generator(self.settings)
        self.encoder = DiscriminatorAndPosterior(self.settings)
        self.discriminator = None

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters of generator and discriminator, with their shares of the learning rate."""
        generator, discriminator = (
            [parameter for parameter in part.parameters() if parameter.requires_grad]
            for part in (self.decoder, self.encoder)
        )
        return [
            {"params": generator, "betas": BETAS, "share": 1.0},
            {"params": discriminator, "betas": BETAS, "share": RATE_SHARE},
        ]

    def posterior_parameters(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""Return means and log-deviations of the columns under :math:`q(c \mid x)`; a value's mean is its chance."""
        logits, mean, log_scale = self._of_posterior(self.encoder(x.to(self.precision))[1])
        chances = _chances(logits, self.settings.layout)
        # A chance of 0 or 1 has a deviation of 0, whose logarithm is not finite.
        variances = (chances * (1 - chances)).clamp(min=torch.finfo(chances.dtype).tiny)
        return torch.cat([chances, mean], dim=-1), torch.cat([variances.log() / 2, log_scale], dim=-1)

    def complete(self, codes: Tensor) -> Tensor:
        """Return latents of codes: noise behind them, one draw for each model that all rows share."""
        seeds = torch.tensor(self.settings.seeds, device=codes.device)
        noise = normal(seeds, Purpose.ENCODING, 0, (1, self.settings.noise_dim)).to(codes.dtype)
        return torch.cat([codes, noise.expand(-1, codes.shape[1], -1)], dim=-1)

    def generate(self, latents: Tensor) -> Tensor:
        """Return the data of codes and noise."""
        found: Tensor = self.decoder(latents.to(self.precision)).float()
        return found.sigmoid() if self.settings.likelihood == "bernoulli" else found

    def decode(self, z: Tensor, context: Tensor | None = None) -> Any:
        """Return the distribution whose mean is the generated data of codes, completed by :meth:`complete`."""
        return self.likelihood(self.decoder(self.complete(z).to(self.precision)).float())

    def objective(self, inputs: StepInputs, hyperparameters: Mapping[str, Tensor]) -> tuple[Tensor, InfoGanLoss]:
        """Return the number whose gradient trains all networks at once, and the terms of InfoGAN for each model.

        The discriminator sees generated data that pass no gradient on, and the generator a discriminator whose weights
        get none. q is trained in any case; the layers that q shares with the discriminator, and the generator, learn
        from the codes with the weight of the information. At weight 0 both are those of a plain GAN, and the bound says
        how much of the codes can be seen in its data.
        """
        weight, share = hyperparameters["weight"], hyperparameters["continuous_share"]
        latents = make_latents(inputs.noise, self.settings.layout)
        generated = self.generate(latents)
        real, _ = self.encoder(as_numbers(inputs.x).to(self.precision))
        shown, posterior = self.encoder(generated.detach().to(self.precision), weight)
        value = gan_value(real, shown)
        categorical, continuous = self._information(posterior, latents)
        # Copies of the buffers, so that the running statistics do not count the generated data twice.
        fixed = {name: parameter.detach() for name, parameter in self.encoder.named_parameters()}
        fixed |= {name: buffer.clone() for name, buffer in self.encoder.named_buffers()}
        fooled, as_seen = functional_call(self.encoder, fixed, (generated.to(self.precision),))
        seen_categorical, seen_continuous = self._information(as_seen, latents)
        of_discriminator = -value - categorical - share * continuous
        of_generator = generator_loss(fooled) - weight * (seen_categorical + share * seen_continuous)
        terms = info_gan_loss(value, categorical, continuous, weight=weight, continuous_share=share)
        return (of_discriminator + of_generator).sum(), terms

    def _of_posterior(self, posterior: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, means and log-deviations of q, with deviations that are fixed where a number is given."""
        logits, mean, log_scale = _split(posterior, self.settings.layout)
        fixed = self.deviation.clamp(min=torch.finfo(log_scale.dtype).tiny).log()
        return logits, mean, torch.where(self.deviation > 0, fixed, log_scale)

    def _information(self, posterior: Tensor, latents: Tensor) -> tuple[Tensor, Tensor]:
        layout = self.settings.layout
        values, codes, _ = torch.split(latents, [layout.n_values, layout.n_continuous, layout.n_noise], dim=-1)
        logits, mean, log_scale = self._of_posterior(posterior)
        categorical = categorical_information(logits, values, layout.categories)
        return categorical, continuous_information(mean, log_scale, codes)


class Generator(nn.Module):
    """The decoder of a VAE of the same settings, from codes and noise, with batch normalisation of hidden layers."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        decoder = make_decoder(settings, n_more=settings.noise_dim)
        self.shape = settings.shape
        self.inner: tuple[int, ...] = ()
        if isinstance(decoder, ConvolutionalDecoder):
            self.inner = decoder.inner
            self.layers = nn.ModuleList([decoder.first, decoder.hidden, *decoder.upconvolutions])
        else:
            assert isinstance(decoder, DenseDecoder)
            self.layers = decoder.layers
        self.norms = nn.ModuleList(BatchNorm.after(layer) for layer in self.layers[:-1])

    def forward(self, latents: Tensor) -> Tensor:
        """Return the logits, or the means, of data."""
        x, rows = latents, latents.shape[:2]
        for number, (layer, norm) in enumerate(zip(self.layers[:-1], self.norms, strict=True)):
            x = relu(norm(layer(x)))
            if self.inner and number == 1:
                x = x.reshape(*rows, *self.inner)
        found: Tensor = self.layers[-1](x)
        return found.movedim(-1, 2) if self.inner else found.reshape(*rows, *self.shape)


class DiscriminatorAndPosterior(nn.Module):
    """The encoder of a VAE of the same settings up to its hidden layer, and two heads: one for d, one for q.

    Batch normalisation follows every hidden layer but the first.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        encoder = make_encoder(settings)
        if isinstance(encoder, ConvolutionalEncoder):
            self.layers = nn.ModuleList([*encoder.convolutions, encoder.hidden])
        else:
            assert isinstance(encoder, DenseEncoder)
            self.layers = encoder.layers[:-1]
        self.is_conv = isinstance(encoder, ConvolutionalEncoder)
        n_models, n_units, layout = len(settings.seeds), 8 * settings.width, settings.layout
        self.norms = nn.ModuleList(BatchNorm.after(layer) for layer in self.layers[1:])
        self.real = Dense(n_models, n_units, 1)
        self.code_hidden = Dense(n_models, n_units, n_units // 2)
        self.code_norm = BatchNorm.after(self.code_hidden)
        self.code = Dense(n_models, n_units // 2, layout.n_codes + layout.n_continuous)

    def forward(self, x: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the logits of d, and the parameters of q side by side.

        Args:
            x: Data.
            weight: Of what q teaches the shared layers, one number for each model; 1 by default.
        """
        x = x.movedim(2, -1) if self.is_conv else x
        last = len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            x = layer(x.flatten(2) if number == last or not self.is_conv else x)
            x = leaky_relu(x if number == 0 else self.norms[number - 1](x), SLOPE)
        is_real = self.real(x).float().squeeze(-1)
        seen = x if weight is None else scaled_gradient(x, weight)
        hidden = leaky_relu(self.code_norm(self.code_hidden(seen)), SLOPE)
        return is_real, self.code(hidden).float()


class BatchNorm(nn.Module):
    """Batch normalisation of the last axis, for each model alone; trained models use the running statistics."""

    mean: Tensor
    variance: Tensor

    def __init__(self, n_models: int, n_channels: int) -> None:
        super().__init__()
        shape = (n_models, 1, n_channels)
        self.scale = nn.Parameter(torch.ones(shape))
        self.shift = nn.Parameter(torch.zeros(shape))
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))

    @classmethod
    def after(cls, layer: nn.Module) -> BatchNorm:
        """Return the normalisation of the outputs of a layer, whose bias, without effect now, is held.

        The gradient of such a bias is rounding alone, and Adam would make steps of full length of it.
        """
        bias = layer.bias
        assert isinstance(bias, nn.Parameter)
        bias.requires_grad_(False)
        return cls(len(bias), bias.shape[-1])

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised rows."""
        rows = x.flatten(1, -2).float()
        mean, variance = self.mean, self.variance
        if self.training:
            mean, variance = rows.mean(dim=1, keepdim=True), rows.var(dim=1, keepdim=True, correction=0)
            with torch.no_grad():
                self.mean.lerp_(mean, MOMENTUM)
                self.variance.lerp_(variance, MOMENTUM)
        found = (rows - mean) * (variance + EPSILON).rsqrt() * self.scale + self.shift
        return found.to(x.dtype).reshape(x.shape)


class GaussianGenerator(nn.Module):
    """The generator of one model as a function of standard normal latents, with its categorical codes held.

    Args:
        network: Of one model.
        values: Of each categorical code, counted from 0.
    """

    chosen: Tensor

    def __init__(self, network: InfoGAN, values: tuple[int, ...]) -> None:
        super().__init__()
        self.network = network
        sizes = network.settings.categories
        chosen = [torch.eye(size)[value] for value, size in zip(values, sizes, strict=True)]
        place = next(network.parameters()).device
        self.register_buffer("chosen", torch.cat([torch.zeros(0), *chosen]).to(place))

    def forward(self, latents: Tensor) -> Tensor:
        """Return the generated data of latents ``(n, n_continuous + n_noise)``."""
        layout = self.network.settings.layout
        codes, noise = torch.split(latents, [layout.n_continuous, layout.n_noise], dim=-1)
        values = self.chosen.to(latents.dtype).expand(len(latents), -1)
        return self.network.generate(torch.cat([values, _even(codes), noise], dim=-1)[None])[0]


def make_latents(noise: Tensor, layout: CodeLayout) -> Tensor:
    """Return codes and noise from standard normal numbers, ``[..., n_latents]``.

    Args:
        noise: One number for each categorical code, each continuous code and each column of noise, in this order.
        layout: Columns of the latents.
    """
    n_categorical = len(layout.categories)
    picks, codes, rest = torch.split(noise, [n_categorical, layout.n_continuous, layout.n_noise], dim=-1)
    values = []
    for k, size in enumerate(layout.categories):
        value = ((_even(picks[..., k, None]) + 1) * (size / 2)).floor().clamp(max=size - 1)
        values.append((value == torch.arange(size, device=noise.device)).to(noise.dtype))
    return torch.cat([*values, _even(codes), rest], dim=-1)


def _even(normal_numbers: Tensor) -> Tensor:
    """Return numbers spread evenly from -1 to 1 from standard normal ones, by their distribution function."""
    return torch.erf(normal_numbers / math.sqrt(2))


def _split(posterior: Tensor, layout: CodeLayout) -> tuple[Tensor, ...]:
    return torch.split(posterior, [layout.n_values, layout.n_continuous, layout.n_continuous], dim=-1)


def _chances(logits: Tensor, layout: CodeLayout) -> Tensor:
    if not layout.categories:
        return logits
    return torch.cat([part.softmax(dim=-1) for part in torch.split(logits, list(layout.categories), dim=-1)], dim=-1)
