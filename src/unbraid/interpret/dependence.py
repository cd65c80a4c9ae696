"""What it means for the scores that factors depend on each other: which to distrust, and which to read instead."""

from collections.abc import Iterable, Sequence

from unbraid.evidence.dependence import FactorDependence, FactorPair
from unbraid.metrics import METRICS, Metric, Property

READ_INSTEAD = {
    Property.MODULARITY: ("dependent.modularity", "dependent.minimality"),
    Property.COMPACTNESS: ("dependent.compactness", "dependent.sufficiency"),
    Property.EXPLICITNESS: ("dependent.explicitness",),
    Property.ORTHOGONALITY: ("dependent.modularity",),
}
MOST_PAIRS, MOST_NAMES = 5, 40


def distrusted(names: Iterable[str], dependence: FactorDependence | None) -> dict[str, str]:
    """Return, for each score that cannot be taken at its word, the reason; none where factors are independent."""
    if dependence is None or not dependence.dependent_pairs:
        return {}
    return {name: METRICS[name].misled_by_dependence for name in names if METRICS[name].misled_by_dependence}


def read_instead(names: Iterable[str]) -> list[str]:
    """Return the scores that ask the same as those named and hold when factors depend, in the table's order."""
    wanted = {better for name in names for about in METRICS[name].measures for better in READ_INSTEAD.get(about, ())}
    return [name for name in METRICS if name in wanted]


def dependence_notes(dependence: FactorDependence | None, names: Sequence[str]) -> tuple[str, ...]:
    """Say which factors depend, which scores that spoils, and what to read instead."""
    found = () if dependence is None else dependence.dependent_pairs
    if not found:
        return ()
    doubted = list(distrusted(names, dependence))
    notes = [f"Factors depend on each other ({_strengths(found)}; 0 is independent, 1 a function of each other)."]
    if doubted:
        better = read_instead(doubted)
        missing = [name for name in better if name not in set(names)]
        advice = f" Read {', '.join(better)} instead" if better else ""
        if missing:
            advice += (
                '; to score them, add "dependent" to the metrics: --metrics default,dependent '
                '(in Python, metrics="default,dependent")'
            )
        notes.append(
            f"Dependence of factors misleads {', '.join(doubted[:MOST_NAMES])}.{advice}{'.' if advice else ''}"
        )
    return tuple(notes)


def dependence_note(metric: Metric, dependence: FactorDependence | None) -> tuple[str, ...]:
    """Say beside one score why it cannot be taken at its word."""
    reason = distrusted([metric.name], dependence).get(metric.name)
    return () if reason is None else (f"Factors depend on each other: {reason}",)


def _strengths(pairs: tuple[FactorPair, ...]) -> str:
    shown = [f"{pair.first} and {pair.second} {pair.strength:.2f}" for pair in pairs[:MOST_PAIRS]]
    rest = len(pairs) - len(shown)
    return ", ".join(shown) + (f", {rest} more pairs" if rest else "")
