"""Factors that probes read badly: along no line, folded, in part or not at all; and where they are all the same."""

from __future__ import annotations

import numpy as np

from unbraid._base.text import listing, quoted
from unbraid.interpret.structure import LINE, PROBES, Structure, about, content, depend
from unbraid.results.finding import Finding, FindingKind
from unbraid.results.report import Report

#: A factor is read in part below this; lost if no probe beats a guess and, within the interval, none is above this.
IN_PART, HARDLY = 0.7, 0.3
#: What trees must have over a line to say that a factor needs a curve.
CURVE = 0.2
#: By how much what counts in bins tell of a factor must exceed what probes read of it to say that it is folded.
FOLD = 0.4
#: What tells of a factor that no probe reads, and by how much it must be above chance at least.
TRACES, CLEAR = ("explicitness", "infomec.explicitness"), 0.05
MOST_NAMES = 6


def unread(report: Report, structure: Structure) -> list[Finding]:
    """Return what is to be said of factors that probes read badly."""
    folded = _folded(report, structure)
    names = {name for finding in folded for name in finding.factors}
    return [
        *_curved(report, structure),
        *folded,
        *_packed(report, structure),
        *_in_part(report, structure, names),
        *_lost(report, structure, names),
    ]


def nothing(report: Report, structure: Structure) -> list[Finding]:
    """Say that no code carries any factor, where every probe was tried on shuffled factors and none does better."""
    tried = [score for name, score in report.scores.items() if name.endswith(".informativeness") or name in TRACES]
    ran_trees = any(f"{name}.informativeness" in report.scores for name in PROBES if name != LINE)
    as_noise = ran_trees and all(score.beats_chance is False for score in tried)
    quiet = structure.sure is not None and not structure.sure.any()
    hardly = bool((structure.read + structure.reach < HARDLY).all())
    if not (as_noise and quiet and hardly) or any(_leaves_a_trace(report, k) for k in range(len(structure.read))):
        return []
    says = (
        f"No code shows any of the factors in these {report.meta['n_samples']} rows: no probe reads more than from "
        "shuffled factors, and no code alone tells more than chance."
    )
    return [Finding(kind=FindingKind.LOST, says=says, factors=tuple(report.meta["factor_names"]))]


def _curved(report: Report, structure: Structure) -> list[Finding]:
    """Say which factors trees read and a line does not."""
    found = []
    for k, name in enumerate(report.meta["factor_names"]):
        gap = structure.read[k] - structure.by_line[k]
        if gap >= CURVE + structure.reach and structure.read[k] >= IN_PART:
            held = structure.holders[k]
            codes = tuple(report.meta["code_names"][j] for j in held)
            kind = "shared" if structure.holders.count(held) > 1 else report.meta["factor_kinds"][k]
            says = _curve(name, kind, codes, structure.read[k], structure.by_line[k])
            found.append(Finding(kind=FindingKind.CURVED, says=says, factors=(name,), codes=codes))
    return found


def _curve(name: str, kind: str, codes: tuple[str, ...], by_trees: float, by_line: float) -> str:
    if len(codes) != 1:
        return f"“{name}” is there, but not along a line: trees read {by_trees:.2f} of it, a line {by_line:.2f}."
    if kind == "circular":
        return (
            f"“{name}”, an angle, sits in one code, “{codes[0]}”: trees read {by_trees:.2f} of it, a line "
            f"{by_line:.2f}, since one code cannot follow a circle without a jump or a turn."
        )
    unless = "; if its numbers are names in no order, declare it categorical" if kind == "ordinal" else ""
    return (
        f"“{name}” sits in one code, “{codes[0]}”, but not along a straight line: trees read {by_trees:.2f} of it, a "
        f"line {by_line:.2f}{unless}."
    )


def _folded(report: Report, structure: Structure) -> list[Finding]:
    """Say which codes tell much of a factor whose value probes cannot use it to predict."""
    found: list[Finding] = []
    if structure.information is None or structure.excess is None:
        return found
    as_r2 = -np.expm1(-2 * structure.excess.max(axis=0))
    for k, name in enumerate(report.meta["factor_names"]):
        numbers = report.meta["factor_kinds"][k] in ("ordinal", "continuous")
        if not numbers or structure.read[k] + structure.reach >= HARDLY or as_r2[k] < structure.read[k] + FOLD:
            continue
        j = int(structure.information[:, k].argmax())
        found.append(_fold(report, structure, name, k, j))
    return found


