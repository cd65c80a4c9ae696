"""Statistics of the Jacobians of one or two decoders, collected in one pass.

Kept are the few numbers of each sample that entropies are computed from, and the means over samples of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid.evidence.jacobians import gram as grams
from unbraid.evidence.jacobians.budget import Chunk
from unbraid.evidence.jacobians.gram import Moments
from unbraid.evidence.jacobians.sources import JacobianSource

Advance = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GramStatistics:
    """Statistics of each sample's Jacobian.

    Attributes:
        log_lengths: Logarithm of each column's length, ``(n_samples, latent)``; minus infinity where it is 0.
        log_volumes: Logarithm of the volume that the active columns span, ``(n_samples,)``.
        set_log_volumes: The same for the active columns of each set, ``(n_samples, n_sets)``.
        set_pair_information: Mutual information of every two sets in nats, ``(n_samples, n_sets, n_sets)``, or
            ``None``.
        pair_information: Mean over samples of the mutual information of every two latents, ``(latent, latent)``; NaN
            on the diagonal and for inactive latents.
        pair_information_error: Its standard error.
        mean_pair_information: For each sample, the mean over pairs of active latents.
        flat_counts: In how many samples each column is too short to move the data.
    """

    log_lengths: FloatArray
    log_volumes: FloatArray
    set_log_volumes: FloatArray
    set_pair_information: FloatArray | None
    pair_information: FloatArray
    pair_information_error: FloatArray
    mean_pair_information: FloatArray
    flat_counts: IntArray

    @property
    def active(self) -> BoolArray:
        """Which latents move the data in every sample; the logarithm of the others' length has no mean."""
        active: BoolArray = self.flat_counts == 0
        return active


def collect(
    source: JacobianSource,
    sets: Sequence[IntArray],
    *,
    between_sets: bool = False,
    log_abs_det: Callable[[int, int], FloatArray] | None = None,
    advance: Advance = lambda: None,
) -> GramStatistics:
    """Go through all samples.

    A latent that stands still somewhere is left out of every volume and pair. Where that shows only after other samples
    have been counted, the pass starts again without it.

    Args:
        source: Jacobians in chunks.
        sets: Positions of the latents of each set; together all of them, each once.
        between_sets: Whether to find the mutual information of every two sets, a determinant for each pair and sample.
        log_abs_det: For samples from a first to before a last, the logarithm of the whole volume, where it is known.
        advance: Called after each chunk.

    Raises:
        ValueError: No latent moves the data.
    """
    flat = np.zeros(source.latent_dim, dtype=np.intp)
    while True:
        run = _Pass(sets, active=flat == 0, between_sets=between_sets, log_abs_det=log_abs_det)
        done = all(run.take(chunk) for chunk in _announced(source, advance))
        flat = np.maximum(flat, run.flat_counts)
        if (flat > 0).all():
            raise ValueError(
                f"decoder must depend on its latents, but each of the {len(flat)} stands still in some sample; give "
                "the trained decoder, or more samples it was trained on as prior."
            )
        if done:
            return run.finish()


def _announced(source: JacobianSource, advance: Advance) -> Any:
    for chunk in source.chunks():
        yield chunk
        advance()


