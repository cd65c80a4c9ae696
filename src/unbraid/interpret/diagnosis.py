"""What is right and wrong with a representation, from the evidence behind its scores: rules, and what they say.

A factor is *held* by the codes that a good probe of it leans on. Factors that share a code belong together, and how
many factors and codes a group has says what happened to it: one and one is a code of its own, one factor in several
codes is spread or copied, several factors in as many codes are rotated or mixed. Nothing is said of factors that share
codes but depend on each other in the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import listing, quoted
from unbraid.interpret.structure import (
    LEAK,
    Group,
    Structure,
    about,
    by_factor,
    by_lines,
    content,
    depend,
    find_structure,
    leaks,
    who_is_where,
)
from unbraid.interpret.weak_factors import nothing, unread
from unbraid.results.finding import Finding, FindingKind
from unbraid.results.report import Report

#: How well a factor must be read, and how far from right angles two may be, to speak of a rotation.
READ_WELL, RIGHT_ANGLES = 0.9, 0.9
#: An axis with less weight is not counted.
LEAST_WEIGHT = 0.05
#: Copies: the best code alone predicts this share of what all do; others tell, and predict, these shares of its own.
ALONE, TELLS_AS_MUCH, PREDICTS_AS_MUCH = 0.8, 0.75, 0.5
#: A code that no probe leans on more than this, and that tells nothing alone, is empty.
UNUSED = 0.05
MOST_NAMES = 6


def diagnose(report: Report) -> tuple[Finding, ...]:
    """Say how the codes hold the factors, where the evidence shows it.

    Args:
        report: With the scores and their evidence; a report read back from a file has none.

    Returns:
        Findings, each with the sentence and the names it is about; none but dead codes where no probe of all codes
        (``dci_linear``, ``dci_forest``, ``dci_boosting``) was run.
    """
    dead = _dead(report)
    structure = find_structure(report)
    if structure is None:
        return dead
    if not structure.shows_something:
        return (*nothing(report, structure), *dead)
    groups = _groups(report, structure)
    faults = [
        *(finding for group in groups for finding in _describe(report, structure, group)),
        *_copies(report, structure),
        *unread(report, structure),
        *_empty(report, structure),
        *dead,
    ]
    return (*_own(report, structure, groups, faults), *faults)


def _groups(report: Report, structure: Structure) -> list[Group]:
    """Join factors that share a code, and part them again where each code is about one factor but for leaks."""
    parted = []
    for group in _joined(structure):
        shares = None if len(group.factors) == 1 else content(report, structure, group.factors)
        apart = None if shares is None or _is_rotated(report, structure, group) else by_factor(group, shares)
        parted += [group] if apart is None else apart
    return parted


def _joined(structure: Structure) -> list[Group]:
    """Join factors that share a code, directly or through others."""
    groups: list[tuple[set[int], set[int]]] = []
    for k, codes in enumerate(structure.holders):
        if not codes:
            continue
        joined = [group for group in groups if group[1] & set(codes)]
        groups = [group for group in groups if group not in joined]
        groups.append(({k}.union(*(g[0] for g in joined)), set(codes).union(*(g[1] for g in joined))))
    return [Group(factors=tuple(sorted(f)), codes=tuple(sorted(c))) for f, c in sorted(groups, key=lambda g: min(g[0]))]


def _describe(report: Report, structure: Structure, group: Group) -> list[Finding]:
    if len(group.factors) == 1:
        return _one_factor(report, structure, group) if len(group.codes) > 1 else []
    return [] if depend(report, _names(report, group)[0]) else [_several_factors(report, structure, group)]


def _one_factor(report: Report, structure: Structure, group: Group) -> list[Finding]:
    """Say that a factor takes several codes, unless one of them alone would do: then they may be copies."""
    (k,) = group.factors
    factors, codes = _names(report, group)
    shown = quoted(codes, MOST_NAMES)
    if report.meta["factor_kinds"][k] == "circular":
        # Only a line that needs both shows a cosine and a sine; trees would share out copies of the angle too.
        if len(codes) > 2 or not structure.by_line[k] >= READ_WELL:
            return []
        says = f"{quoted(factors)}, an angle, takes two codes, {shown}, as cosine and sine do: neither tells it alone."
        return [Finding(kind=FindingKind.CIRCLE, says=says, factors=factors, codes=codes)]
    if structure.alone is None or _alone(report, structure, k).max() >= ALONE * structure.read[k]:
        return []
    says = f"{quoted(factors)} is spread over {len(codes)} codes, {shown}: none alone tells what they tell together."
    return [Finding(kind=FindingKind.SPREAD, says=says, factors=factors, codes=codes)]


def _several_factors(report: Report, structure: Structure, group: Group) -> Finding:
    factors, codes = _names(report, group)
    who, where = _all_or(factors, report.meta["factor_names"], "factors"), quoted(codes, MOST_NAMES)
    if len(codes) == 1:
        says = f"The code {where} alone holds {who}."
        return Finding(kind=FindingKind.PACKED, says=says, factors=factors, codes=codes)
    if _is_rotated(report, structure, group):
        says = (
            f"{_capital(who)} are rotated into {len(codes)} codes, {where}: together these hold just these "
            "factors, at right angles to each other, but none is about one of them alone."
        )
        return Finding(kind=FindingKind.ROTATED, says=says, factors=factors, codes=codes)
    return _mixed(report, structure, group, who)


def _mixed(report: Report, structure: Structure, group: Group, who: str) -> Finding:
    """Say which codes mix factors: all, or those that do beside codes that are about one."""
    factors, codes = _names(report, group)
    where = quoted(codes, MOST_NAMES)
    turned, shares = _is_turned(report, structure, group), content(report, structure, group.factors)
    if shares is None and not turned:
        says = f"Probes of {who} lean on shared codes, among {where}."
        return Finding(kind=FindingKind.MIXED, says=says, factors=factors, codes=codes)
    if shares is not None and any(len(about(shares, j, group.factors)) < 2 for j in group.codes):
        told, mixing = who_is_where(report, group, shares)
        names = tuple(report.meta["code_names"][j] for j in mixing)
        return Finding(kind=FindingKind.MIXED, says=f"{told}.", factors=factors, codes=names)
    says = f"{_capital(who)} are mixed in {len(codes)} codes, {where}"
    angles = _angles(report, group.factors) if turned else None
    if angles is not None:
        says += (
            f", along directions that are not at right angles (importance-weighted orthogonality {angles:.2f}), so "
            "that no rotation of the codes would part them"
        )
    return Finding(kind=FindingKind.MIXED, says=f"{says}.", factors=factors, codes=codes)


def _is_rotated(report: Report, structure: Structure, group: Group) -> bool:
    angles = _angles(report, group.factors) if _is_turned(report, structure, group) else None
    return angles is not None and angles >= RIGHT_ANGLES


def _is_turned(report: Report, structure: Structure, group: Group) -> bool:
    """Tell whether lines read every factor of a group from as many codes as the factors have axes, each mixed."""
    readable = bool((structure.by_line[list(group.factors)] >= READ_WELL).all())
    mixed = all(_holds(structure, group, j) > 1 for j in group.codes)
    spread = all(len(structure.holders[k]) > 1 for k in group.factors)
    return readable and mixed and spread and _n_axes(report, group) == len(group.codes)


def _holds(structure: Structure, group: Group, j: int) -> int:
    return sum(j in structure.holders[k] for k in group.factors)


def _n_axes(report: Report, group: Group) -> int | None:
    score = report.scores.get("iwr") or report.scores.get("iwo")
    weights = None if score is None else score.evidence.get("axis_weights")
    if weights is None:
        return None
    return int((np.nan_to_num(weights[:, list(group.factors)]) >= LEAST_WEIGHT).sum())


def _angles(report: Report, factors: Sequence[int]) -> float | None:
    """Return the importance-weighted orthogonality of the two factors that have least of it."""
    matrix = report.scores["iwo"].evidence.get("iwo") if "iwo" in report.scores else None
    if matrix is None:
        return None
    return float(matrix[np.ix_(factors, factors)][np.triu_indices(len(factors), 1)].min())


def _alone(report: Report, structure: Structure, k: int) -> FloatArray:
    """Return how well each code alone predicts a factor, accuracy counted from guessing as for probes."""
    assert structure.alone is not None
    levels = report.meta["factor_levels"][k]
    guess = 1 / levels if report.meta["factor_kinds"][k] == "categorical" and levels else 0.0
    counted: FloatArray = np.maximum(0.0, structure.alone[:, k] - guess) / max(1 - guess, 1e-12)
    return counted


def _copies(report: Report, structure: Structure) -> list[Finding]:
    """Say which factors several codes tell, each alone, unless codes of factors that depend on it may be the reason."""
    if structure.alone is None or structure.share is None:
        return []
    found = []
    for k, name in enumerate(report.meta["factor_names"]):
        # What one code alone tells of an angle is not known: lines see how far the angle tells the code.
        if not structure.holders[k] or report.meta["factor_kinds"][k] == "circular" or depend(report, {name}):
            continue
        alone = _alone(report, structure, k)
        alike = (structure.share[:, k] >= TELLS_AS_MUCH) & (alone >= PREDICTS_AS_MUCH * alone.max())
        if alone.max() < ALONE * structure.read[k]:
            continue
        codes = tuple(report.meta["code_names"][j] for j in np.flatnonzero(alike))
        if len(codes) > 1:
            says = f"“{name}” is held {len(codes)} times: each of {quoted(codes, MOST_NAMES)} alone tells most of it."
            found.append(Finding(kind=FindingKind.COPIED, says=says, factors=(name,), codes=codes))
    return found


def _empty(report: Report, structure: Structure) -> list[Finding]:
    """Say which codes no factor shows in, once some factor is known to be held by others."""
    if not any(structure.holders):
        return []
    dead = set(report.meta["dead_codes"])
    unused = (structure.largest <= UNUSED) & structure.silent
    names = tuple(name for name, no in zip(report.meta["code_names"], unused, strict=True) if no and name not in dead)
    if not names:
        return []
    verb, word = ("carries", "The code") if len(names) == 1 else ("carry", f"{len(names)} codes,")
    comma = "" if len(names) == 1 else ","
    says = (
        f"{word} {quoted(names, MOST_NAMES)}{comma} {verb} none of the factors: noise, or about something "
        "that is not labelled."
    )
    return [Finding(kind=FindingKind.EMPTY, says=says, codes=names)]


def _dead(report: Report) -> tuple[Finding, ...]:
    names = tuple(report.meta["dead_codes"])
    if not names:
        return ()
    one = len(names) == 1
    says = f"{'The code' if one else 'The codes'} {quoted(names, MOST_NAMES)} never change{'s' if one else ''}."
    return (Finding(kind=FindingKind.DEAD, says=says, codes=names),)


def _own(report: Report, structure: Structure, groups: Sequence[Group], faults: Sequence[Finding]) -> list[Finding]:
    """Name the factors that have a code to themselves."""
    names, codes = report.meta["factor_names"], report.meta["code_names"]
    troubled = {name for finding in faults for name in finding.factors}
    pairs = [(*group.factors, *group.codes) for group in groups if len(group.factors) == len(group.codes) == 1]
    pairs = [(k, j) for k, j in pairs if names[k] not in troubled and _is_its_own(report, structure, k, j)]
    if not pairs:
        return []
    placed = listing([f"“{names[k]}” in “{codes[j]}”" for k, j in pairs], MOST_NAMES)
    who = "One factor has a code to itself" if len(pairs) == 1 else f"{len(pairs)} factors have a code to themselves"
    who = "Each factor has a code to itself" if len(pairs) == len(names) > 1 else who
    says = "; ".join([f"{who}: {placed}", *leaks(report, structure, pairs)])
    held = {"factors": tuple(names[k] for k, _ in pairs), "codes": tuple(codes[j] for _, j in pairs)}
    return [Finding(kind=FindingKind.OWN, says=f"{says}.", **held)]


def _is_its_own(report: Report, structure: Structure, k: int, j: int) -> bool:
    """Tell whether a code is about one factor, as far as counts and lines show, and no half-read one needs it."""
    names = report.meta["factor_names"]
    others = [i for i in range(len(names)) if i == k or not depend(report, {names[k], names[i]})]
    shares = content(report, structure, others)
    needed = any(j in structure.suspected[i] for i in others)
    leak = max((by_lines(report, structure)[j, i] for i in others if i != k), default=0.0)
    return not needed and leak < LEAK and (shares is None or about(shares, j, others) == (k,))


def _names(report: Report, group: Group) -> tuple[tuple[str, ...], tuple[str, ...]]:
    factors, codes = report.meta["factor_names"], report.meta["code_names"]
    return tuple(factors[k] for k in group.factors), tuple(codes[j] for j in group.codes)


def _all_or(names: Sequence[str], of: Sequence[str], noun: str) -> str:
    return f"all {len(names)} {noun}" if len(names) == len(of) > MOST_NAMES else quoted(names, MOST_NAMES)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
