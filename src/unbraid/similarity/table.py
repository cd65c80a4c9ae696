"""Similarity of every two of several representations of the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid._base.checks import check_at_least, did_you_mean
from unbraid._base.files import write_text
from unbraid._base.pages import page_of
from unbraid._base.progress import Show, track
from unbraid._base.record import JsonResult, provenance
from unbraid._base.text import as_csv
from unbraid.representation.representation import as_representation
from unbraid.results.score import Score
from unbraid.similarity.matching import dictionaries
from unbraid.similarity.measures import cca, cka, procrustes, rsa

#: By name, every similarity of two representations.
MEASURES: dict[str, Callable[..., Score]] = {
    "cka": cka,
    "procrustes": procrustes,
    "cca": cca,
    "rsa": rsa,
    "dictionaries": dictionaries,
}
#: What each measure asks, for tables and pages.
QUESTIONS: dict[str, str] = {
    "cka": "Do both have the same rows close to each other?",
    "procrustes": "Does a rotation carry one onto the other?",
    "cca": "Does a linear map carry one onto the other?",
    "rsa": "Do both order the distances between rows alike?",
    "dictionaries": "Does each code of one have a partner in the other?",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimilarityTable(JsonResult):
    """Similarities of every two representations.

    Attributes:
        names: Representations, in the order given.
        scores: For every measure, the similarity of each pair of names, in the order of ``names``.
        untrained: For every measure, the similarity of each representation with codes of untrained weights; empty where
            none were given.
        setup: Seed, versions, seconds, and rows and codes of each representation.
    """

    names: tuple[str, ...]
    scores: Mapping[str, Mapping[tuple[str, str], Score]]
    untrained: Mapping[str, Mapping[str, Score]]
    setup: Mapping[str, Any]

    def __getitem__(self, key: tuple[str, str, str]) -> Score:
        """Return the similarity of two representations by ``table["cka", "a", "b"]``, in either order."""
        measure, first, second = key
        pairs = self.scores[measure]
        return pairs[first, second] if (first, second) in pairs else pairs[second, first]

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return one measure as a table of representations by representations; 1 on the diagonal."""
        frame = pd.DataFrame(1.0, index=list(self.names), columns=list(self.names))
        for (first, second), score in self.scores[measure].items():
            frame.loc[first, second] = frame.loc[second, first] = score.value
        return frame

    def table(self) -> pd.DataFrame:
        """Return one row for each measure and pair: value, interval, chance, and whether it is better than chance."""
        rows = [
            {"measure": measure, "first": first, "second": second, **_numbers(score)}
            for measure, pairs in self.scores.items()
            for (first, second), score in pairs.items()
        ]
        rows += [
            {"measure": measure, "first": name, "second": "untrained", **_numbers(score)}
            for measure, found in self.untrained.items()
            for name, score in found.items()
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        rows = self.table().astype(object)
        return {"names": list(self.names), "similarities": rows.to_dict("records"), "setup": dict(self.setup)}

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`table` as CSV."""
        return write_text(path, as_csv(self.table()))

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page."""
        return write_text(path, page_of(self))

    def __repr__(self) -> str:
        """Return the table of all pairs."""
        return self.table().to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep="")


def similarities(
    representations: Mapping[str, Any],
    *,
    measures: str | Iterable[str] = ("cka", "procrustes", "cca", "rsa"),
    untrained: Any = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    progress: Show = None,
) -> SimilarityTable:
    """Compare every two of several representations of the same rows.

    Args:
        representations: Codes by name; ``(n_samples, n_codes)`` each, of the same observations in the same order.
        measures: Names of measures, or one text with commas between them: ``cka``, ``procrustes``, ``cca``, ``rsa``,
            ``dictionaries``.
        untrained: Codes of the same rows from a model with untrained weights: how alike networks are before they learn
            anything is the chance level that counts.
        options: Further options by measure, as its function takes them.
        seed: Same seed, same numbers.
        progress: Show a progress bar on standard error; by default when that is a terminal.

    Raises:
        ValueError: Fewer than two representations, different numbers of rows, an unknown measure or option.

    Example:
        >>> import numpy as np
        >>> codes = np.random.default_rng(0).normal(size=(60, 4))
        >>> found = similarities({"a": codes, "b": codes[:, ::-1], "c": codes**3}, measures="cka", progress=False)
        >>> round(found["cka", "b", "a"].value, 6)
        1.0
    """
    names = [part.strip() for part in measures.split(",")] if isinstance(measures, str) else list(measures)
    _check(representations, names, options or {})
    check_at_least("seed", seed, 0)
    started = time.perf_counter()
    codes = {name: as_representation(one) for name, one in representations.items()}
    base = None if untrained is None else as_representation(untrained)
    pairs = list(combinations(codes, 2))
    work: list[tuple[str, str, str | None]] = [(measure, first, second) for measure in names for first, second in pairs]
    work += [(measure, name, None) for measure in names for name in codes if base is not None]
    found: dict[str, dict[tuple[str, str], Score]] = {measure: {} for measure in names}
    before: dict[str, dict[str, Score]] = {measure: {} for measure in (names if base is not None else ())}
    with track(len(work), progress, doing="comparing representations") as bar:
        for measure, first, second in work:
            other = base if second is None else codes[second]
            try:
                score = MEASURES[measure](codes[first], other, rng=seed, **(options or {}).get(measure, {}))
            except ValueError as error:
                raise ValueError(f"{measure} of {first!r} (a) and {second or 'untrained'!r} (b): {error}") from error
            if second is None:
                before[measure][first] = score
            else:
                found[measure][first, second] = score
            bar.advance()
    sizes = {name: [rep.n_samples, rep.n_codes] for name, rep in codes.items()}
    return SimilarityTable(
        names=tuple(codes),
        scores=found,
        untrained=before,
        setup={**provenance(seed=seed, started=started), "rows_and_codes": sizes},
    )


def _check(representations: Mapping[str, Any], measures: list[str], options: Mapping[str, Mapping[str, Any]]) -> None:
    if len(representations) < 2:
        raise ValueError(f"representations must be two or more, got {len(representations)}.")
    if not measures:
        raise ValueError(f"measures must name at least one of {', '.join(MEASURES)}, got none.")
    for argument, given in (("measures", measures), ("options", options)):
        for name in given:
            if name not in MEASURES:
                close = did_you_mean(name, MEASURES)
                raise ValueError(f"{argument} must be among {', '.join(MEASURES)}, got {name!r}{close}.")


def _numbers(score: Score) -> dict[str, Any]:
    return {
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "chance": score.chance,
        "beats_chance": score.beats_chance,
        "note": " ".join(score.notes),
    }
