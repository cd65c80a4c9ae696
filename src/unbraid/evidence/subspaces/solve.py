"""Subspaces of all factors, by the solver asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unbraid._base.optional import require
from unbraid.evidence.subspaces.fast import fast_subspaces
from unbraid.evidence.subspaces.options import Subspace, SubspaceOptions, Subspaces, weigh
from unbraid.representation.representation import Representation


def factor_subspaces(rep: Representation, options: SubspaceOptions, rng: np.random.Generator) -> Subspaces:
    """Find the subspace of every factor with the solver asked for."""
    found = _solve_nested(rep, options, rng) if options.solver == "nested" else fast_subspaces(rep, options, rng)
    return replace(weigh(found, options, rep.n_codes), factor_names=rep.factor_names)


def _solve_nested(rep: Representation, options: SubspaceOptions, rng: np.random.Generator) -> list[Subspace]:
    require("solver='nested'", "torch", extra="torch", otherwise="give solver='fast'")
    from unbraid.evidence.subspaces.nested import nested_subspaces

    return nested_subspaces(rep, options, rng)
