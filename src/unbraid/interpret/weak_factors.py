"""Factors that probes predict badly: not along a line, folded, in part or not at all."""

from __future__ import annotations

import numpy as np

from unbraid._base.text import listing, quoted
from unbraid.interpret.structure import Structure, depend, factor_shares, factors_of, prediction_scores
from unbraid.metrics import METRICS
from unbraid.metrics.table.sources import LINEAR, PREDICTIVE, SEPARATION
from unbraid.probes.importance import Importance
from unbraid.representation.factor import FactorKind
from unbraid.results.finding import Finding, FindingKind
from unbraid.results.report import Report
from unbraid.results.score import Score

#: A factor is predicted in part below the first; lost if no probe beats the baseline and, within the margin, none is
#: above the second.
IN_PART, HARDLY = 0.7, 0.3
#: What trees must have over a line to say that a factor needs a curve.
CURVE = 0.2
#: By how much the R² that matches the information in bins must exceed the R² of probes to say that a factor is folded.
FOLD = 0.4
#: Classifiers of values may show a factor that no regression predicts; by how much they must be above chance at least.
CLASSIFIERS, CLEAR = frozenset({SEPARATION.name, PREDICTIVE.name}), 0.05
MOST_NAMES = 6


def weak_factors(report: Report, structure: Structure) -> list[Finding]:
    """Return the findings about factors that probes predict badly."""
    folded = _folded(report, structure)
    names = {name for finding in folded for name in finding.factors}
    return [
        *_curved(report, structure),
        *folded,
        *_packed(report, structure),
        *_in_part(report, structure, names),
        *_lost(report, structure, names),
    ]


def no_factor_predicted(report: Report, structure: Structure) -> list[Finding]:
    """Say that no code encodes any factor, where every probe was tried on shuffled factors and none does better."""
    tried = [*prediction_scores(report).values(), *_classifier_scores(report)]
    as_noise = _ran_trees(report) and all(score.beats_chance is False for score in tried)
    clear = structure.clearly_above_chance
    quiet = clear is not None and not (clear | structure.maybe_more).any()
    hardly = bool((structure.predicted + structure.margin < HARDLY).all())
    if not (as_noise and quiet and hardly) or any(_leaves_a_trace(report, k) for k in range(len(structure.predicted))):
        return []
    sentence = (
        f"The codes encode none of the factors in these {report.setup.n_samples} rows: no probe predicts the factors "
        "better than shuffled factors, and no single code is more informative than chance."
    )
    return [Finding(kind=FindingKind.LOST, sentence=sentence, factors=tuple(report.setup.factor_names))]


def _curved(report: Report, structure: Structure) -> list[Finding]:
    """Say which factors trees predict and a linear probe does not."""
    found = []
    for k, name in enumerate(report.setup.factor_names):
        gap = structure.predicted[k] - structure.predicted_linearly[k]
        if gap >= CURVE + structure.margin[k] and structure.predicted[k] >= IN_PART:
            own = structure.main_codes[k]
            codes = tuple(report.setup.code_names[j] for j in own)
            kind = None if structure.main_codes.count(own) > 1 else report.setup.factor_kinds[k]
            sentence = _curve(name, kind, codes, structure.predicted[k], structure.predicted_linearly[k])
            found.append(Finding(kind=FindingKind.CURVED, sentence=sentence, factors=(name,), codes=codes))
    return found


def _curve(name: str, kind: FactorKind | None, codes: tuple[str, ...], by_trees: float, by_line: float) -> str:
    if len(codes) != 1:
        return f"“{name}” is not encoded linearly: trees predict {by_trees:.2f} of it, a linear probe {by_line:.2f}."
    if kind is FactorKind.CIRCULAR:
        return (
            f"“{name}”, an angle, is in one code, “{codes[0]}”: trees predict {by_trees:.2f} of it, a linear probe "
            f"{by_line:.2f}, since one code cannot follow a circle without a jump or a turn."
        )
    unless = "; if its numbers are names in no order, declare it categorical" if kind is FactorKind.ORDINAL else ""
    return (
        f"“{name}” is in one code, “{codes[0]}”, but not linearly: trees predict {by_trees:.2f} of it, a linear probe "
        f"{by_line:.2f}{unless}."
    )


def _folded(report: Report, structure: Structure) -> list[Finding]:
    """Say which codes have much information about a factor that probes cannot predict from them."""
    found: list[Finding] = []
    if structure.information is None or structure.excess is None:
        return found
    as_r2 = -np.expm1(-2 * structure.excess.max(axis=0))
    for k, name in enumerate(report.setup.factor_names):
        numbers = report.setup.factor_kinds[k] in (FactorKind.ORDINAL, FactorKind.CONTINUOUS)
        predicted = structure.predicted[k]
        if not numbers or predicted + structure.margin[k] >= HARDLY or as_r2[k] < predicted + FOLD:
            continue
        j = int(structure.information[:, k].argmax())
        found.append(_fold(report, structure, name, k, j))
    return found


