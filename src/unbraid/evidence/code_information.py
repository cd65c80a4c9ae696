"""Mutual information between pairs of codes."""

from dataclasses import dataclass

import numpy as np

from unbraid._typing import BoolArray, FloatArray
from unbraid.evidence.information import InformationOptions, bin_codes, entropy, joint_counts
from unbraid.representation import Representation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeInformation:
    """Mutual information between the active codes.

    Attributes:
        matrix: In nats, the entropy of each code on the diagonal, ``(n_active, n_active)``.
        active: Which codes vary.
    """

    matrix: FloatArray
    active: BoolArray

    def spread(self, values: FloatArray) -> FloatArray:
        """Return one value for every code, NaN for those that do not vary."""
        full = np.full(len(self.active), np.nan)
        full[self.active] = values
        return full


def code_information(rep: Representation, options: InformationOptions, rng: np.random.Generator) -> CodeInformation:
    """Count every pair of codes; draws nothing, so ``rng`` is not used."""
    bins, sizes = bin_codes(rep, options)
    bins, sizes = bins[rep.active], sizes[rep.active]
    n_bins = int(sizes.max())
    h = np.array([entropy(np.bincount(column, minlength=n_bins).astype(float)) for column in bins])
    matrix = np.diag(h)
    for j in range(1, len(bins)):
        counts = joint_counts(bins[:j], n_bins, bins[j].astype(np.intp), n_bins)
        matrix[j, :j] = matrix[:j, j] = np.maximum(h[:j] + h[j] - entropy(counts, axis=(1, 2)), 0.0)
    return CodeInformation(matrix=matrix, active=rep.active)
