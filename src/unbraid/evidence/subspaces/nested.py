"""Factor subspaces by the published procedure: networks on a linear spine that narrows to one dimension.

For each factor a chain of projections takes the codes to fewer and fewer dimensions, and a network of its own predicts
the factor from each; all are trained together, so that every projection drops what the factor misses least. See
Geyer et al. (2024), sec. 3.1 and app. F.5, https://arxiv.org/abs/2407.03728. By default heads are small, spines start
from directional regression and the learning rate falls to 0, which takes a tenth of the time; the option ``heads`` has
the published layers, start and learning rate. In either case the wide end is cut short in large code spaces, rows are
split 70 : 15 : 15, and losses are set to the lowest where they are not significantly above it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unbraid._base.arrays import FloatArray
from unbraid.evidence.subspaces.geometry import HeadTarget, settled_losses
from unbraid.evidence.subspaces.losses import rounding_floor
from unbraid.evidence.subspaces.network import NestedFit, fit_nested
from unbraid.evidence.subspaces.options import USUAL_RANK, NestedTraining, Subspace, SubspaceOptions
from unbraid.probes.splits import check_enough_labels
from unbraid.representation.factor import Factor
from unbraid.representation.representation import Representation


def nested_subspaces(rep: Representation, options: SubspaceOptions, rng: np.random.Generator) -> list[Subspace]:
    """Find the subspace of every factor; all networks of all factors train as one.

    Args:
        rep: Codes and factors; rows without a label do not count for that factor.
        options: Largest rank, loss and device.
        rng: Source of chance: splits, starting values and batches. On the CPU the same seed gives the same result.

    Returns:
        One subspace for each factor, with ``min(max_rank, rank of the codes)`` axes (10 by default). Losses are
        those of a held-out 15 % of the labelled rows: squared error in the factor's units (cosine and sine for a
        circular one), or for a categorical one cross-entropy in nats or the share of errors.

    Raises:
        ValueError: A factor with fewer than ten labelled rows, or a GPU asked for where there is none.
    """
    return nested_subspaces_many(rep.codes[None], rep.factors, options, rng)[0]


def nested_subspaces_many(
    codes: ArrayLike,
    factors: Sequence[Factor],
    options: SubspaceOptions,
    rng: np.random.Generator,
    *,
    training: NestedTraining | None = None,
) -> list[list[Subspace]]:
    """Find the subspaces of the same factors in several representations, trained at once.

    Args:
        codes: ``(n_representations, n_samples, n_codes)``, finite.
        factors: One row for each sample, as in :attr:`Representation.factors`.
        options: As in :func:`nested_subspaces`.
        rng: As in :func:`nested_subspaces`.
        training: Sizes and steps; by default those of ``options``.

    Returns:
        For each representation, one subspace for each factor.
    """
    array = np.asarray(codes, dtype=np.float64)
    if array.ndim != 3:
        raise ValueError(f"codes must have shape (n_representations, n_samples, n_codes), got {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("codes must be finite, got NaN or inf.")
    for factor in factors:
        _check_rows(factor, array.shape[1])
    fits = fit_nested(
        array,
        [_target(factor) for factor in factors],
        max_rank=options.max_rank or USUAL_RANK,
        zero_one=options.loss == "zero_one",
        device=options.device,
        rng=rng,
        training=training or options.training,
    )
    return [[_subspace(fit, factor) for fit, factor in zip(row, factors, strict=True)] for row in fits]


def _check_rows(factor: Factor, n_samples: int) -> None:
    if len(factor.numbers) != n_samples:
        raise ValueError(
            f"codes and factors must have the same number of rows, got {n_samples} and {len(factor.numbers)}."
        )
    check_enough_labels(factor)


def _target(factor: Factor) -> HeadTarget:
    if not factor.is_numeric:
        return HeadTarget(values=factor.numbers[:, None], n_classes=len(factor.levels))
    rows = np.flatnonzero(factor.labelled)
    known = factor.targets(rows)
    values: FloatArray = np.full((len(factor.numbers), known.shape[1]), np.nan)
    values[rows] = known
    return HeadTarget(values=values)


def _subspace(fit: NestedFit, factor: Factor) -> Subspace:
    rows = np.flatnonzero(factor.labelled)
    losses = settled_losses(fit.losses)
    return Subspace(
        basis=fit.basis,
        losses=losses,
        floor=rounding_floor(factor, rows),
        history=fit.history,
        stopped=bool(fit.basis.shape[1] < len(fit.basis) and losses[-1] < losses[-2]),
    )
