"""Studies: many models, scored and tried on tasks, on one machine or many, kept in a store, correlated."""

from unbraid.study._analysis import Analysis, analyse
from unbraid.study._correlate import correlations
from unbraid.study._groups import Grouped, cell_correlations, grouped_correlations, mean_correlations
from unbraid.study._matrix import Correlations
from unbraid.study._profiles import against_strength, convergence, scatter
from unbraid.study._wide import Wide, wide

__all__ = [
    "Analysis",
    "Correlations",
    "Grouped",
    "Wide",
    "against_strength",
    "analyse",
    "cell_correlations",
    "convergence",
    "correlations",
    "grouped_correlations",
    "mean_correlations",
    "scatter",
    "wide",
]