def _fold(report: Report, structure: Structure, name: str, k: int, j: int) -> Finding:
    code, read = report.meta["code_names"][j], f"{structure.read[k]:.2f}"
    assert structure.information is not None
    share = structure.information[j, k] / structure.entropy[k]
    told = f"{min(share, 1.0):.2f} of its entropy" if np.isfinite(share) else "by counts in bins"
    start = f"“{code}” tells much of “{name}” ({told})"
    if any(f"{probe}.informativeness" in report.scores for probe in PROBES if probe != LINE):
        says = (
            f"{start}, but not which way: probes read {read} of it by R², since its mean hardly changes with the code, "
            "as where a sign is lost. Scores by counts credit it, scores by R² do not."
        )
        return Finding(kind=FindingKind.FOLDED, says=says, factors=(name,), codes=(code,))
    return Finding(
        kind=FindingKind.CURVED, says=f"{start}, but a line reads {read} of it.", factors=(name,), codes=(code,)
    )


def _packed(report: Report, structure: Structure) -> list[Finding]:
    """Say which code holds several factors, none of them or not all to be read well."""
    names, found = report.meta["factor_names"], []
    for j, code in enumerate(report.meta["code_names"]):
        here = [k for k in range(len(names)) if structure.place(k) == (j,)]
        factors = tuple(names[k] for k in here)
        if len(here) > 1 and any(structure.leans[k] for k in here) and not depend(report, factors):
            says = f"What is read of {quoted(factors, MOST_NAMES)} is in one code, “{code}”."
            found.append(Finding(kind=FindingKind.PACKED, says=says, factors=factors, codes=(code,)))
    return found


def _in_part(report: Report, structure: Structure, told: set[str]) -> list[Finding]:
    """Say which factors no probe reads well, how well, and from which codes."""
    clear = structure.read > structure.reach
    weak = clear & (structure.read + structure.reach < IN_PART) & ~structure.lost
    names, codes = report.meta["factor_names"], report.meta["code_names"]
    here = [int(k) for k in np.flatnonzero(weak) if names[k] not in told]
    if not here:
        return []
    places = [quoted([codes[j] for j in structure.leans[k]], MOST_NAMES) for k in here]
    shown = [
        f"“{names[k]}” ({structure.read[k]:.2f} of it{f', from {where}' if where else ''})"
        for k, where in zip(here, places, strict=True)
    ]
    own = _own_places(report, structure, here)
    says = f"The best probe reads only a part of {listing(shown)}{own}."
    leaned_on = dict.fromkeys(codes[j] for k in here for j in structure.leans[k])
    return [Finding(kind=FindingKind.PARTLY, says=says, factors=tuple(names[k] for k in here), codes=tuple(leaned_on))]


def _own_places(report: Report, structure: Structure, here: list[int]) -> str:
    """Say that each of these factors has a code that is about no other, where that is so."""
    everything = range(len(structure.read))
    shares = content(report, structure, everything)
    singles = [structure.leans[k] for k in here]
    if shares is None or any(len(codes) != 1 for codes in singles):
        return ""
    alone = all(about(shares, j, everything) == (k,) for k, (j,) in zip(here, singles, strict=True))
    shared = any(structure.place(k) == codes for codes in singles for k in everything if k not in here)
    return "" if not alone or shared else f", {'each ' if len(here) > 1 else ''}from a code of its own"


def _lost(report: Report, structure: Structure, told: set[str]) -> list[Finding]:
    gone = structure.lost & (structure.read + structure.reach < HARDLY)
    names = report.meta["factor_names"]
    if structure.sure is not None:
        gone = gone & ~structure.sure.any(axis=0)
    lost = tuple(n for k, n in enumerate(names) if gone[k] and n not in told and not _leaves_a_trace(report, k))
    if not lost:
        return []
    says = f"No probe reads {quoted(lost, MOST_NAMES)} out of the codes any better than a blind guess"
    says += "." if structure.sure is None else ", and no code alone tells more than chance."
    return [Finding(kind=FindingKind.LOST, says=says, factors=lost)]


def _leaves_a_trace(report: Report, k: int) -> bool:
    """Tell whether a score that asks for values, not for distances, has more of a factor than chance."""
    for score in (report.scores[name] for name in TRACES if name in report.scores):
        chance = 0.0 if score.null is None else score.null
        width = 0.0 if score.low is None or score.high is None else score.high - score.low
        reach = width / 2 * report.meta["n_factors"] ** 0.5
        if score.per_factor is not None and score.per_factor[k] > chance + max(CLEAR, reach):
            return True
    return False
