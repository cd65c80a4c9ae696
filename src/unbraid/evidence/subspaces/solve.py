"""Subspaces of all factors, by either solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from unbraid._base.optional import require
from unbraid._base.workers import Workers, torch_threads
from unbraid.evidence.subspaces.fast import fast_subspaces
from unbraid.evidence.subspaces.options import Subspace, SubspaceOptions, Subspaces, weigh
from unbraid.representation.representation import Representation


def factor_subspaces(
    rep: Representation,
    options: SubspaceOptions,
    rng: np.random.Generator,
    workers: Workers | None = None,
    *,
    like: Subspaces | None = None,
) -> Subspaces:
    """Find the subspace of every factor with the solver of the options.

    Args:
        rep: Codes and factors.
        options: The solver, and how its axes are weighed.
        rng: Source of chance.
        workers: Threads to work in, where libraries are limited to one thread each; by default all usable cores, and
            libraries are limited here.
        like: Subspaces of all rows, where these rows are a part of them: their ranks are kept.
    """
    if workers is None:
        with threadpool_limits(1):
            return factor_subspaces(rep, options, rng, Workers(), like=like)
    if options.solver == "nested":
        found = _solve_nested(rep, options, rng, workers)
    else:
        found = fast_subspaces(rep, options, rng, workers, like=None if like is None else like.subspaces)
    weighed = weigh(found, options, rep.n_codes)
    return replace(weighed, factor_names=rep.factor_names, blocks=tuple(rep.blocks.values()))


def _solve_nested(
    rep: Representation, options: SubspaceOptions, rng: np.random.Generator, workers: Workers
) -> list[Subspace]:
    require("solver='nested'", "torch", extra="torch", otherwise="give solver='fast'")
    from unbraid.evidence.subspaces.nested import nested_subspaces

    with torch_threads(workers.torch_threads):
        return nested_subspaces(rep, options, rng)
