"""Which factors a code is about: what a line or counts in bins connect it with, and how much of it that is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid._structure import BEYOND_LUCK, Structure
from unbraid._typing import FloatArray
from unbraid._words import quoted
from unbraid.result import Report

#: A factor that makes up less of what a code holds is a leak, and one that makes up less than the second not told of.
LEAK, SPOKEN_OF = 0.05, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Factors that share codes, and those codes, by position."""

    factors: tuple[int, ...]
    codes: tuple[int, ...]


def content(report: Report, structure: Structure, factors: Sequence[int]) -> FloatArray | None:
    """Return the share of each factor in what each code tells of them all, ``(n_codes, n_factors)``.

    What a code tells is the larger of the R² of a line, and the R² that two normal variables with the information
    found in bins would have, counted from what chance rarely exceeds.

    Returns:
        ``None`` where no information was counted, or there are too few rows to tell that a leak is one.
    """
    if structure.excess is None or BEYOND_LUCK**2 / report.meta["n_samples"] > LEAK:
        return None
    told = -np.expm1(-2 * structure.excess)
    told = np.maximum(told, by_lines(report, structure))[:, list(factors)]
    shares: FloatArray = told / np.maximum(told.sum(axis=1, keepdims=True), 1e-12)
    return shares


def about(shares: FloatArray, j: int, factors: Sequence[int]) -> tuple[int, ...]:
    """Return the factors that one code is about, leaks left out, the largest share first."""
    order = np.argsort(-shares[j], kind="stable")
    return tuple(factors[i] for i in order if shares[j, i] >= LEAK)


def by_factor(group: Group, shares: FloatArray) -> list[Group] | None:
    """Part a group into one for each factor if every code is about one factor; ``None`` if one is about several."""
    owners = [about(shares, j, group.factors) for j in group.codes]
    if any(len(owner) != 1 for owner in owners):
        return None
    codes = {k: tuple(j for j, o in zip(group.codes, owners, strict=True) if o == (k,)) for k in group.factors}
    return [Group(factors=(k,), codes=held) for k, held in codes.items() if held]


def who_is_where(report: Report, group: Group, shares: FloatArray) -> tuple[str, tuple[int, ...]]:
    """Say of each code of a group whether it is about one factor or mixes several, and return those that mix."""
    factors, codes = report.meta["factor_names"], report.meta["code_names"]
    owners = {j: about(shares, j, group.factors) for j in group.codes}
    mixing = tuple(j for j, owner in owners.items() if len(owner) > 1)
    parts = [f"“{codes[j]}” is about “{factors[owner[0]]}” alone" for j, owner in owners.items() if len(owner) == 1]
    parts += [
        f"“{codes[j]}” mixes “{factors[owners[j][0]]}” with {quoted([factors[k] for k in owners[j][1:]])}"
        for j in mixing
    ]
    return "; ".join(parts), mixing


def leaks(report: Report, structure: Structure, held: Sequence[tuple[int, int]]) -> list[str]:
    """Say how much of a code that one factor has to itself is another's after all, by the R² of a line."""
    names, codes = report.meta["factor_names"], report.meta["code_names"]
    linear = by_lines(report, structure)
    return [
        f"“{codes[j]}” has a little of “{names[other]}” too ({linear[j, other]:.2f} of its variance)"
        for k, j in held
        for other in np.flatnonzero((linear[j] >= SPOKEN_OF) & (np.arange(len(names)) != k))
        if not depend(report, {names[k], names[other]})
    ]


def depend(report: Report, names: Collection[str]) -> bool:
    """Tell whether one factor depends on any other in the data, or several on each other: sharing is then no fault."""
    pairs = () if report.dependence is None else report.dependence.dependent_pairs
    least = 1 if len(names) == 1 else 2
    return any(len({pair.first, pair.second} & set(names)) >= least for pair in pairs)


def by_lines(report: Report, structure: Structure) -> FloatArray:
    """Return R² of single codes beyond luck; 0 for categorical factors, which have accuracies instead."""
    if structure.alone is None:
        return np.zeros((report.meta["n_codes"], report.meta["n_factors"]))
    numeric = np.array([kind != "categorical" for kind in report.meta["factor_kinds"]])
    clear: FloatArray = np.where(
        numeric & (structure.alone > BEYOND_LUCK**2 / report.meta["n_samples"]), structure.alone, 0.0
    )
    return clear
