"""Manifold entropies of one decoder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_at_least, to_array
from unbraid._base.memory import parse_memory
from unbraid._base.progress import Show, track
from unbraid._base.record import provenance
from unbraid.evidence.jacobians.budget import DEFAULT_MEMORY, check_samples
from unbraid.evidence.jacobians.priors import GaussianMixture, Latents, draw_latents
from unbraid.evidence.jacobians.sources import JacobianSource, decoder_jacobians, precomputed
from unbraid.evidence.jacobians.statistics import GramStatistics, collect
from unbraid.manifold import quantities
from unbraid.manifold.quantities import Partition, PartitionLike, chosen_latents, latent_names, partition_among
from unbraid.manifold.result import ManifoldAnalysis, SampleRecord

NEAR_PARALLEL = 7.5
#: Samples at which the log-determinants of a flow are held against its Jacobian.
CHECKED = 2


def make_notes(found: GramStatistics, latents: IntArray, total_correlation: float) -> tuple[str, ...]:
    """Return one sentence for each limitation of the numbers."""
    n_samples = len(found.log_volumes)
    notes = []
    dead = np.flatnonzero(found.flat_counts == n_samples)
    partly = np.flatnonzero((found.flat_counts > 0) & (found.flat_counts < n_samples))
    if len(dead):
        notes.append(
            f"Inactive, moving the data nowhere: {latent_names(latents[dead])}. All numbers are about the other "
            "latents."
        )
    if len(partly):
        notes.append(
            f"Counted as inactive, because their Jacobian column is zero in some samples, where its logarithm is minus "
            f"infinity: {latent_names(latents[partly])}."
        )
    if np.nanmax(found.pair_information, initial=0.0) > NEAR_PARALLEL:
        notes.append(
            "Some latents move the data in the same direction; their mutual information is infinite, and shown up "
            "to the numerical precision (18 nats in float64, 8 in float32)."
        )
    if total_correlation < 0:
        notes.append(
            f"The total correlation is {total_correlation:.3g}, but cannot be negative: log_abs_det disagrees with the "
            "Jacobian, or float32 is too coarse; leave it out, or use dtype='float64'."
        )
    return tuple(notes)


# Largest difference of a flow's own log-determinant from the Jacobian's, in nats per latent.
DETERMINANT_TOLERANCE = 0.01
MISSING = "give a decoder, a torch module or function, or its jacobians (n_samples, data, latent), got neither."


def analyze(
    decoder: Any = None,
    *,
    latent_dim: int | None = None,
    n_samples: int = 1000,
    latents: Iterable[int] | None = None,
    partition: PartitionLike = None,
    prior: Any = None,
    jacobians: Any = None,
    log_abs_det: Callable[[Any], Any] | None = None,
    mode: str = "auto",
    dtype: str | None = None,
    device: str | None = None,
    memory: str | int = DEFAULT_MEMORY,
    seed: int = 0,
    progress: Show = None,
) -> ManifoldAnalysis:
    r"""Measure which latents of a decoder matter, and which move the data in the same directions.

    No labels are needed. With :math:`J` the decoder's Jacobian and :math:`J_S` its columns of a set of latents,

    .. math::

        H(q_S) = \tfrac{|S|}{2}(1 + \log 2\pi) + E_z[\log |J_S|], \qquad |J_S| = \det(J_S^T J_S)^{1/2},

    is the manifold entropy of the set, :math:`\sum_S H(q_S) - H(q)` the total correlation, and
    :math:`E_z[-\tfrac12 \log(1 - \cos^2\theta_{ij})]`, with :math:`\theta_{ij}` the angle between two columns, the
    mutual information of two latents.

    Args:
        decoder: A torch module or function from ``(rows, latent_dim)`` to ``(rows, ...)``, any output shape; or any
            object with ``decode`` (as a module with ``encode`` and ``decode``) or ``decoder`` (as our trained models).
        latent_dim: Number of latents it takes; may be left out where ``prior`` or ``jacobians`` determines it.
        n_samples: Latents to draw; 100 to 1000 are enough for most decoders (see :meth:`ManifoldAnalysis.convergence`).
        latents: Numbers of the latents to measure, such as ``range(10)``; all by default. The others are drawn too, and
            not differentiated by: forward mode makes one pass for each latent measured. Entropies, total entropy and
            correlations are those of the latents measured.
        partition: Sets of latents, such as ``[range(10), range(10, 20)]`` or ``{"core": [0, 2], "rest": [1]}``; each
            latent in one. By default every latent is a set of its own.
        prior: ``None`` for a standard normal, samples ``(n_samples, latent_dim)``, or a :class:`GaussianMixture`, whose
            deviations then scale the columns.
        jacobians: Instead of a decoder, its Jacobians ``(n_samples, data, latent)`` from any framework.
        log_abs_det: For a square decoder, a function from latents to :math:`\log|\det J|`, which a flow has for free.
        mode: ``"forward"``, ``"reverse"`` or ``"auto"``, the cheaper one.
        dtype: ``"float32"`` or ``"float64"``; by default the module's own.
        device: Such as ``"cuda"``; by default the module's own.
        memory: Budget for Jacobians and passes, such as ``"2GiB"``. It changes the time, not the result. What cannot be
            divided, one sample's Jacobian and a few numbers of every sample, must fit into the budget or into the
            memory that is available.
        seed: Same seed, same latents, on any device.
        progress: Whether to show a bar; by default on a terminal.

    Returns:
        Entropies, correlations, standard errors, the order of importance and the active latents.

    Raises:
        TypeError: A decoder that cannot be called, or returns something other than one tensor.
        TooMuchMemoryError: One sample's Jacobian, or the numbers of all samples, would not fit; a ValueError.
        ValueError: More latents than outputs, samples of a batch that mix, outputs that are random, not finite or
            detached, a partition that does not cover the latents, latents that are not there, or torch missing.

    Note:
        Unchanged by rotating or shifting the data. Rotating the latents changes everything but the total entropy.

    References:
        Galperin and Köthe (2025), Analyzing Generative Models by Manifold Entropic Metrics, sec. 4 and app. A.
        https://arxiv.org/abs/2410.19426

    Example:
        >>> import numpy as np
        >>> two_columns = np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 0.0]])  # at 45 degrees
        >>> found = analyze(jacobians=np.stack([two_columns] * 2))
        >>> round(found.total_correlation, 6), round(-0.5 * float(np.log(0.5)), 6)
        (0.346574, 0.346574)
    """
    started = time.perf_counter()
    check_at_least("seed", seed, 0)
    if latents is not None and log_abs_det is not None:
        raise ValueError("log_abs_det is the volume of all latents; leave it out, or latents.")
    how = {"mode": mode, "dtype": dtype, "device": device}
    source, drawn, chosen = _source(
        decoder, jacobians, latent_dim, latents, n_samples, prior, seed, memory=memory, how=how
    )
    sets = partition_among(partition, chosen)
    volumes = None if log_abs_det is None else _own_volumes(log_abs_det, source, drawn)
    with track(-(-source.n_samples // source.chunk_size), progress, doing="analysing") as bar:
        found = collect(source, sets.sets, between_sets=not sets.is_default, log_abs_det=volumes, advance=bar.advance)
    meta = {
        "latent_dim": len(drawn.z[0]) if drawn is not None else source.latent_dim,
        "n_samples": source.n_samples,
        "output_shape": list(source.output_shape),
        "prior": _prior_name(prior, jacobians),
        "mode": getattr(getattr(source, "decoder", None), "mode", "precomputed"),
        "log_abs_det": log_abs_det is not None,
        **provenance(seed=seed, started=started),
    }
    return summarise(found, chosen, sets, source.output_shape, meta)


def summarise(
    found: GramStatistics,
    latents: IntArray,
    partition: Partition,
    output_shape: tuple[int, ...],
    meta: dict[str, Any],
) -> ManifoldAnalysis:
    """Turn the statistics of each sample into the result."""
    active = found.active
    sizes = np.array([float(active[members].sum()) for members in partition.sets])
    each = quantities.latent_entropy(found.log_lengths, active)
    sets = each if partition.is_default else quantities.entropy(found.set_log_volumes, sizes)
    total = quantities.estimate(found.log_volumes)
    correlations = quantities.total_correlation_samples(found.set_log_volumes, found.log_volumes)
    correlation = quantities.estimate(correlations)
    between = None if found.set_pair_information is None else quantities.estimate(found.set_pair_information)
    effective = quantities.effective_dimension(found.log_lengths, active)
    return ManifoldAnalysis(
        n_samples=len(found.log_volumes),
        output_shape=output_shape,
        latents=latents,
        partition=partition,
        active=active,
        total_entropy=float(total.value) + int(active.sum()) * quantities.UNIT_ENTROPY,
        total_entropy_error=float(total.error),
        manifold_entropy=sets.value,
        manifold_entropy_error=sets.error,
        latent_entropy=each.value,
        latent_entropy_error=each.error,
        total_correlation=float(correlation.value),
        total_correlation_error=float(correlation.error),
        pairwise_mutual_information=found.pair_information,
        pairwise_mutual_information_error=found.pair_information_error,
        set_mutual_information=None if between is None else between.value,
        set_mutual_information_error=None if between is None else between.error,
        order=quantities.importance_order(each.value),
        effective_dimension=float(effective.value),
        effective_dimension_error=float(effective.error),
        samples=SampleRecord(
            log_lengths=found.log_lengths,
            log_volumes=found.log_volumes,
            total_correlation=correlations,
            mean_pair_information=found.mean_pair_information,
            active=active,
        ),
        notes=make_notes(found, latents, float(correlation.value)),
        meta=meta,
    )


def _source(
    decoder: Any,
    jacobians: Any,
    latent_dim: int | None,
    latents: Iterable[int] | None,
    n_samples: int,
    prior: Any,
    seed: int,
    *,
    memory: str | int,
    how: dict[str, Any],
) -> tuple[JacobianSource, Latents | None, IntArray]:
    if (decoder is None) == (jacobians is None):
        raise ValueError("give either a decoder or its jacobians, got both." if jacobians is not None else MISSING)
    if jacobians is not None:
        width = int(np.shape(jacobians)[-1]) if np.ndim(jacobians) == 3 else 0
        chosen = None if latents is None or not width else chosen_latents(latents, width)
        ready = precomputed(jacobians, memory=memory, columns=chosen)
        if latent_dim is not None and latent_dim != width:
            raise ValueError(f"latent_dim must be {width}, the last axis of jacobians, got {latent_dim}.")
        return ready, None, chosen_latents(None, width) if chosen is None else chosen
    check_samples(n_samples, latent_dim or 1, parse_memory(memory))
    drawn = draw_latents(prior, n_samples, latent_dim, np.random.default_rng(seed))
    chosen = chosen_latents(latents, drawn.z.shape[1])
    columns = None if latents is None else chosen
    return decoder_jacobians(decoder, drawn, memory=memory, columns=columns, **how), drawn, chosen


def _own_volumes(
    log_abs_det: Callable[[Any], Any], source: JacobianSource, latents: Latents | None
) -> Callable[[int, int], FloatArray]:
    """Return the flow's own log-determinants, with the deviations of the prior, checked against a few Jacobians."""
    if latents is None:
        raise ValueError("log_abs_det needs the decoder; it cannot be used with jacobians, leave it out.")
    data_dim = int(np.prod(source.output_shape))
    if data_dim != source.latent_dim:
        raise ValueError(
            f"log_abs_det is for square decoders, got {source.latent_dim} latents and {data_dim} outputs; leave it out."
        )

    return checked_volumes(log_abs_det, source, latents, tolerance=DETERMINANT_TOLERANCE * source.latent_dim)


