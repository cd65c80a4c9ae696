"""Table of all codes by their importance for the factors and information about them; a page shows its top rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from unbraid._base.arrays import FloatArray, IntArray
from unbraid.evidence.information import InformationTable
from unbraid.probes.importance import Importance
from unbraid.results.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeMap:
    """One matrix of codes by factors.

    Attributes:
        key: Beginning of the names of its columns: ``"mutual_information"``, or the family of an importance.
        matrix: ``(n_codes, n_factors)``.
    """

    key: str
    matrix: FloatArray


def code_maps(evidence: Iterable[Evidence[Any]]) -> list[CodeMap]:
    """Return mutual information and importances, each kind once, in the order of the evidence."""
    found: dict[str, FloatArray] = {}
    for record in evidence:
        if isinstance(record.data, InformationTable):
            found.setdefault("mutual_information", record.data.information)
        elif isinstance(record.data, Importance):
            found.setdefault(record.scores[0].partition(".")[0], record.data.matrix)
    return [CodeMap(key=key, matrix=matrix) for key, matrix in found.items()]


def main_factors(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the factor of which each code carries most, and how much; 0 where it carries nothing."""
    known = np.nan_to_num(matrix)
    best: IntArray = known.argmax(axis=1)
    return best, known[np.arange(len(known)), best]


def make_code_table(
    evidence: Iterable[Evidence[Any]], codes: Sequence[str], factors: Sequence[str]
) -> pd.DataFrame | None:
    """Return one row for each code, sorted by the factor of which it carries most, those that carry more first.

    Args:
        evidence: Of a report.
        codes: Names of all codes.
        factors: Names of all factors.

    Returns:
        Columns ``code``, ``main_factor`` (empty where a code carries nothing), and one for each matrix and factor, such
        as ``mutual_information.shape``; ``None`` where the evidence has no such matrix.
    """
    maps = code_maps(evidence)
    if not maps or not factors:
        return None
    best, most = main_factors(maps[0].matrix)
    columns: dict[str, Any] = {"code": list(codes), "main_factor": np.where(most > 0, np.array(factors)[best], "")}
    for found in maps:
        for k, factor in enumerate(factors):
            columns[f"{found.key}.{factor}"] = found.matrix[:, k]
    order = np.lexsort((-most, np.where(most > 0, best, len(factors))))
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


def write_code_table(table: pd.DataFrame, file: BinaryIO) -> None:
    """Write a table as Parquet."""
    table.to_parquet(file, index=False, compression="zstd")
