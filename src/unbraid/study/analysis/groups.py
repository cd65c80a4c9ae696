"""Correlations within families or data sets, or without one of them, and reversals of sign (Simpson's paradox)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from unbraid._base.checks import check_choice
from unbraid._base.stats import Correction
from unbraid.study.analysis.correlate import FEWEST, correlations
from unbraid.study.analysis.matrix import Correlations, Method, correct_together
from unbraid.study.table import ModelTable

By = Literal["family", "dataset"]
GROUPINGS: tuple[By, ...] = ("family", "dataset")
TIMES, MINUS = "\u00d7", "\u2212"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grouped:
    """One matrix over all models, and one for each group of them.

    Attributes:
        by: What the groups are: ``"family"`` or ``"dataset"``.
        leaves_out: Whether a group is all models but those of the family or data set it is named after.
        pooled: Correlations over all models, corrected for their own tests.
        groups: Correlations of each group by name, corrected for the tests of all groups together.
    """

    by: By
    leaves_out: bool
    pooled: Correlations
    groups: Mapping[str, Correlations]

    def tidy(self) -> pd.DataFrame:
        """Return a row for each group and pair."""
        parts = {name: one.tidy() for name, one in self.groups.items()}
        return pd.concat(parts, names=[self.by]).reset_index(level=0).reset_index(drop=True)

    def reversals(self, level: float = 0.05) -> pd.DataFrame:
        """Return the pairs whose correlation in a group has another sign than over all models.

        Simpson's paradox is the case where most groups have another sign than all models: then the correlation over
        all models comes from differences between the groups.

        Returns:
            ``row``, ``column``, ``pooled`` (its r), the group, ``r`` in it, and ``is_clear``: both signs are
            significant after correction. Clear ones first, then by the smaller of the two sizes.
        """
        whole = self.pooled.tidy()[["row", "column", "r", "p_corrected"]]
        both = self.tidy().merge(whole, on=["row", "column"], suffixes=("", "_pooled"))
        both = both[np.sign(both["r"]) * np.sign(both["r_pooled"]) < 0]
        clear = (both["p_corrected"] < level) & (both["p_corrected_pooled"] < level)
        size = np.minimum(both["r"].abs(), both["r_pooled"].abs())
        found = both.assign(pooled=both["r_pooled"], is_clear=clear, size=size)
        found = found.sort_values(["is_clear", "size", "row", "column"], ascending=[False, False, True, True])
        kept: pd.DataFrame = found[["row", "column", "pooled", self.by, "r", "is_clear"]].reset_index(drop=True)
        return kept

    def sentences(self, level: float = 0.05, most: int = 5) -> list[str]:
        """Return a sentence for each pair with a significant reversal, strongest first."""
        found = self.reversals(level)
        found = found[found["is_clear"]]
        pairs = list(dict.fromkeys(zip(found["row"], found["column"], strict=True)))
        return [self._sentence(found, *pair) for pair in pairs[:most]]

    def says(self, level: float = 0.05, most: int = 5) -> list[str]:
        """Deprecated name of :meth:`sentences`."""
        warnings.warn("Grouped.says is now Grouped.sentences.", DeprecationWarning, stacklevel=2)
        return self.sentences(level, most)

    def _sentence(self, found: pd.DataFrame, row: str, column: str) -> str:
        lines = found[(found["row"] == row) & (found["column"] == column)]
        group = "without" if self.leaves_out else "within"
        pooled = float(lines["pooled"].iloc[0])
        against = ", ".join(f"{signed(r)} {group} {name}" for name, r in zip(lines[self.by], lines["r"], strict=True))
        pair = f"{row} {TIMES} {column}"
        return f"{pair}: {signed(pooled)} over all models, but {against}; {self._cause(row, column, pooled)}."

    def _cause(self, row: str, column: str, pooled: float) -> str:
        one, many = {"family": ("family", "families"), "dataset": ("data set", "data sets")}[self.by]
        if self.leaves_out:
            return f"the correlation over all models depends on that {one}"
        within = np.array([group.at(row, column).r for group in self.groups.values()])
        if (within * pooled > 0).any():
            return f"the correlation over all models does not hold in every {one}"
        return f"no {one} has that sign, so the correlation over all models comes from differences between {many}"


def signed(value: float) -> str:
    """Write a coefficient with its sign.

    Example:
        >>> signed(0.5), signed(-0.25)
        ('+0.50', '−0.25')
    """
    return f"{value:+.2f}".replace("-", MINUS)


def grouped_correlations(
    models: ModelTable,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    by: By = "family",
    leave_out: bool = False,
    pooled: Correlations | None = None,
    method: Method = "pearson",
    correct: Correction = "holm",
    **options: Any,
) -> Grouped:
    """Correlate over all models and within each family or data set, or without each.

    Args:
        models: A row for each model.
        rows: As in :func:`correlations`.
        columns: As in :func:`correlations`.
        by: ``"family"`` or ``"dataset"``.
        leave_out: Whether a group is all models without the family or data set, rather than the models in it.
        pooled: The matrix over all models, if it is known already.
        method: As in :func:`correlations`.
        correct: Groups are corrected together, for the tests of all of them.
        **options: To :func:`correlations`.

    Raises:
        ValueError: As :func:`correlations` does; also if nothing is left without a group.
    """
    check_choice("by", by, GROUPINGS)
    label = models.about[by]
    names = sorted(label.unique())
    if leave_out and len(names) < 2:
        raise ValueError(f"leave_out needs at least two groups, got only {by} {names[0]!r}.")
    how: dict[str, Any] = {"method": method, "correct": correct} | options
    whole = correlations(models, rows, columns, **how) if pooled is None else pooled
    parts = [models.part((label != name) if leave_out else (label == name)) for name in names]
    left, right = list(whole.r.index), list(whole.r.columns)
    found = correct_together([correlations(part, left, right, **how) for part in parts])
    return Grouped(by=by, leaves_out=leave_out, pooled=whole, groups=dict(zip(names, found, strict=True)))


def cell_correlations(
    settings: ModelTable,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    method: Method = "pearson",
    correct: Correction = "holm",
) -> pd.DataFrame:
    """Correlate over the settings of each data set and family.

    Args:
        settings: A row for each data set, family and hyperparameter (``pivot(table, per="setting")``).
        rows: As in :func:`correlations`.
        columns: As in :func:`correlations`.
        method: As in :func:`correlations`.
        correct: For the tests of all data sets and families together.

    Returns:
        ``dataset``, ``family``, ``row``, ``column``, ``r``, ``p``, ``p_corrected``, ``n``; no intervals, as six
        settings are too few to resample. Families with fewer than three settings are left out.

    References:
        Measuring Orthogonality in Representations of Generative Models (2024), Appendix F, Table 3.
        https://arxiv.org/abs/2407.03728
    """
    keys = ["dataset", "family"]
    cells = [
        (key, settings.part(pd.Series(settings.about.index.isin(lines.index), index=settings.about.index)))
        for key, lines in settings.about.groupby(keys, sort=True)
        if len(lines) >= FEWEST
    ]
    if not cells:
        return pd.DataFrame(columns=[*keys, "row", "column", "r", "p", "p_corrected", "n"])
    found = [correlations(part, rows, columns, method=method, correct=correct, n_bootstrap=0) for _, part in cells]
    parts = {key: one.tidy() for (key, _), one in zip(cells, correct_together(found), strict=True)}
    joined = pd.concat(parts, names=keys).reset_index(level=keys).reset_index(drop=True)
    return joined.drop(columns=["low", "high"])


def mean_correlations(cells: pd.DataFrame, by: By = "family") -> pd.DataFrame:
    """Average correlations of data sets and families over the other.

    Args:
        cells: What :func:`cell_correlations` returns.
        by: ``"family"`` averages over data sets, ``"dataset"`` over families.

    Returns:
        ``mean``, ``std`` and the number ``n`` of coefficients, by group, row and column.

    References:
        Measuring Orthogonality in Representations of Generative Models (2024), Table 2.
        https://arxiv.org/abs/2407.03728
    """
    check_choice("by", by, GROUPINGS)
    return cells.groupby([by, "row", "column"])["r"].agg(mean="mean", std="std", n="count").reset_index()
