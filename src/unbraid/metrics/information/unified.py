"""Unified scores: every aggregation of MIG, SAP, DCI and modularity on every matrix of codes by factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from unbraid._base.arrays import FloatArray
from unbraid.evidence.association import NoOptions, predictability
from unbraid.evidence.information import InformationOptions, information_table
from unbraid.metrics.information.gaps import deviation_from_one_factor, information_gaps, share_of
from unbraid.metrics.prediction.dci import completeness, disentanglement
from unbraid.metrics.table.metric import BesideThePanel
from unbraid.probes.importance import Importance
from unbraid.probes.trees import BoostingOptions, boosting_importance
from unbraid.representation.representation import as_labelled


def unified_scores(
    codes: Any, factors: Any = None, *, n_bins: int = 20, rng: np.random.Generator | int = 0
) -> pd.DataFrame:
    """Cross the matrices of published scores with their aggregations: does the matrix or the aggregation decide?

    Matrices, as rows: mutual information of codes and factors, importance of codes for boosted trees, and
    predictability of factors from single codes. Aggregations, as columns: disentanglement and completeness of DCI, the
    gaps of MIG (over the entropy of the factor) and SAP, modularity, and groups: links below a threshold are cut, and
    what hangs together of codes and factors is a group. ``groups`` is their largest number over all thresholds, and
    ``group_area`` the area under their number between the largest and the smallest entry.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two.
        n_bins: Bins for mutual information.
        rng: Source of chance, or its seed.

    Returns:
        A table. Scores of the same matrix and aggregation as a published score are that score: ``mig`` of information,
        ``sap`` of predictability, ``disentanglement`` and ``completeness`` of importance.

    References:
        Locatello et al. (2020), A Sober Look at the Unsupervised Learning of Disentangled Representations and their
        Evaluation, JMLR 21, sec. 5. https://arxiv.org/abs/2010.14766

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).integers(0, 5, (500, 3))
        >>> table = unified_scores(v + 0.0, v)
        >>> int(table.loc["information", "groups"]), bool(table.loc["importance", "disentanglement"] > 0.9)
        (3, True)
    """
    rep = as_labelled(codes, factors, metric="unified_scores", min_factors=2)
    importing, predicting = np.random.default_rng(rng).spawn(2)
    table = information_table(rep, InformationOptions(n_bins=n_bins))
    matrices = {
        "information": table.information,
        "importance": boosting_importance(rep, BoostingOptions(), importing).matrix,
        "predictability": predictability(rep, NoOptions(), predicting).matrix,
    }
    return pd.DataFrame({name: aggregated(matrix, table.factor_entropy) for name, matrix in matrices.items()}).T


def aggregated(matrix: FloatArray, factor_entropy: FloatArray) -> dict[str, float]:
    """Return every aggregation of one matrix of codes by factors."""
    n_factors = matrix.shape[1]
    shares = Importance(matrix=matrix, informativeness=np.zeros(n_factors), in_accuracy=np.zeros(n_factors))
    per_code = deviation_from_one_factor(matrix)
    groups, area = independent_groups(matrix)
    return {
        "disentanglement": disentanglement(shares).value,
        "completeness": completeness(shares).value,
        "mig": float(information_gaps(share_of(matrix, factor_entropy)).mean()),
        "sap": float(information_gaps(matrix).mean()),
        "modularity": float(np.where(np.isfinite(per_code), per_code, 0.0).mean()),
        "groups": float(groups),
        "group_area": area,
    }


def independent_groups(matrix: FloatArray) -> tuple[int, float]:
    """Return the most groups of linked codes and factors over all thresholds, and the area under their number.

    A code and a factor are linked where their entry is at least the threshold, and above 0.

    Example:
        >>> independent_groups(np.array([[1.0, 0.0], [0.0, 0.5]]))
        (2, 1.75)
    """
    n_codes, n_factors = matrix.shape
    thresholds = np.sort(np.unique(matrix))[::-1]
    counts = []
    for threshold in thresholds:
        linked = (matrix >= threshold) & (matrix > 0)
        graph = np.zeros((n_codes + n_factors,) * 2, dtype=bool)
        graph[:n_codes, n_codes:] = linked
        _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
        counts.append(len(set(labels[:n_codes]) & set(labels[n_codes:])))
    heights, steps = np.array(counts, dtype=float), -np.diff(thresholds)
    return max(counts), float(((heights[1:] + heights[:-1]) / 2 * steps).sum())


BESIDE_THE_PANEL = (
    BesideThePanel(
        name="unified_scores",
        summary="Does the matrix or the aggregation decide a score? A table of all combinations, not a score.",
        needs="codes and at least two factors",
        call="unbraid.metrics.unified_scores(codes, factors)",
        also="`mig`, `sap`, `dci_boosting` and `modularity` of the panel are combinations of it",
    ),
)
