"""Small convolutional networks between pictures and codes; each returns a distribution."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn
from torch.distributions import Bernoulli, Distribution, Independent, Normal

#: Two convolutions halve the picture each, so that its sides must be multiples of this.
SIDE_UNIT = 4


class GaussianEncoder(nn.Module):
    r"""Builds the posterior :math:`q(z \mid x)`: independent Gaussians whose mean and deviation depend on the picture.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of :math:`z`.
        width: Channels of the first convolution; everything inside grows with it.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        channels, height, breadth = _check_shape(shape)
        self.backbone = nn.Sequential(
            nn.Conv2d(channels, width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(2 * width * (height // SIDE_UNIT) * (breadth // SIDE_UNIT), 8 * width),
            nn.ReLU(),
            nn.Linear(8 * width, 2 * n_codes),
        )

    def forward(self, x: Tensor) -> Distribution:
        """Return the posterior of a batch of pictures."""
        mean, log_scale = self.backbone(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)


class BernoulliDecoder(nn.Module):
    r"""Builds the likelihood :math:`p(x \mid z)`: for each pixel and channel the chance that it is lit.

    Pixels between 0 and 1 count as shares of both outcomes, so that the log-likelihood is minus their cross-entropy.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of :math:`z`.
        width: As in :class:`GaussianEncoder`, whose mirror image this is.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        channels, height, breadth = _check_shape(shape)
        inner = (2 * width, height // SIDE_UNIT, breadth // SIDE_UNIT)
        self.backbone = nn.Sequential(
            nn.Linear(n_codes, 8 * width),
            nn.ReLU(),
            nn.Linear(8 * width, inner[0] * inner[1] * inner[2]),
            nn.ReLU(),
            nn.Unflatten(1, inner),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, channels, 4, stride=2, padding=1),
        )

    def forward(self, z: Tensor) -> Distribution:
        """Return the likelihood of pictures given a batch of codes."""
        return Independent(Bernoulli(logits=self.backbone(z), validate_args=False), 3)


class VAE(nn.Module):
    """An encoder and a decoder that fit each other; what it is trained for is up to the loss.

    Args:
        shape: Channels, height and width of a picture; the sides must be multiples of 4.
        n_codes: Dimensions of the codes.
        width: Channels of the first convolution.
    """

    def __init__(self, shape: tuple[int, int, int], n_codes: int, *, width: int = 32) -> None:
        super().__init__()
        self.n_codes = n_codes
        self.encoder = GaussianEncoder(shape, n_codes, width=width)
        self.decoder = BernoulliDecoder(shape, n_codes, width=width)

    def encode(self, x: Tensor) -> Distribution:
        """Return the posterior of pictures."""
        return cast(Distribution, self.encoder(x))

    def decode(self, z: Tensor) -> Distribution:
        """Return the likelihood of pictures given codes."""
        return cast(Distribution, self.decoder(z))


def _check_shape(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    if any(side < SIDE_UNIT or side % SIDE_UNIT for side in shape[1:]):
        raise ValueError(f"pictures must have sides that are multiples of {SIDE_UNIT}, got {shape[1]} by {shape[2]}.")
    return shape
