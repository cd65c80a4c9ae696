"""Diagnosis of a representation: rules from evidence to findings.

The main codes of a factor are those that a good probe of the factor uses. Factors that share a main code form a group,
and the number of factors and codes in a group gives the finding: one factor and one code are a code of its own, one
factor in several codes is spread or copied, several factors in as many codes are rotated or mixed. Factors that share
codes but depend on each other in the data give no finding.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid._base.text import listing, quoted
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.interpret.structure import (
    LEAK,
    Group,
    Structure,
    depend,
    describe_codes,
    factor_shares,
    factors_of,
    find_structure,
    guessing,
    leaks,
    linear_r2,
    split_by_factor,
)
from unbraid.interpret.weak_factors import no_factor_predicted, weak_factors
from unbraid.metrics.geometry.orthogonality import weighted_orthogonality
from unbraid.representation.factor import FactorKind
from unbraid.results.finding import Finding, FindingKind
from unbraid.results.report import Report

#: How well a factor must be predicted, and how near to right angles two must be, to speak of a rotation.
PREDICTED_WELL, RIGHT_ANGLES = 0.9, 0.9
#: An axis with less weight is not counted.
LEAST_WEIGHT = 0.05
#: Copies: the best code alone predicts this share of what all codes do, and no less than the last number; the other
#: copies have these shares of its mutual information and of its prediction.
ALONE, TELLS_AS_MUCH, PREDICTS_AS_MUCH = 0.8, 0.75, 0.7
#: A code with no larger importance than this for any probe, and no information alone, is empty.
UNUSED = 0.05
#: Dependence between factors from which faithful codes may look shared: a probe may read one factor from the code of
#: the other (0.1 is a correlation of about 0.6), or the code of the other looks like a copy.
SHARES_CODES, LOOKS_LIKE_A_COPY = 0.1, 0.3
MOST_NAMES = 6


def diagnose(report: Report) -> tuple[Finding, ...]:
    """Say how the codes encode the factors, as far as the evidence shows it.

    Args:
        report: With scores and evidence, fresh or read back from a file.

    Returns:
        Findings, each with a sentence and the names it is about; only dead codes where no probe was fitted to all codes
        (linear, forest or boosting).
    """
    dead = _dead(report)
    structure = find_structure(report)
    if structure is None:
        return dead
    if not structure.shows_something:
        return (*no_factor_predicted(report, structure), *dead)
    groups = _groups(report, structure)
    faults = [
        *(finding for group in groups for finding in _describe(report, structure, group)),
        *_copies(report, structure),
        *weak_factors(report, structure),
        *_empty(report, structure),
        *dead,
    ]
    return (*_own(report, structure, groups, faults), *faults)


def _groups(report: Report, structure: Structure) -> list[Group]:
    """Join factors that share a code, and part them again where each code is about one factor but for leaks."""
    parted = []
    for group in _joined(structure):
        shares = None if len(group.factors) == 1 else factor_shares(report, structure, group.factors)
        apart = None if shares is None or _is_rotated(report, structure, group) else split_by_factor(group, shares)
        parted += [group] if apart is None else apart
    return parted


def _joined(structure: Structure) -> list[Group]:
    """Join factors that share a code, directly or through others."""
    groups: list[tuple[set[int], set[int]]] = []
    for k, codes in enumerate(structure.main_codes):
        if not codes:
            continue
        joined = [group for group in groups if group[1] & set(codes)]
        groups = [group for group in groups if group not in joined]
        groups.append(({k}.union(*(g[0] for g in joined)), set(codes).union(*(g[1] for g in joined))))
    return [Group(factors=tuple(sorted(f)), codes=tuple(sorted(c))) for f, c in sorted(groups, key=lambda g: min(g[0]))]


def _describe(report: Report, structure: Structure, group: Group) -> list[Finding]:
    if len(group.factors) == 1:
        return _one_factor(report, structure, group) if len(group.codes) > 1 else []
    tied = depend(report, _names(report, group)[0], at_least=SHARES_CODES)
    in_doubt = tied or _sharing_in_doubt(report, structure, group)
    return [] if in_doubt else [_several_factors(report, structure, group)]


def _one_factor(report: Report, structure: Structure, group: Group) -> list[Finding]:
    """Say that a factor takes several codes, unless one of them alone would do: then they may be copies."""
    (k,) = group.factors
    factors, codes = _names(report, group)
    shown = quoted(codes, MOST_NAMES)
    if report.setup.factor_kinds[k] is FactorKind.CIRCULAR:
        # Only a line that needs both shows a cosine and a sine; trees would share out copies of the angle too.
        if len(codes) > 2 or not structure.predicted_linearly[k] >= PREDICTED_WELL:
            return []
        sentence = (
            f"{quoted(factors)}, an angle, is encoded in two codes, {shown}, as cosine and sine: neither code alone "
            "predicts the angle."
        )
        return [Finding(kind=FindingKind.CIRCLE, sentence=sentence, factors=factors, codes=codes)]
    if structure.by_single_code is None or _alone(report, structure, k).max() >= ALONE * structure.predicted[k]:
        return []
    sentence = (
        f"{quoted(factors)} is spread over {len(codes)} codes, {shown}: no single code predicts it as well as all "
        "of them together."
    )
    return [Finding(kind=FindingKind.SPREAD, sentence=sentence, factors=factors, codes=codes)]


def _several_factors(report: Report, structure: Structure, group: Group) -> Finding:
    factors, codes = _names(report, group)
    who, where = _all_or(factors, report.setup.factor_names, "factors"), quoted(codes, MOST_NAMES)
    if len(codes) == 1:
        sentence = f"The code {where} alone encodes {who}."
        return Finding(kind=FindingKind.PACKED, sentence=sentence, factors=factors, codes=codes)
    if _is_rotated(report, structure, group):
        sentence = (
            f"{_capital(who)} are rotated into {len(codes)} codes, {where}: together the codes encode exactly "
            "these factors, in orthogonal directions, but no single code encodes one factor only."
        )
        return Finding(kind=FindingKind.ROTATED, sentence=sentence, factors=factors, codes=codes)
    return _mixed(report, structure, group, who)


def _mixed(report: Report, structure: Structure, group: Group, who: str) -> Finding:
    """Say which codes of a group mix factors: all of them, or some beside codes that encode one factor."""
    factors, codes = _names(report, group)
    where = quoted(codes, MOST_NAMES)
    turned, shares = _is_turned(report, structure, group), factor_shares(report, structure, group.factors)
    if shares is None:  # too few rows for the contents of codes, and for angles
        sentence = f"The probes that predict {who} share codes, among {where}."
        return Finding(kind=FindingKind.MIXED, sentence=sentence, factors=factors, codes=codes)
    if shares is not None and any(len(factors_of(shares, j, group.factors)) < 2 for j in group.codes):
        told, mixing = describe_codes(report, group, shares)
        names = tuple(report.setup.code_names[j] for j in mixing)
        return Finding(kind=FindingKind.MIXED, sentence=f"{told}.", factors=factors, codes=names)
    sentence = f"{_capital(who)} are mixed in {len(codes)} codes, {where}"
    angles = _angles(report, group) if turned else None
    if angles is not None:
        sentence += (
            f", along directions that are not orthogonal (importance-weighted orthogonality {angles:.2f}), so that no "
            "rotation of the codes would separate the factors"
        )
    return Finding(kind=FindingKind.MIXED, sentence=f"{sentence}.", factors=factors, codes=codes)


def _is_rotated(report: Report, structure: Structure, group: Group) -> bool:
    angles = _angles(report, group) if _is_turned(report, structure, group) else None
    return angles is not None and angles >= RIGHT_ANGLES


def _sharing_in_doubt(report: Report, structure: Structure, group: Group) -> bool:
    """Tell whether, with too few rows for the contents of codes, no code explains two of the factors beyond luck."""
    if structure.by_single_code is None or factor_shares(report, structure, group.factors) is not None:
        return False
    explained = linear_r2(report, structure.by_single_code)[np.ix_(group.codes, group.factors)]
    return len(group.codes) > 1 and not bool(((explained > 0).sum(axis=1) > 1).any())


def _is_turned(report: Report, structure: Structure, group: Group) -> bool:
    """Tell whether a linear probe predicts every factor of a group from as many codes as it has axes, all mixed."""
    readable = bool((structure.predicted_linearly[list(group.factors)] >= PREDICTED_WELL).all())
    mixed = all(_n_factors(structure, group, j) > 1 for j in group.codes)
    spread = all(len(structure.main_codes[k]) > 1 for k in group.factors)
    return readable and mixed and spread and _n_axes(report, group) == len(group.codes)


def _n_factors(structure: Structure, group: Group, j: int) -> int:
    return sum(j in structure.main_codes[k] for k in group.factors)


def _n_axes(report: Report, group: Group) -> int | None:
    """Return how many axes with weight the factors of a group have together; ``None`` where that was not measured."""
    found = next(iter(report.evidence_of(Subspaces)), None)
    if found is None:
        return None
    return sum(int((found.data.weights[k] >= LEAST_WEIGHT).sum()) for k in group.factors)


def _angles(report: Report, group: Group) -> float | None:
    """Return the importance-weighted orthogonality of the two factors that have least of it, within the group's codes.

    Codes of a much smaller scale that the factors do not use have noise for coefficients, the larger the smaller their
    scale, which would turn every two directions towards each other.
    """
    found = next(iter(report.evidence_of(Subspaces)), None)
    if found is None:
        return None
    names = _names_of_axes(report, found.data.n_codes)
    if names is None:
        return None
    axes = {name: place for place, name in enumerate(names)}
    rows = [axes[report.setup.code_names[j]] for j in group.codes]
    bases = [found.data.bases[k][rows] for k in group.factors]
    units = [basis / np.maximum(np.linalg.norm(basis, axis=0), 1e-12) for basis in bases]
    weights = [found.data.weights[k] for k in group.factors]
    return min(
        weighted_orthogonality(units[i], units[j], weights[i], weights[j])
        for i, j in combinations(range(len(group.factors)), 2)
    )


def _names_of_axes(report: Report, n_codes: int) -> Sequence[str] | None:
    """Return the names of the codes that subspaces were looked for in: all, or those that are not dead.

    ``None`` where subspaces were looked for among a few codes of many.
    """
    if n_codes == report.setup.n_codes:
        return report.setup.code_names
    return report.setup.active_codes if n_codes == len(report.setup.active_codes) else None


def _alone(report: Report, structure: Structure, k: int) -> FloatArray:
    """Return how well each code alone predicts a factor, accuracy rescaled from the baseline as for probes."""
    assert structure.by_single_code is not None
    guess = guessing(report, k)
    counted: FloatArray = np.maximum(0.0, structure.by_single_code[:, k] - guess) / max(1 - guess, 1e-12)
    return counted


def _copies(report: Report, structure: Structure) -> list[Finding]:
    """Say which factors several codes predict, each alone, unless dependence between factors may be the reason."""
    if structure.by_single_code is None or structure.share is None:
        return []
    found = []
    for k, name in enumerate(report.setup.factor_names):
        # How well one code predicts an angle is not known: the R² is that of predicting the code from the angle.
        if not structure.main_codes[k] or report.setup.factor_kinds[k] is FactorKind.CIRCULAR:
            continue
        if depend(report, {name}, at_least=LOOKS_LIKE_A_COPY):
            continue
        alone = _alone(report, structure, k)
        alike = (structure.share[:, k] >= TELLS_AS_MUCH) & (alone >= PREDICTS_AS_MUCH * alone.max())
        if alone.max() < max(ALONE * structure.predicted[k], PREDICTS_AS_MUCH):
            continue
        codes = tuple(report.setup.code_names[j] for j in np.flatnonzero(alike))
        if len(codes) > 1:
            shown = quoted(codes, MOST_NAMES)
            sentence = f"“{name}” is encoded {len(codes)} times: each of {shown} alone predicts most of the factor."
            found.append(Finding(kind=FindingKind.COPIED, sentence=sentence, factors=(name,), codes=codes))
    return found


def _empty(report: Report, structure: Structure) -> list[Finding]:
    """Say which codes encode no factor, once some factor is known to be encoded by others."""
    if not any(structure.main_codes):
        return []
    dead = set(report.setup.dead_codes)
    unused = (structure.largest <= UNUSED) & structure.uninformative
    names = tuple(name for name, no in zip(report.setup.code_names, unused, strict=True) if no and name not in dead)
    if not names:
        return []
    verb, word = ("encodes", "The code") if len(names) == 1 else ("encode", f"{len(names)} codes,")
    comma = "" if len(names) == 1 else ","
    sentence = (
        f"{word} {quoted(names, MOST_NAMES)}{comma} {verb} none of the factors, but noise or something without labels."
    )
    return [Finding(kind=FindingKind.EMPTY, sentence=sentence, codes=names)]


def _dead(report: Report) -> tuple[Finding, ...]:
    names = tuple(report.setup.dead_codes)
    if not names:
        return ()
    one = len(names) == 1
    sentence = f"{'The code' if one else 'The codes'} {quoted(names, MOST_NAMES)} never change{'s' if one else ''}."
    return (Finding(kind=FindingKind.DEAD, sentence=sentence, codes=names),)


def _own(report: Report, structure: Structure, groups: Sequence[Group], faults: Sequence[Finding]) -> list[Finding]:
    """Name the factors that have a code to themselves."""
    names, codes = report.setup.factor_names, report.setup.code_names
    troubled = {name for finding in faults for name in finding.factors}
    pairs = [(*group.factors, *group.codes) for group in groups if len(group.factors) == len(group.codes) == 1]
    pairs = [(k, j) for k, j in pairs if names[k] not in troubled and _is_its_own(report, structure, k, j, troubled)]
    if not pairs:
        return []
    placed = listing([f"“{names[k]}” in “{codes[j]}”" for k, j in pairs], MOST_NAMES)
    who = "One factor has a code to itself" if len(pairs) == 1 else f"{len(pairs)} factors have a code to themselves"
    who = "Each factor has a code to itself" if len(pairs) == len(names) > 1 else who
    sentence = "; ".join([f"{who}: {placed}", *leaks(report, structure, pairs)])
    about = {"factors": tuple(names[k] for k, _ in pairs), "codes": tuple(codes[j] for _, j in pairs)}
    return [Finding(kind=FindingKind.OWN, sentence=f"{sentence}.", **about)]


def _is_its_own(report: Report, structure: Structure, k: int, j: int, troubled: Collection[str]) -> bool:
    """Tell whether a code encodes one factor only, by counts and R², and no troubled factor needs it."""
    names = report.setup.factor_names
    others = [i for i in range(len(names)) if i == k or not depend(report, {names[k], names[i]})]
    shares = factor_shares(report, structure, others)
    needed = any(j in structure.candidate_codes[i] for i in others)
    needed |= any(j in structure.codes_of(i) for i in others if names[i] in troubled)
    leak = max((linear_r2(report, structure.by_single_code)[j, i] for i in others if i != k), default=0.0)
    return not needed and leak < LEAK and (shares is None or factors_of(shares, j, others) == (k,))


def _names(report: Report, group: Group) -> tuple[tuple[str, ...], tuple[str, ...]]:
    factors, codes = report.setup.factor_names, report.setup.code_names
    return tuple(factors[k] for k in group.factors), tuple(codes[j] for j in group.codes)


def _all_or(names: Sequence[str], of: Sequence[str], noun: str) -> str:
    return f"all {len(names)} {noun}" if len(names) == len(of) > MOST_NAMES else quoted(names, MOST_NAMES)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