def _prior_name(prior: Any, jacobians: Any) -> str:
    if jacobians is not None:
        return "jacobians given"
    if prior is None or isinstance(prior, str):
        return "standard normal"
    return "mixture of Gaussians" if isinstance(prior, GaussianMixture) else "samples given"


def checked_volumes(
    log_abs_det: Callable[[Any], Any], source: JacobianSource, latents: Latents, *, tolerance: float
) -> Callable[[int, int], FloatArray]:
    """Return log-volumes by sample, once a few agree with the determinant of the Jacobian.

    Raises:
        ValueError: A wrong shape, numbers that are not finite, or ones that differ by more than ``tolerance`` nats.
    """
    import torch

    from unbraid.evidence.jacobians.decoder import DecoderJacobians

    assert isinstance(source, DecoderJacobians)

    def volumes(first: int, last: int) -> FloatArray:
        z = torch.as_tensor(latents.z[first:last]).to(source.decoder.device, source.decoder.dtype)
        with torch.no_grad():
            found = np.asarray(to_array(log_abs_det(z)), dtype=np.float64)
        if found.shape != (len(z),):
            raise ValueError(f"log_abs_det must return one number for each latent, ({len(z)},), got {found.shape}.")
        if not np.isfinite(found).all():
            raise ValueError("log_abs_det must be finite, got NaN or inf; leave it out to use the Jacobian.")
        return found if latents.scale is None else found + np.log(latents.scale[first:last]).sum(axis=1)

    claimed = volumes(0, CHECKED)
    true = torch.linalg.slogdet(source.jacobian(slice(0, CHECKED)).double())[1].cpu().numpy()
    worst = float(np.abs(claimed - true).max())
    if np.isfinite(true).all() and worst > tolerance:
        raise ValueError(
            f"log_abs_det must be the decoder's log |det J|, but differs from the Jacobian's by {worst:.3g} nats; the "
            "encoder's has the opposite sign, and is taken at other points."
        )
    return volumes
