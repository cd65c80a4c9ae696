"""Studies: many models, scored and tried on tasks, on one machine or many, kept in a store, correlated."""

from typing import TYPE_CHECKING

from unbraid._lazy import on_first_use

if TYPE_CHECKING:
    from unbraid.study._analysis import Analysis, analyse
    from unbraid.study._api import run_study, study_state, study_table
    from unbraid.study._clean import find_leftovers, remove_leftovers
    from unbraid.study._correlate import correlations
    from unbraid.study._cost import Cost, estimate_cost
    from unbraid.study._engines import make_engine
    from unbraid.study._file import load_study, parse_study, ready_studies, study_text
    from unbraid.study._groups import Grouped, cell_correlations, grouped_correlations, mean_correlations
    from unbraid.study._matrix import Correlations
    from unbraid.study._plan import Plan, make_plan
    from unbraid.study._profiles import against_strength, convergence, scatter
    from unbraid.study._rows import SCHEMA
    from unbraid.study._spec import Study
    from unbraid.study._state import State, look
    from unbraid.study._store import Store
    from unbraid.study._wide import Wide, wide
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "._analysis": ["Analysis", "analyse"],
            "._api": ["run_study", "study_state", "study_table"],
            "._clean": ["find_leftovers", "remove_leftovers"],
            "._correlate": ["correlations"],
            "._cost": ["Cost", "estimate_cost"],
            "._engines": ["make_engine"],
            "._file": ["load_study", "parse_study", "ready_studies", "study_text"],
            "._groups": ["Grouped", "cell_correlations", "grouped_correlations", "mean_correlations"],
            "._matrix": ["Correlations"],
            "._plan": ["Plan", "make_plan"],
            "._profiles": ["against_strength", "convergence", "scatter"],
            "._rows": ["SCHEMA"],
            "._spec": ["Study"],
            "._state": ["State", "look"],
            "._store": ["Store"],
            "._wide": ["Wide", "wide"],
        },
    )

__all__ = [
    "SCHEMA",
    "Analysis",
    "Correlations",
    "Cost",
    "Grouped",
    "Plan",
    "State",
    "Store",
    "Study",
    "Wide",
    "against_strength",
    "analyse",
    "cell_correlations",
    "convergence",
    "correlations",
    "estimate_cost",
    "find_leftovers",
    "grouped_correlations",
    "load_study",
    "look",
    "make_engine",
    "make_plan",
    "mean_correlations",
    "parse_study",
    "ready_studies",
    "remove_leftovers",
    "run_study",
    "scatter",
    "study_state",
    "study_table",
    "study_text",
    "wide",
]
