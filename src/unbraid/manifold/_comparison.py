"""How the latents of two decoders move the same data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._files import write_text
from unbraid._typing import BoolArray, FloatArray, IntArray
from unbraid.result import finite


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManifoldComparison:
    """Mutual information across two decoders, in nats, with standard errors over samples.

    Attributes:
        n_samples: Points compared.
        cross_mutual_information: Of latent i of ``a`` and latent j of ``b``, ``(latent_a, latent_b)`` (Eq. 11,
            A.33); NaN where one of them is inactive.
        cross_mutual_information_error: Its standard error.
        pearson: Correlation of latent i of ``a`` with what the encoder of ``b`` makes of the data, or ``None``
            without an encoder (D.28, with standard deviations).
        entropy_a: Of each latent of ``a``.
        entropy_b: Of each latent of ``b``.
        active_a: Which latents of ``a`` move the data in every sample.
        active_b: The same for ``b``.
        order_a: Latents of ``a`` from the highest entropy to the lowest.
        order_b: The same for ``b``.
        notes: What a reader should know first.
        meta: Sizes, options, seed, versions and seconds.
    """

    n_samples: int
    cross_mutual_information: FloatArray
    cross_mutual_information_error: FloatArray
    pearson: FloatArray | None
    entropy_a: FloatArray
    entropy_b: FloatArray
    active_a: BoolArray
    active_b: BoolArray
    order_a: IntArray
    order_b: IntArray
    notes: tuple[str, ...]
    meta: Mapping[str, Any]

    def sorted_cross_mutual_information(self) -> FloatArray:
        """Return the matrix with the latents of both from the most important to the least."""
        return self.cross_mutual_information[np.ix_(self.order_a, self.order_b)]

    def table(self) -> pd.DataFrame:
        """One row for each latent of ``a``, most important first: the latent of ``b`` it shares most with."""
        shared = np.where(np.isnan(self.cross_mutual_information), -np.inf, self.cross_mutual_information)
        partner, most = shared.argmax(axis=1), shared.max(axis=1)
        alone = ~np.isfinite(most)
        errors = self.cross_mutual_information_error[np.arange(len(partner)), partner]
        columns: dict[str, Any] = {
            "latent": np.arange(len(partner)),
            "entropy": self.entropy_a,
            "nearest": pd.array([None if lost else int(j) for lost, j in zip(alone, partner, strict=True)], "Int64"),
            "mutual_information": np.where(alone, np.nan, most),
            "error": np.where(alone, np.nan, errors),
        }
        if self.pearson is not None:
            columns["pearson"] = np.where(alone, np.nan, self.pearson[np.arange(len(partner)), partner])
        return pd.DataFrame(columns).iloc[self.order_a].set_index("latent")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "cross_mutual_information": {
                "value": self.cross_mutual_information.tolist(),
                "error": self.cross_mutual_information_error.tolist(),
            },
            "pearson": None if self.pearson is None else self.pearson.tolist(),
            "entropy_a": self.entropy_a.tolist(),
            "entropy_b": self.entropy_b.tolist(),
            "active_a": self.active_a.tolist(),
            "active_b": self.active_b.tolist(),
            "order_a": self.order_a.tolist(),
            "order_b": self.order_b.tolist(),
            "notes": list(self.notes),
            "meta": dict(self.meta),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON, and write it to ``path`` if given. A number that is not finite becomes null."""
        text = json.dumps(finite(self.to_dict()), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page with the matrices."""
        from unbraid.report import render_comparison_page

        return write_text(path, render_comparison_page(self))

    def __repr__(self) -> str:
        return self.table().to_string(float_format=lambda value: f"{value:.3f}", na_rep="")
