"""Encoders, decoders and discriminators of many models at once; a single model is an ensemble of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Distribution, Independent, Normal
from torch.nn.functional import leaky_relu, relu

from unbraid.models.ensemble.layers import (
    Convolution,
    Dense,
    NarrowConvolution,
    OddConvolution,
    OddUpconvolution,
    Upconvolution,
    rectified,
)
from unbraid.models.ensemble.losses import LOSSES, LossInputs, discriminator_step_loss
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import as_numbers
from unbraid.models.ensemble.streams import Purpose, uniform

#: Adam's, of the models (Table D.4) and of the discriminators (Table D.5).
BETAS, DISCRIMINATOR_BETAS = (0.9, 0.999), (0.5, 0.9)
#: Instead of the step at which a member diverged, for one that did not.
NEVER = -1
MAX_HALVINGS, SMALLEST_SIDE = 4, 4
#: Convolutions of the published library's encoder with kernels of 4 by 4, before those of 2 by 2.
N_WIDE = 2


class StepInputs(NamedTuple):
    """Tensors that change from step to step.

    Attributes:
        step: Steps made before.
        x: Data, ``[n_models, n, *shape]``, bytes or numbers.
        noise: Standard normal, one number for each code, of both layers where there are two.
        prior_mean: Of the codes.
        keys: Random numbers that shuffle the codes for a discriminator.
        labels: That the model reads, ``[n_models, n, n_labels]``, below 0 where unknown.
        kind: Of the batch of each model: which factor varies, where one does.
    """

    step: Tensor
    x: Tensor
    noise: Tensor
    prior_mean: Tensor
    keys: Tensor
    labels: Tensor
    kind: Tensor


class EnsembleVAE(nn.Module):
    """Encoders and decoders that fit each other, one pair for each seed.

    Data are ``[n_models, n, *shape]``; codes ``[n_models, n, n_codes]``. A family with other networks, or with another
    way from data to a loss, is a subclass in ``families/``.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.build()
        draw_weights(self, torch.tensor(settings.seeds))

    def build(self) -> None:
        """Make the networks; their weights are drawn later."""
        settings = self.settings
        self.encoder: nn.Module = make_encoder(settings)
        self.decoder: nn.Module = make_decoder(settings)
        discriminator = (len(settings.seeds), settings.n_codes, settings.discriminator_width)
        self.discriminator = Discriminator(*discriminator) if settings.has_discriminator else None

    @property
    def precision(self) -> torch.dtype:
        """Type of matrix products; weights and losses are always float32."""
        return torch.bfloat16 if self.settings.precision == "bfloat16" else torch.float32

    def is_finite(self) -> Tensor:
        """Whether all weights of a member are, ``[n_models]``."""
        return torch.stack([p.flatten(1).isfinite().all(dim=1) for p in self.parameters()]).all(dim=0)

    def only(self, members: Sequence[int]) -> EnsembleVAE:
        """Return some of the networks, as they are."""
        chosen = torch.as_tensor(members)
        part = type(self)(self.settings.only(members))
        part.load_state_dict({name: value[chosen.to(value.device)] for name, value in self.state_dict().items()})
        return part.to(next(self.parameters()).device)

    @classmethod
    def joined(cls, settings: Settings, states: Sequence[dict[str, Tensor]]) -> EnsembleVAE:
        """Return the networks of ``settings``, of which ``states`` hold a few each, in order."""
        whole = cls(settings)
        whole.load_state_dict({name: torch.cat([state[name] for state in states]) for name in states[0]})
        return whole

    def encode(self, x: Tensor, context: Tensor | None = None) -> Distribution:
        r"""Return the posteriors :math:`q(z \mid x)`: independent Gaussians.

        Args:
            x: Data.
            context: A label that rows are encoded with, ``[n_models, n]``, for a model that needs one.
        """
        return gaussians(*self.posterior_parameters(x, context))

    def posterior_parameters(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return means and log-deviations of the posteriors."""
        mean, log_scale = self.encoder(x.to(self.precision)).float().chunk(2, dim=-1)
        return mean, log_scale

    def decode(self, z: Tensor, context: Tensor | None = None) -> Distribution:
        r"""Return the likelihoods :math:`p(x \mid z)`: for each pixel its chance, or Gaussians of variance 1."""
        return self.likelihood(self.decoder(z.to(self.precision)).float())

    def likelihood(self, found: Tensor) -> Distribution:
        """Return the distribution of data that logits, or means, stand for."""
        n_axes = len(self.settings.shape)
        if self.settings.likelihood == "bernoulli":
            return Independent(Bernoulli(logits=found, validate_args=False), n_axes, validate_args=False)
        return Independent(Normal(found, torch.ones_like(found), validate_args=False), n_axes, validate_args=False)

    def logits(self, role: str, mean: Tensor) -> Tensor:
        """Return the logits of a label that the model predicts from posterior means, ``[n_models, n, n_values]``.

        Raises:
            ValueError: The model predicts no such label.
        """
        raise ValueError(f"{self.settings.model} has no classifier of {role!r}.")

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters in groups, each with Adam's betas and its share of the learning rate."""
        second = [] if self.discriminator is None else list(self.discriminator.parameters())
        of_second = {id(parameter) for parameter in second}
        first = [parameter for parameter in self.parameters() if id(parameter) not in of_second]
        groups: list[dict[str, Any]] = [{"params": first, "betas": BETAS, "share": 1.0}]
        return [*groups, {"params": second, "betas": DISCRIMINATOR_BETAS, "share": 1.0}] if second else groups

    def objective(self, inputs: StepInputs, hyperparameters: Mapping[str, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the number to minimise, summed over members, and the parts of the loss of each member."""
        x = as_numbers(inputs.x)
        posterior = self.encode(x)
        z = posterior.mean + posterior.stddev * inputs.noise
        codes = z.to(self.precision)
        prior = Normal(inputs.prior_mean, torch.ones_like(inputs.prior_mean), validate_args=False)
        at = LossInputs(
            step=inputs.step,
            n_rows=self.settings.n_rows,
            x=x,
            posterior=posterior,
            prior=Independent(prior, 1, validate_args=False),
            z=z,
            likelihood=self.decode(z),
            hyperparameters=hyperparameters,
            log_ratio=None if self.discriminator is None else self.discriminator(codes, frozen=True),
        )
        loss = LOSSES[self.settings.model](at)
        total = loss.total.sum()
        if self.discriminator is not None:
            total = total + discriminator_step_loss(self.discriminator, codes, inputs.keys).sum()
        return total, loss


def make_encoder(settings: Settings, *, n_codes: int | None = None, n_more: int = 0) -> nn.Module:
    """Return the encoder of a picture or a vector.

    Args:
        settings: Sizes of the networks.
        n_codes: Codes that it gives, those of the settings by default.
        n_more: Channels, or numbers, of a row beside its data.
    """
    sizes = n_codes or settings.n_codes, settings.width
    shape = (settings.shape[0] + n_more, *settings.shape[1:])
    if settings.network == "conv":
        narrow = settings.encoder == "library"
        return ConvolutionalEncoder(len(settings.seeds), shape, *sizes, settings.convolutions, narrow=narrow)
    return DenseEncoder(len(settings.seeds), (math.prod(settings.shape) + n_more,), *sizes)


def make_decoder(settings: Settings, *, n_more: int = 0) -> nn.Module:
    """Return the decoder of codes and ``n_more`` numbers beside them."""
    sizes = len(settings.seeds), settings.shape, settings.n_codes + n_more, settings.width
    return ConvolutionalDecoder(*sizes, settings.convolutions) if settings.network == "conv" else DenseDecoder(*sizes)


def gaussians(mean: Tensor, log_scale: Tensor) -> Distribution:
    """Return independent Gaussians over the last axis."""
    return Independent(Normal(mean, log_scale.exp(), validate_args=False), 1, validate_args=False)


class ConvolutionalEncoder(nn.Module):
    """Convolutions that halve the picture down to 4 by 4, a hidden layer, and two numbers for each code (Table D.1).

    Args:
        n_models: Networks side by side.
        shape: Channels, height and width; sides are halved while they are even and above 4, at most four times.
        n_codes: Dimensions of the codes.
        width: Channels of the first convolution, 32 in the published models; everything inside grows with it.
        given: Channels and side of the kernel of each convolution, in place of those above.
        narrow: Whether convolutions from the third on have kernels of 2 by 2, as in the published library.
    """

    def __init__(
        self,
        n_models: int,
        shape: tuple[int, ...],
        n_codes: int,
        width: int,
        given: Sequence[tuple[int, int]] = (),
        *,
        narrow: bool = False,
    ) -> None:
        super().__init__()
        if given:
            channels, (height, breadth) = [after for after, _ in given], odd_sides(shape, len(given))[-1]
            odd = zip((shape[0], *channels), given, strict=False)
            self.convolutions = nn.ModuleList(OddConvolution(n_models, before, *after) for before, after in odd)
        else:
            channels, (height, breadth) = inner_sizes(shape, width)
            kinds = [NarrowConvolution if narrow and k >= N_WIDE else Convolution for k in range(len(channels))]
            steps = zip(kinds, pairwise((shape[0], *channels)), strict=True)
            self.convolutions = nn.ModuleList(kind(n_models, before, after) for kind, (before, after) in steps)
        self.hidden = Dense(n_models, channels[-1] * height * breadth, 8 * width)
        self.last = Dense(n_models, 8 * width, 2 * n_codes)

    def forward(self, x: Tensor) -> Tensor:
        """Return means and log-deviations of pictures, side by side."""
        x = x.movedim(2, -1)
        for number, (layer, after) in enumerate(zip(self.convolutions, [*self.convolutions[1:], None], strict=True)):
            x = rectified(layer, x, of_relu=number > 0, after=after)
        found: Tensor = self.last(relu(self.hidden(x.flatten(2))))
        return found


class ConvolutionalDecoder(nn.Module):
    """The mirror image of :class:`ConvolutionalEncoder` (Table D.2)."""

    def __init__(
        self, n_models: int, shape: tuple[int, ...], n_codes: int, width: int, given: Sequence[tuple[int, int]] = ()
    ) -> None:
        super().__init__()
        all_sides = odd_sides(shape, len(given)) if given else []
        channels, sides = ([after for after, _ in given], all_sides[-1]) if given else inner_sizes(shape, width)
        self.inner = (*sides, channels[-1])
        self.first = Dense(n_models, n_codes, 8 * width)
        self.hidden = Dense(n_models, 8 * width, channels[-1] * sides[0] * sides[1])
        steps = pairwise((*channels[::-1], shape[0]))
        if given:
            mirrored = zip(steps, given[::-1], all_sides[-2::-1], strict=True)
            self.upconvolutions = nn.ModuleList(
                OddUpconvolution(n_models, *ends, kernel, to) for ends, (_, kernel), to in mirrored
            )
        else:
            *inner, last = steps
            self.upconvolutions = nn.ModuleList(Upconvolution(n_models, *ends) for ends in inner)
            self.upconvolutions.append(Upconvolution(n_models, *last, is_last=True))

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits, or the means, of pictures."""
        x = relu(self.hidden(relu(self.first(z))))
        x = x.reshape(*z.shape[:2], *self.inner)
        *inner, last = self.upconvolutions
        for layer, after in zip(inner, self.upconvolutions[1:], strict=True):
            x = rectified(layer, x, of_relu=True, after=after)
        found: Tensor = last.last(x) if isinstance(last, Upconvolution) else last(x)
        return found.movedim(-1, 2)


class DenseEncoder(nn.Module):
    """Two hidden layers, for vectors and for pictures that cannot be halved.

    Args:
        n_models: Networks side by side.
        shape: Of one observation, flattened here.
        n_codes: Dimensions of the codes.
        width: Hidden layers have eight times as many units, 256 by default.
    """

    def __init__(self, n_models: int, shape: tuple[int, ...], n_codes: int, width: int) -> None:
        super().__init__()
        self.layers = _dense(n_models, math.prod(shape), 8 * width, 8 * width, 2 * n_codes)

    def forward(self, x: Tensor) -> Tensor:
        """Return means and log-deviations, side by side."""
        return _through(self.layers, x.flatten(2))


class DenseDecoder(nn.Module):
    """The mirror image of :class:`DenseEncoder`."""

    def __init__(self, n_models: int, shape: tuple[int, ...], n_codes: int, width: int) -> None:
        super().__init__()
        self.shape = shape
        self.layers = _dense(n_models, n_codes, 8 * width, 8 * width, math.prod(shape))

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits, or the means, of observations."""
        return _through(self.layers, z).reshape(*z.shape[:2], *self.shape)


class Discriminator(nn.Module):
    """Classifies codes against shuffled codes: six hidden layers and two logits, whose difference is used (Table D.3).

    Args:
        n_models: Networks side by side.
        n_codes: Dimensions of the codes.
        width: Units of a hidden layer, 1000 in the published models.
    """

    def __init__(self, n_models: int, n_codes: int, width: int) -> None:
        super().__init__()
        self.layers = _dense(n_models, n_codes, *[width] * 6, 2)

    def forward(self, z: Tensor, *, frozen: bool = False) -> Tensor:
        """Return the log density ratio of codes and shuffled codes, ``[n_models, n]``."""
        for layer in self.layers[:-1]:
            z = leaky_relu(layer(z, frozen=frozen), 0.2)
        joint, shuffled = self.layers[-1](z, frozen=frozen).float().unbind(-1)
        log_ratio: Tensor = joint - shuffled
        return log_ratio


def inner_sizes(shape: tuple[int, ...], width: int) -> tuple[list[int], tuple[int, int]]:
    """Return the channels of each convolution, and the sides of the picture after the last.

    Raises:
        ValueError: Not a picture, or one whose sides cannot be halved.
    """
    if len(shape) != 3 or any(side % 2 or side <= SMALLEST_SIDE for side in shape[1:]):
        raise ValueError(
            f"data must be pictures (channels, height, width) of even sides above {SMALLEST_SIDE} for network 'conv', "
            f"got shape {shape}; give network='mlp'."
        )
    sides = (shape[1], shape[2])
    channels: list[int] = []
    while len(channels) < MAX_HALVINGS and all(side % 2 == 0 and side > SMALLEST_SIDE for side in sides):
        channels.append(width if len(channels) < 2 else 2 * width)
        sides = (sides[0] // 2, sides[1] // 2)
    return channels, sides


def odd_sides(shape: tuple[int, ...], n_convolutions: int) -> list[tuple[int, int]]:
    """Return the sides of a picture before each convolution with an odd kernel, and after the last.

    Raises:
        ValueError: Not a picture.

    Example:
        >>> odd_sides((3, 28, 28), 4)
        [(28, 28), (14, 14), (7, 7), (4, 4), (2, 2)]
    """
    if len(shape) != 3:
        raise ValueError(
            f"data must be pictures (channels, height, width) for convolutions, got shape {shape}; give network='mlp'."
        )
    found = [(shape[1], shape[2])]
    for _ in range(n_convolutions):
        found.append(((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2))
    return found


def draw_weights(network: nn.Module, seeds: Tensor) -> None:
    """Draw all weights from the streams of their models; biases stay 0."""
    kinds = Dense | Upconvolution | OddConvolution | OddUpconvolution
    layers = [layer for layer in network.modules() if isinstance(layer, kinds)]
    for number, layer in enumerate(layers):
        drawn = uniform(seeds, Purpose.WEIGHTS, number, tuple(layer.weight.shape[1:]))
        layer.weight.data.copy_((2 * drawn - 1) * layer.bound)


def _dense(n_models: int, *widths: int) -> nn.ModuleList:
    return nn.ModuleList(Dense(n_models, before, after) for before, after in pairwise(widths))


def _through(layers: nn.ModuleList, x: Tensor) -> Tensor:
    for layer in layers[:-1]:
        x = relu(layer(x))
    found: Tensor = layers[-1](x)
    return found