def _fold(report: Report, structure: Structure, name: str, k: int, j: int) -> Finding:
    code, predicted = report.setup.code_names[j], f"{structure.predicted[k]:.2f}"
    assert structure.information is not None
    share = structure.information[j, k] / structure.entropy[k]
    told = f"{min(share, 1.0):.2f} of its entropy" if np.isfinite(share) else "estimated in bins"
    start = f"“{code}” is informative about “{name}” ({told})"
    if _ran_trees(report):
        sentence = (
            f"{start}, but probes predict only {predicted} of “{name}” (R²): the mean of “{name}” hardly changes with "
            "the code, as when a sign is lost. Scores estimated in bins credit the code; scores based on R² do not."
        )
        return Finding(kind=FindingKind.FOLDED, sentence=sentence, factors=(name,), codes=(code,))
    return Finding(
        kind=FindingKind.CURVED,
        sentence=f"{start}, but a linear probe predicts only {predicted} of it.",
        factors=(name,),
        codes=(code,),
    )


def _packed(report: Report, structure: Structure) -> list[Finding]:
    """Say which code encodes several factors, not all of which are predicted well."""
    names, found = report.setup.factor_names, []
    for j, code in enumerate(report.setup.code_names):
        here = [k for k in range(len(names)) if structure.codes_of(k) == (j,)]
        factors = tuple(names[k] for k in here)
        if len(here) > 1 and any(structure.partial_codes[k] for k in here) and not depend(report, factors):
            who = quoted(factors, MOST_NAMES)
            sentence = f"{who} share one code, “{code}”; at least one of them is predicted only in part."
            found.append(Finding(kind=FindingKind.PACKED, sentence=sentence, factors=factors, codes=(code,)))
    return found


def _in_part(report: Report, structure: Structure, told: set[str]) -> list[Finding]:
    """Say which factors no probe predicts well, how well, and from which codes."""
    clear = structure.predicted > structure.margin
    weak = clear & (structure.predicted + structure.margin < IN_PART) & ~structure.lost
    # Where trees are far ahead of a line, they may be short of rows rather than the codes of the factor.
    weak &= ~(structure.predicted - structure.predicted_linearly >= CURVE)
    names, codes = report.setup.factor_names, report.setup.code_names
    here = [int(k) for k in np.flatnonzero(weak) if names[k] not in told]
    if not here:
        return []
    places = [quoted([codes[j] for j in structure.partial_codes[k]], MOST_NAMES) for k in here]
    shown = [
        f"“{names[k]}” ({structure.predicted[k]:.2f} of it{f', from {where}' if where else ''})"
        for k, where in zip(here, places, strict=True)
    ]
    own = _own_places(report, structure, here)
    sentence = f"The best probe predicts only a part of {listing(shown)}{own}."
    used = tuple(dict.fromkeys(codes[j] for k in here for j in structure.partial_codes[k]))
    return [Finding(kind=FindingKind.PARTLY, sentence=sentence, factors=tuple(names[k] for k in here), codes=used)]


def _own_places(report: Report, structure: Structure, here: list[int]) -> str:
    """Say that each of these factors has a code that is about no other, where that is so."""
    everything = range(len(structure.predicted))
    shares = factor_shares(report, structure, everything)
    singles = [structure.partial_codes[k] for k in here]
    if shares is None or any(len(codes) != 1 for codes in singles):
        return ""
    alone = all(factors_of(shares, j, everything) == (k,) for k, (j,) in zip(here, singles, strict=True))
    shared = any(structure.codes_of(k) == codes for codes in singles for k in everything if k not in here)
    return "" if not alone or shared else f", {'each ' if len(here) > 1 else ''}from a code of its own"


def _lost(report: Report, structure: Structure, told: set[str]) -> list[Finding]:
    gone = structure.lost & (structure.predicted + structure.margin < HARDLY)
    names = report.setup.factor_names
    if structure.clearly_above_chance is not None:
        gone = gone & ~(structure.clearly_above_chance | structure.maybe_more).any(axis=0)
    lost = tuple(n for k, n in enumerate(names) if gone[k] and n not in told and not _leaves_a_trace(report, k))
    if not lost:
        return []
    sentence = (
        f"No probe predicts {quoted(lost, MOST_NAMES)} from the codes better than a baseline that ignores the codes"
    )
    sentence += (
        "." if structure.clearly_above_chance is None else ", and no single code is more informative than chance."
    )
    return [Finding(kind=FindingKind.LOST, sentence=sentence, factors=lost)]


def _leaves_a_trace(report: Report, k: int) -> bool:
    """Tell whether a classifier predicts the values of a factor better than chance."""
    for score in _classifier_scores(report):
        chance = 0.0 if score.null is None else score.null
        half_width = (score.half_width or 0.0) * report.setup.n_factors**0.5
        if score.per_factor is not None and score.per_factor[k] > chance + max(CLEAR, half_width):
            return True
    return False


def _classifier_scores(report: Report) -> list[Score]:
    return [score for name, score in report.scores.items() if METRICS[name].source.name in CLASSIFIERS]


def _ran_trees(report: Report) -> bool:
    """Tell whether a probe other than the linear one has a score of how well it predicts."""
    scored = prediction_scores(report)
    trees = [record for record in report.evidence_of(Importance) if record.source != LINEAR.name]
    return any(name in scored for record in trees for name in record.scores)
