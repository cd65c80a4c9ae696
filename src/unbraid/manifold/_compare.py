"""From two decoders to what their latents share."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np

from unbraid._progress import track
from unbraid._typing import BoolArray, FloatArray, IntArray
from unbraid._validation import check_at_least, check_choice
from unbraid._version import __version__
from unbraid.evidence._torch import torch_needed
from unbraid.evidence.cross_statistics import collect_across
from unbraid.evidence.jacobians import DEFAULT_MEMORY, JacobianSource, precomputed
from unbraid.evidence.priors import draw_latents
from unbraid.manifold import _quantities as quantities
from unbraid.manifold._comparison import ManifoldComparison


def compare(
    a: Any,
    b: Any,
    *,
    latent_dim: int | None = None,
    n_samples: int = 1000,
    encoder: Any = None,
    at: str = "auto",
    prior: Any = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: bool | None = None,
) -> ManifoldComparison:
    r"""Measure which latents of two decoders move the data in the same directions.

    With :math:`\theta_{ij}` the angle between column i of one Jacobian and column j of the other, the cross mutual
    information is :math:`E[-\tfrac12 \log(1 - \cos^2\theta_{ij})]` (Eq. 11 and A.33). Where two latents do the same
    it is infinite, and shown as far as the precision can tell: 18 nats in float64, 8 in float32.

    Args:
        a: A torch module or function, often the truth; or Jacobians ``(n_samples, data, latent)``, then ``b`` too.
        b: The decoder to compare, with outputs of the same size.
        latent_dim: How many latents ``a`` takes.
        n_samples: Latents of ``a`` to draw.
        encoder: From the outputs of ``a`` to the latents of ``b``. Gives the Pearson matrix, and lets both Jacobians
            be taken at the same data.
        at: ``"data"`` compares at the same data, for which it takes the encoder; ``"latents"`` gives both decoders
            the same latents, as Eq. 11 is printed, which means something only where the two agree on what each
            latent is. ``"auto"`` is the first with an encoder and the second without.
        prior: Where latents of ``a`` come from, as in :func:`analyze`.
        mode: As in :func:`analyze`.
        dtype: As in :func:`analyze`.
        device: As in :func:`analyze`.
        memory: As in :func:`analyze`, for both together.
        seed: Same seed, same latents, on any device.
        progress: Whether to show a bar; by default on a terminal.

    Returns:
        The matrix of mutual information, its errors, both orders of importance, and the Pearson matrix.

    Raises:
        TypeError: As in :func:`analyze`.
        ValueError: As in :func:`analyze`, or outputs of different sizes.

    References:
        Galperin and Köthe (2025), sec. 4 and app. A.12, D.3. https://arxiv.org/abs/2410.19426

    Example:
        >>> import numpy as np
        >>> turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)  # by 45 degrees
        >>> found = compare(np.stack([np.eye(2)] * 2), np.stack([turned] * 2))
        >>> found.cross_mutual_information.round(6).tolist()
        [[0.346574, 0.346574], [0.346574, 0.346574]]
    """
    started = time.perf_counter()
    check_at_least("seed", seed, 0)
    check_choice("at", at, ("auto", "data", "latents"))
    pearson: FloatArray | None = None
    place = "jacobians"
    if not callable(a) and not callable(b):
        sources: tuple[JacobianSource, JacobianSource] = (precomputed(a, memory=memory), precomputed(b, memory=memory))
    else:
        with torch_needed():
            from unbraid.manifold._pair import make_pair

        place = ("data" if encoder is not None else "latents") if at == "auto" else at
        latents = draw_latents(prior, n_samples, latent_dim, np.random.default_rng(seed))
        pair = make_pair(a, b, latents, encoder=encoder, at=place, mode=mode, dtype=dtype, device=device, memory=memory)
        sources, pearson = pair.sources, pair.pearson
    _check_alike(*sources)
    with track(-(-sources[0].n_samples // sources[0].chunk_size), progress, doing="comparing") as bar:
        found = collect_across(*sources, advance=bar.advance)
    entropy_a, entropy_b = (
        quantities.latent_entropy(lengths, active).value
        for lengths, active in ((found.log_lengths_a, found.active_a), (found.log_lengths_b, found.active_b))
    )
    return ManifoldComparison(
        n_samples=sources[0].n_samples,
        cross_mutual_information=found.information,
        cross_mutual_information_error=found.information_error,
        pearson=pearson,
        entropy_a=entropy_a,
        entropy_b=entropy_b,
        active_a=found.active_a,
        active_b=found.active_b,
        order_a=quantities.importance_order(entropy_a),
        order_b=quantities.importance_order(entropy_b),
        notes=_notes(found.active_a, found.active_b),
        meta={
            "latent_dim": [sources[0].latent_dim, sources[1].latent_dim],
            "n_samples": sources[0].n_samples,
            "output_shape": list(sources[0].output_shape),
            "at": place,
            "seed": seed,
            "unbraid": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "seconds": round(time.perf_counter() - started, 3),
        },
    )


def _check_alike(a: JacobianSource, b: JacobianSource) -> None:
    sizes = int(np.prod(a.output_shape)), int(np.prod(b.output_shape))
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"a and b must give outputs of the same size, got {a.output_shape} and {b.output_shape}; compare "
            "decoders of the same data."
        )
    if a.n_samples != b.n_samples:
        raise ValueError(f"a and b must have the same samples, got {a.n_samples} and {b.n_samples}.")


def _notes(active_a: BoolArray, active_b: BoolArray) -> tuple[str, ...]:
    named = (("a", np.flatnonzero(~active_a)), ("b", np.flatnonzero(~active_b)))
    return tuple(f"Inactive in {name}: {_listed(inactive)}." for name, inactive in named if len(inactive))


def _listed(positions: IntArray) -> str:
    return ", ".join(f"z{i}" for i in positions[:10]) + (" and more" if len(positions) > 10 else "")
