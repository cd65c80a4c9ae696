"""Builders of spline, affine, GLOW, GIN and wavelet flows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from unbraid._base.checks import check_at_least
from unbraid.models.flows.coupling import (
    ImageNetwork,
    VectorNetwork,
    affine_coupling,
    gin_coupling,
    spline_coupling,
)
from unbraid.models.flows.flow import ClassMixture, Flow, StandardNormal
from unbraid.models.flows.mixing import AverageAlone, Chain, DetailsGivenAverage, Haar, Normalise, Permute, Rotate


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Start torch's generators from ``seed`` inside the block, and leave them as they were after it."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


MakeCoupling = Callable[..., nn.Module]
#: Widths of the networks of Table E.1: channels at each scale of the image, then of the fully connected couplings.
CHANNELS = (16, 64)
WIDTH = 201


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """What a block of a flow on images consists of.

    Attributes:
        both_halves: Two couplings, each half given the other, and not one.
        learns_mixing: Whether channels are mixed by learned rotations; if not, by fixed ones.
        normalises: Whether the block begins with a normalisation.
    """

    both_halves: bool = False
    learns_mixing: bool = True
    normalises: bool = True


#: Blocks of convolutions and fully connected blocks.
Styles = tuple[BlockStyle, BlockStyle]
PLAIN: Styles = (BlockStyle(), BlockStyle())
#: Blocks that have as many learned numbers as the paper prints: 4 859 768 for the cINN, 5 214 400 for GIN.
COUNTED_CINN: Styles = (BlockStyle(learns_mixing=False), BlockStyle(both_halves=True))
COUNTED_GIN: Styles = (BlockStyle(both_halves=True, learns_mixing=False, normalises=False),) * 2


def spline_flow(
    size: int,
    *,
    n_blocks: int = 8,
    n_bins: int = 4,
    hidden: Sequence[int] = (64, 64),
    rotates: bool = True,
    seed: int = 0,
) -> Flow:
    """Make a flow of rational-quadratic spline couplings on vectors.

    Every block normalises, permutes or rotates, then bends one half of the entries given the other. The last thing
    before the latents is a learned rotation.

    Args:
        size: Entries of a sample, at least 2.
        n_blocks: Couplings.
        n_bins: Pieces of a spline.
        hidden: Widths of the networks in the couplings.
        rotates: Whether entries are mixed by learned rotations; if not, by fixed permutations.
        seed: Of the start.

    References:
        Durkan et al. (2019), Neural spline flows; Galperin and Köthe (2025), App. D.1.1.
    """
    check_at_least("size", size, 2)
    check_at_least("n_bins", n_bins, 2)
    coupling = partial(spline_coupling, n_bins=n_bins)
    with seeded(seed):
        blocks = _vector_blocks(size, n_blocks, coupling, hidden=hidden, mixes=Rotate if rotates else _shuffle)
        return Flow(Chain(*blocks, Normalise(size), Rotate(size)), StandardNormal(size))


def affine_flow(
    size: int, *, n_blocks: int = 8, hidden: Sequence[int] = (64, 64), n_classes: int = 0, seed: int = 0
) -> Flow:
    """Make a GLOW-like flow on vectors: normalise, rotate, scale and shift one half given the other.

    Args:
        size: Entries of a sample, at least 2.
        n_blocks: Couplings.
        hidden: Widths of the networks in the couplings.
        n_classes: Classes that the networks see (cINN); 0 for none.
        seed: Of the start.

    References:
        Kingma and Dhariwal (2018), Glow.
    """
    check_at_least("size", size, 2)
    with seeded(seed):
        blocks = _vector_blocks(size, n_blocks, affine_coupling, hidden=hidden, mixes=Rotate, n_context=n_classes)
        return Flow(Chain(*blocks, Normalise(size)), StandardNormal(size), n_classes=n_classes)


def glow_flow(
    side: int,
    *,
    n_blocks: tuple[int, int] = (6, 8),
    channels: Sequence[int] = CHANNELS,
    width: int = WIDTH,
    n_classes: int = 0,
    as_counted: bool = False,
    seed: int = 0,
) -> Flow:
    """Make a GLOW-like flow on square images of one channel: two scales of convolutions, then full connections.

    Widths and numbers of blocks are those of Table E.1 in Galperin and Köthe (2025). With ``n_classes`` every network
    sees the class, which makes it their cINN.

    Args:
        side: Height and width, divisible by 4.
        n_blocks: Couplings at each scale, and fully connected ones.
        channels: Channels of the networks at each scale.
        width: Width of the fully connected networks.
        n_classes: Classes that the networks see; 0 for none.
        as_counted: Build blocks that have as many learned numbers as the paper prints for the cINN, 4 859 768 for 28 by
            28 pixels and 10 classes: fully connected blocks transform both halves, channels are mixed by fixed
            rotations, and no normalisation follows the last block. By default each block transforms one half, rotations
            are learned, and a normalisation comes last.
        seed: Of the start.
    """
    styles = COUNTED_CINN if as_counted else PLAIN
    with seeded(seed):
        chain = _image_chain(side, n_blocks, affine_coupling, channels, width, n_context=n_classes, styles=styles)
        return Flow(chain, StandardNormal(side**2), n_classes=n_classes)


def gin_flow(
    side: int,
    n_classes: int,
    *,
    n_blocks: tuple[int, int] = (6, 8),
    channels: Sequence[int] = CHANNELS,
    width: int = WIDTH,
    as_counted: bool = False,
    seed: int = 0,
) -> Flow:
    """Make a volume-preserving flow on square images with one Gaussian for each class as its prior (GIN).

    Args:
        side: Height and width, divisible by 4.
        n_classes: Gaussians of the prior.
        n_blocks: Couplings at each scale, and fully connected ones.
        channels: Channels of the networks at each scale.
        width: Width of the fully connected networks.
        as_counted: Build blocks that have as many learned numbers as the paper prints, 5 214 400 for 28 by 28 pixels
            and 10 classes without the prior: all blocks transform both halves, networks see the class, rotations of
            channels are fixed, and there is no normalisation. By default each block transforms one half and shifts,
            networks do not see the class, and rotations are learned.
        seed: Of the start.

    References:
        Sorrenson et al. (2020); Galperin and Köthe (2025), Table E.2.
    """
    check_at_least("n_classes", n_classes, 1)
    n_context = n_classes if as_counted else 0
    styles = COUNTED_GIN if as_counted else PLAIN
    with seeded(seed):
        chain = _image_chain(
            side, n_blocks, gin_coupling, channels, width, n_context=n_context, keeps_volume=True, styles=styles
        )
        return Flow(chain, ClassMixture(side**2, n_classes), n_classes=n_context)


def wavelet_flow(
    side: int,
    *,
    n_scales: int = 2,
    n_blocks: tuple[int, int] = (6, 4),
    channels: Sequence[int] = CHANNELS,
    width: int = WIDTH,
    seed: int = 0,
) -> Flow:
    """Make a flow on square images that splits off detail by Haar wavelets, and models it given what is left.

    Latents come from coarse to fine: those of the smallest average first, of the finest detail last.

    Args:
        side: Height and width, divisible by two as often as there are scales.
        n_scales: How often detail is split off.
        n_blocks: For each scale, couplings of convolutions and then fully connected ones; the smallest average gets
            as many fully connected ones as both together.
        channels: Channels of the networks at each scale, finest first; the last counts for all that follow.
        width: Width of the fully connected networks.
        seed: Of the start.

    References:
        Yu et al. (2020), Wavelet Flow; Galperin and Köthe (2025), App. E.1.5.
    """
    check_at_least("n_scales", n_scales, 1)
    _check_side(side, 2**n_scales)
    with seeded(seed):
        return Flow(_wavelet_chain(side, n_scales, n_blocks, tuple(channels), width), StandardNormal(side**2))


def wavelet_partition(side: int, *, n_scales: int = 2) -> dict[str, range]:
    """Return the sets of latents of a wavelet flow, as ``unbraid.manifold.analyze`` takes them.

    Args:
        side: Height and width of the images.
        n_scales: How often detail is split off.

    Returns:
        ``average``, the smallest one, then ``detail_1``, ``detail_2``, ... from coarse to fine.

    Example:
        >>> wavelet_partition(28)
        {'average': range(0, 49), 'detail_1': range(49, 196), 'detail_2': range(196, 784)}
    """
    check_at_least("n_scales", n_scales, 1)
    _check_side(side, 2**n_scales)
    edges = [0, *((side // 2**scale) ** 2 for scale in range(n_scales, -1, -1))]
    names = ["average", *(f"detail_{k}" for k in range(1, n_scales + 1))]
    return {name: range(start, stop) for name, (start, stop) in zip(names, pairwise(edges), strict=True)}


def _wavelet_chain(side: int, n_scales: int, n_blocks: tuple[int, int], channels: tuple[int, ...], width: int) -> Chain:
    if not n_scales:
        return Chain(
            *_vector_blocks(side**2, sum(n_blocks), affine_coupling, hidden=(width, width)), Normalise(side**2)
        )
    half = side // 2
    n_average = half**2
    details = Chain(
        *_image_blocks(3, half, n_blocks[0], affine_coupling, channels[0], n_context=1, context_is_image=True),
        *_vector_blocks(3 * n_average, n_blocks[1], affine_coupling, hidden=(width, width), n_context=n_average),
        Normalise(3 * n_average),
    )
    average = _wavelet_chain(half, n_scales - 1, n_blocks, channels[1:] or channels, width)
    return Chain(
        Haar(1, side), DetailsGivenAverage(details, n_average, side**2), AverageAlone(average, n_average, side**2)
    )


def _image_chain(
    side: int,
    n_blocks: tuple[int, int],
    coupling: MakeCoupling,
    channels: Sequence[int],
    width: int,
    *,
    n_context: int = 0,
    keeps_volume: bool = False,
    styles: Styles = PLAIN,
) -> Chain:
    _check_side(side, 2 ** len(channels))
    parts: list[nn.Module] = []
    n_channels = 1
    for hidden in channels:
        parts.append(Permute(_squeeze_order(n_channels, side)))
        n_channels, side = 4 * n_channels, side // 2
        parts += _image_blocks(
            n_channels,
            side,
            n_blocks[0],
            coupling,
            hidden,
            n_context=n_context,
            keeps_volume=keeps_volume,
            style=styles[0],
        )
    size = n_channels * side**2
    parts += _vector_blocks(
        size,
        n_blocks[1],
        coupling,
        hidden=(width, width),
        n_context=n_context,
        keeps_volume=keeps_volume,
        style=styles[1],
    )
    return Chain(*parts, *([Normalise(size, keeps_volume=keeps_volume)] if styles is PLAIN else []))


def _vector_blocks(
    size: int,
    n_blocks: int,
    coupling: MakeCoupling,
    *,
    hidden: Sequence[int],
    mixes: Callable[[int], nn.Module] | None = None,
    n_context: int = 0,
    keeps_volume: bool = False,
    style: BlockStyle = PLAIN[1],
) -> list[nn.Module]:
    if size == 1:  # nothing to couple with, as in the last average of a small image
        return []
    make_mixing = _shuffle if mixes is None else mixes
    stays = torch.arange(size) < (size + 1) // 2
    network = partial(VectorNetwork, n_context=n_context, hidden=hidden)
    normalise = partial(Normalise, size, keeps_volume=keeps_volume)
    return _blocks(
        n_blocks, style, normalise, partial(make_mixing, size), partial(coupling, make_network=network), stays
    )


def _image_blocks(
    n_channels: int,
    side: int,
    n_blocks: int,
    coupling: MakeCoupling,
    hidden: int,
    *,
    n_context: int = 0,
    context_is_image: bool = False,
    keeps_volume: bool = False,
    style: BlockStyle = PLAIN[0],
) -> list[nn.Module]:
    n_pixels = side**2
    stays = torch.arange(n_channels * n_pixels) < (n_channels // 2) * n_pixels

    def network(n_inputs: int, n_outputs: int) -> nn.Module:
        return ImageNetwork(
            n_inputs // n_pixels, n_outputs // n_pixels, side, n_context, hidden, context_is_image=context_is_image
        )

    normalise = partial(Normalise, n_channels * n_pixels, n_each=n_pixels, keeps_volume=keeps_volume)
    mix = partial(Rotate, n_channels, n_each=n_pixels)
    return _blocks(n_blocks, style, normalise, mix, partial(coupling, make_network=network), stays)


def _blocks(
    n_blocks: int,
    style: BlockStyle,
    normalise: Callable[[], nn.Module],
    mix: Callable[[], nn.Module],
    couple: Callable[[Tensor], nn.Module],
    stays: Tensor,
) -> list[nn.Module]:
    """Return blocks one after the other: normalise, mix, and transform one half or both."""
    parts: list[nn.Module] = []
    for _ in range(n_blocks):
        if style.normalises:
            parts.append(normalise())
        parts.append(mix().requires_grad_(style.learns_mixing))
        parts += [couple(half) for half in ((stays, ~stays) if style.both_halves else (stays,))]
    return parts


def _squeeze_order(n_channels: int, side: int) -> Tensor:
    """Return the order that turns every square of four pixels into one pixel with four times the channels."""
    grid = torch.arange(n_channels * side**2).reshape(n_channels, side // 2, 2, side // 2, 2)
    return grid.permute(0, 2, 4, 1, 3).flatten()


def _shuffle(size: int) -> nn.Module:
    return Permute(torch.randperm(size))


def _check_side(side: int, factor: int) -> None:
    if side < factor or side % factor:
        raise ValueError(
            f"side must be divisible by {factor} to be halved so often, got {side}; pad or crop the images."
        )