class _Pass:
    """One pass, without the latents that are known not to move the data in some sample."""

    def __init__(
        self,
        sets: Sequence[IntArray],
        *,
        active: BoolArray,
        between_sets: bool,
        log_abs_det: Callable[[int, int], FloatArray] | None,
    ) -> None:
        self._sets, self._between_sets, self._log_abs_det = sets, between_sets, log_abs_det
        self._active = active
        self._lengths: list[FloatArray] = []
        self._volumes: list[FloatArray] = []
        self._set_volumes: list[FloatArray] = []
        self._set_pairs: list[FloatArray] = []
        self._pair_means: list[FloatArray] = []
        self._pairs = Moments()
        self.flat_counts: IntArray = np.zeros(len(active), dtype=np.intp)

    def take(self, chunk: Chunk) -> bool:
        """Add some samples; ``False`` where a latent that was counted does not move the data."""
        gram = grams.gram_of(chunk.jacobian)
        lengths = grams.column_lengths(gram)
        flat = grams.as_numpy(grams.flat_columns(lengths)).astype(bool)
        self.flat_counts = self.flat_counts + flat.sum(axis=0)
        found = self._active & ~flat.any(axis=0)
        if (found != self._active).any() and self._lengths:
            return False
        self._active = found
        if self._active.any():
            self._count(chunk, gram, lengths)
        return True

    def _count(self, chunk: Chunk, gram: Any, lengths: Any) -> None:
        everywhere = bool(self._active.all())
        divisors = lengths if everywhere else grams.without(lengths, ~self._active)
        cosine = grams.cosines(gram, divisors, divisors)
        with np.errstate(divide="ignore"):
            log_lengths = np.log(grams.as_numpy(lengths))
        self._lengths.append(log_lengths)
        log_sum = log_lengths[:, self._active].sum(axis=1)
        if self._log_abs_det is not None and everywhere:
            self._volumes.append(self._log_abs_det(chunk.start, chunk.start + len(gram)))
        elif everywhere and chunk.jacobian.shape[1] == chunk.jacobian.shape[2]:
            volume = grams.square_log_volumes(chunk.jacobian, lengths, cosine)
            self._volumes.append(log_sum + grams.as_numpy(volume))
        else:
            (whole,) = self._log_volumes(cosine, log_lengths, [np.arange(len(self._active))]).T
            self._volumes.append(whole)
        self._set_volumes.append(self._log_volumes(cosine, log_lengths, self._sets))
        if self._between_sets:
            self._set_pairs.append(self._information_between_sets(cosine, log_lengths))
        self._count_pairs(cosine)

    def _members(self, members: IntArray) -> list[int]:
        return [int(i) for i in members if self._active[i]]

    def _log_volumes(self, cosine: Any, log_lengths: FloatArray, sets: Sequence[IntArray]) -> FloatArray:
        members = [self._members(one) for one in sets]
        lengths = np.stack([log_lengths[:, one].sum(axis=1) for one in members], axis=1)
        if all(len(one) < 2 for one in members):
            return lengths
        volumes: FloatArray = lengths + grams.as_numpy(grams.log_volumes(cosine, members))
        return volumes

    def _information_between_sets(self, cosine: Any, log_lengths: FloatArray) -> FloatArray:
        n_sets = len(self._sets)
        alone = self._set_volumes[-1]
        found: FloatArray = np.full((len(alone), n_sets, n_sets), np.nan)
        for s, t in combinations(range(n_sets), 2):
            together = np.concatenate([self._sets[s], self._sets[t]])
            joint = self._log_volumes(cosine, log_lengths, [together])[:, 0]
            found[:, s, t] = found[:, t, s] = np.maximum(alone[:, s] + alone[:, t] - joint, 0.0)
        return found

    def _count_pairs(self, cosine: Any) -> None:
        information = grams.pair_information(cosine)
        n_active = int(self._active.sum())
        each = grams.as_numpy(grams.off_diagonal_sum(information))
        self._pair_means.append(each / max(n_active * (n_active - 1), 1))
        self._pairs.add(information)

    def finish(self) -> GramStatistics:
        """Return the statistics of the pass."""
        left_out = ~(self._active[:, None] & self._active)
        np.fill_diagonal(left_out, True)
        return GramStatistics(
            log_lengths=np.concatenate(self._lengths),
            log_volumes=np.concatenate(self._volumes),
            set_log_volumes=np.concatenate(self._set_volumes),
            set_pair_information=np.concatenate(self._set_pairs) if self._between_sets else None,
            pair_information=np.where(left_out, np.nan, self._pairs.mean()),
            pair_information_error=np.where(left_out, np.nan, self._pairs.standard_error()),
            mean_pair_information=np.concatenate(self._pair_means),
            flat_counts=self.flat_counts,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossStatistics:
    """Statistics across the Jacobians of two decoders.

    Attributes:
        log_lengths_a: Logarithm of each column's length, ``(n_samples, latent_a)``.
        log_lengths_b: The same for the other, ``(n_samples, latent_b)``.
        active_a: Which columns are never too short to move the data.
        active_b: The same for the other.
        information: Mean mutual information of column i of ``a`` and j of ``b``; NaN where one is inactive.
        information_error: Its standard error.
        set_information: Mutual information of every set of ``a`` and every set of ``b`` in nats, ``(n_samples,
            n_sets_a, n_sets_b)``, or ``None`` where no sets were given.
    """

    log_lengths_a: FloatArray
    log_lengths_b: FloatArray
    active_a: BoolArray
    active_b: BoolArray
    information: FloatArray
    information_error: FloatArray
    set_information: FloatArray | None = None


def collect_across(
    a: JacobianSource,
    b: JacobianSource,
    *,
    sets: tuple[Sequence[IntArray], Sequence[IntArray]] | None = None,
    advance: Advance = lambda: None,
) -> CrossStatistics:
    """Go through all samples of two sources side by side.

    A column that stands still in some sample counts 0 there, and is left out at the end, so one pass is enough.

    Args:
        a: Jacobians of one decoder.
        b: Jacobians of the other.
        sets: Sets of latents of each, to find the mutual information of every two: a determinant for each pair and
            sample.
        advance: Called after each chunk.
    """
    pairs = Moments()
    of_sets: list[FloatArray] = []
    lengths: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    flat: tuple[list[BoolArray], list[BoolArray]] = ([], [])
    size = min(a.chunk_size, b.chunk_size)
    for one, other in zip(a.chunks(size), b.chunks(size), strict=True):
        divisors = []
        for k, jacobian in enumerate((one.jacobian, other.jacobian)):
            long = grams.direct_lengths(jacobian)
            still = grams.as_numpy(grams.flat_columns(long)).astype(bool)
            flat[k].append(still)
            with np.errstate(divide="ignore"):
                lengths[k].append(np.log(grams.as_numpy(long)))
            divisors.append(grams.without(long, still) if still.any() else long)
        pairs.add(grams.pair_information(_cosines(one.jacobian, other.jacobian, divisors[0], divisors[1])))
        if sets is not None:
            of_sets.append(_across_sets(one.jacobian, other.jacobian, divisors[0], divisors[1], sets))
        advance()
    active: list[BoolArray] = [np.logical_not(np.concatenate(each).any(axis=0)) for each in flat]
    left_out = ~(active[0][:, None] & active[1])
    return CrossStatistics(
        log_lengths_a=np.concatenate(lengths[0]),
        log_lengths_b=np.concatenate(lengths[1]),
        active_a=active[0],
        active_b=active[1],
        information=np.where(left_out, np.nan, pairs.mean()),
        information_error=np.where(left_out, np.nan, pairs.standard_error()),
        set_information=np.concatenate(of_sets) if of_sets else None,
    )


def _across_sets(
    a: Any, b: Any, lengths_a: Any, lengths_b: Any, sets: tuple[Sequence[IntArray], Sequence[IntArray]]
) -> FloatArray:
    """Return log-volumes of the sets alone less that of both together (A.33), ``(rows, n_sets_a, n_sets_b)``.

    Columns that stand still have infinite lengths here, and count as at right angles to all others.
    """
    unit_a, unit_b = _unit_columns(a, lengths_a), _unit_columns(b, lengths_b)
    cosine = grams.gram_of(np.concatenate([unit_a, unit_b], axis=2))
    np.einsum("nii->ni", cosine)[:] = 1.0
    n_first = unit_a.shape[2]
    first = [[int(i) for i in one] for one in sets[0]]
    second = [[n_first + int(i) for i in one] for one in sets[1]]
    alone_a, alone_b = grams.log_volumes(cosine, first), grams.log_volumes(cosine, second)
    joint = grams.log_volumes(cosine, [[*s, *t] for s in first for t in second])
    together = joint.reshape(len(cosine), len(first), len(second))
    found: FloatArray = np.maximum(alone_a[:, :, None] + alone_b[:, None, :] - together, 0.0)
    return found


def _unit_columns(jacobian: Any, lengths: Any) -> FloatArray:
    found: FloatArray = grams.as_numpy(jacobian) / grams.as_numpy(lengths)[:, None]
    return found


def _cosines(a: Any, b: Any, lengths_a: Any, lengths_b: Any) -> Any:
    if a.dtype != b.dtype:
        a, b = grams.as_double(a), grams.as_double(b)
    return grams.cosines(a.swapaxes(1, 2) @ b, lengths_a, lengths_b)
