"""Fully connected networks between flat data and codes; each returns a distribution."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal


class MlpEncoder(nn.Module):
    r"""Builds the posterior :math:`q(z \mid x)`: independent Gaussians whose mean and deviation depend on the data.

    Args:
        n_data: Numbers of a sample.
        n_codes: Dimensions of :math:`z`.
        width: Of both hidden layers.
    """

    def __init__(self, n_data: int, n_codes: int, *, width: int = 256) -> None:
        super().__init__()
        self.layers = _layers(n_data, width, width, 2 * n_codes)

    def forward(self, x: Tensor) -> Distribution:
        """Return the posterior of a batch."""
        mean, log_scale = self.layers(x).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)


class MlpDecoder(nn.Module):
    r"""Builds the likelihood :math:`p(x \mid z)`: Gaussians of variance 1, so that training weighs squared errors.

    Args:
        n_data: Numbers of a sample.
        n_codes: Dimensions of :math:`z`.
        width: Of both hidden layers.
    """

    def __init__(self, n_data: int, n_codes: int, *, width: int = 256) -> None:
        super().__init__()
        self.layers = _layers(n_codes, width, width, n_data)

    def mean(self, z: Tensor) -> Tensor:
        """Return the middle of the likelihood: the decoder without its noise."""
        found: Tensor = self.layers(z)
        return found

    def forward(self, z: Tensor) -> Distribution:
        """Return the likelihood of data given a batch of codes."""
        return Independent(Normal(self.mean(z), 1.0), 1)


def _layers(*widths: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*parts[:-1])
