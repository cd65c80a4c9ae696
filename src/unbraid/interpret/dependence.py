"""Scores that dependent factors mislead, by how much, and the scores to read instead."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from unbraid._base.text import listing
from unbraid.evidence.dependence import FactorDependence
from unbraid.metrics import METRICS, Metric

MOST_PAIRS, MOST_NAMES = 5, 40
#: A dependence that moves a score by less than this is not material: a few thousand rows leave as much uncertain.
MATERIAL = 0.02
MOVES_NOTHING = f"This dependence moves no score by {MATERIAL:g} or more."
#: From this median move on, over the misled scores between 0 and 1, the default panel adds the scores to read instead.
LARGE = 0.05


def expected_move(metric: Metric, dependence: FactorDependence | None) -> float | None:
    """Return how far dependent factors move a score by themselves, by a table of codes that encode every factor.

    The table (``benchmarks/dependence_moves.py`` makes it) has the move of a score by the strength of a dependence in
    which every factor takes part; here each factor counts with its own strongest dependence, and the mean is taken.

    Returns:
        0 where no factors depend on each other or the score is not misled; ``None`` where the move was not measured.
    """
    if dependence is None or not dependence.found or not metric.misled_by_dependence:
        return 0.0
    table = _table()
    if metric.name not in table["moves"]:
        return None
    names = sorted({name for pair in dependence.pairs for name in (pair.first, pair.second)})
    by_pair = np.interp(_strengths(names, dependence), table["strengths"], table["moves"][metric.name])
    beyond = [
        max((triple.strength for triple in dependence.triples if name in triple.names), default=0.0) for name in names
    ]
    by_triple = np.array(beyond) * table["beyond_pairs"][metric.name]
    return float(np.where(np.abs(by_triple) > np.abs(by_pair), by_triple, by_pair).mean())


def distrusted(names: Iterable[str], dependence: FactorDependence | None) -> dict[str, str]:
    """Return, for each score that dependent factors move materially, the reason; a move not measured counts as one."""
    moves = {name: expected_move(METRICS[name], dependence) for name in names}
    return {
        name: METRICS[name].misled_by_dependence
        for name, move in moves.items()
        if move is None or abs(move) >= MATERIAL
    }


def moves_much(names: Iterable[str], dependence: FactorDependence | None) -> bool:
    """Tell whether dependent factors move most misled scores so far that others should be read in their place."""
    rows = [METRICS[name] for name in names]
    found = [
        expected_move(row, dependence) for row in rows if row.misled_by_dependence and np.isfinite(row.bounds).all()
    ]
    known = [abs(move) for move in found if move is not None]
    return bool(known) and float(np.median(known)) >= LARGE


def read_instead(names: Iterable[str]) -> list[str]:
    """Return the scores of the same properties that stay valid when factors depend, in the order of the catalogue."""
    about = {prop for name in names for prop in METRICS[name].measures}
    return [name for name, metric in METRICS.items() if about & set(metric.replaces_under_dependence)]


def metrics_to_ask_for(names: Iterable[str], scored: Iterable[str]) -> str:
    """Return the metrics of a panel that also scores those named, by family; empty where all were scored already."""
    missing = dict.fromkeys(METRICS[name].family for name in names if name not in set(scored))
    return ",".join(["default", *missing]) if missing else ""


def dependence_notes(dependence: FactorDependence | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return notes on dependent factors, the scores that they mislead, and the scores to read instead."""
    if dependence is None or not dependence.found:
        return ()
    doubted = list(distrusted(names, dependence))
    notes = [f"Factors depend on each other ({_listed(dependence)}; 0: independent, 1: one is a function of others)."]
    if not doubted:
        notes.append(MOVES_NOTHING)
        return tuple(notes)
    better = read_instead(doubted)
    advice = f" Read {', '.join(better)} instead" if better else ""
    if asked := metrics_to_ask_for(better, names):
        advice += f'; to score them, ask for --metrics {asked} (in Python, metrics="{asked}")'
    shown = listing([_with_move(METRICS[name], dependence) for name in doubted], MOST_NAMES)
    notes.append(f"Dependence between factors misleads {shown}.{advice}{'.' if advice else ''}")
    return tuple(notes)


def dependence_note(metric: Metric, dependence: FactorDependence | None) -> tuple[str, ...]:
    """Return the note of one score that dependent factors mislead."""
    reason = distrusted([metric.name], dependence).get(metric.name)
    if reason is None:
        return ()
    move = expected_move(metric, dependence)
    size = "" if move is None else f" This dependence moves the score of codes with every factor by about {move:+.2f}."
    return (f"Factors depend on each other: {reason}{size}",)


def depending(dependence: FactorDependence) -> list[tuple[str, ...]]:
    """Return the sets of factors that depend on each other, two or three in each."""
    pairs = [(pair.first, pair.second) for pair in dependence.dependent_pairs]
    return [*pairs, *(triple.names for triple in dependence.triples)]


def _with_move(metric: Metric, dependence: FactorDependence) -> str:
    move = expected_move(metric, dependence)
    return metric.name if move is None else f"{metric.name} (by about {move:+.2f})"


def _strengths(names: Sequence[str], dependence: FactorDependence) -> list[float]:
    """Return the strongest dependence of each factor on another one; 0 where none was found."""
    strongest = dict.fromkeys(names, 0.0)
    for pair in dependence.dependent_pairs:
        for name in (pair.first, pair.second):
            strongest[name] = max(strongest[name], pair.strength)
    return [strongest[name] for name in names]


def _listed(dependence: FactorDependence) -> str:
    found = [f"{pair.first} and {pair.second} {pair.strength:.2f}" for pair in dependence.dependent_pairs]
    found += [f"{listing(triple.names)} together {triple.strength:.2f}" for triple in dependence.triples]
    rest = len(found) - MOST_PAIRS
    return ", ".join(found[:MOST_PAIRS]) + (f", {rest} more" if rest > 0 else "")


@cache
def _table() -> Any:
    """Return strengths of dependence, and moves of each score at these strengths."""
    return json.loads(files("unbraid.metrics").joinpath("dependence_moves.json").read_text(encoding="utf-8"))
