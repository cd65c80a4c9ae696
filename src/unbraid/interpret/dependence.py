"""Scores that dependent factors mislead, and the scores to read instead."""

from collections.abc import Iterable, Sequence

from unbraid.evidence.dependence import FactorDependence, FactorPair
from unbraid.metrics import METRICS, Metric

MOST_PAIRS, MOST_NAMES = 5, 40


def distrusted(names: Iterable[str], dependence: FactorDependence | None) -> dict[str, str]:
    """Return, the reason for each score that dependent factors mislead; none where factors are independent."""
    if dependence is None or not dependence.dependent_pairs:
        return {}
    return {name: METRICS[name].misled_by_dependence for name in names if METRICS[name].misled_by_dependence}


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
    found = () if dependence is None else dependence.dependent_pairs
    if not found:
        return ()
    doubted = list(distrusted(names, dependence))
    notes = [f"Factors depend on each other ({_listed(found)}; 0: independent, 1: one is a function of the other)."]
    if doubted:
        better = read_instead(doubted)
        advice = f" Read {', '.join(better)} instead" if better else ""
        if asked := metrics_to_ask_for(better, names):
            advice += f'; to score them, ask for --metrics {asked} (in Python, metrics="{asked}")'
        notes.append(
            f"Dependence between factors misleads {', '.join(doubted[:MOST_NAMES])}.{advice}{'.' if advice else ''}"
        )
    return tuple(notes)


def dependence_note(metric: Metric, dependence: FactorDependence | None) -> tuple[str, ...]:
    """Return the note of one score that dependent factors mislead."""
    reason = distrusted([metric.name], dependence).get(metric.name)
    return () if reason is None else (f"Factors depend on each other: {reason}",)


def _listed(pairs: tuple[FactorPair, ...]) -> str:
    shown = [f"{pair.first} and {pair.second} {pair.strength:.2f}" for pair in pairs[:MOST_PAIRS]]
    rest = len(pairs) - len(shown)
    return ", ".join(shown) + (f", {rest} more pairs" if rest else "")
