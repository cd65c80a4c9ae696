"""Studies: many models, scored and tried on tasks, on one machine or many, kept in a store, correlated."""

from typing import TYPE_CHECKING

from unbraid._base.lazy import on_first_use

if TYPE_CHECKING:
    from unbraid.study.analysis import Analysis, analyse
    from unbraid.study.analysis.correlate import correlations
    from unbraid.study.analysis.groups import Grouped, cell_correlations, grouped_correlations, mean_correlations
    from unbraid.study.analysis.matrix import Correlations
    from unbraid.study.analysis.profiles import against_strength, convergence, scatter
    from unbraid.study.cost import Cost, estimate_cost
    from unbraid.study.engines import make_engine
    from unbraid.study.plan import Plan, make_plan
    from unbraid.study.read import load_study, parse_study, ready_studies, study_text
    from unbraid.study.run import find_leftovers, remove_leftovers, run_study, study_state, study_table
    from unbraid.study.spec import Study
    from unbraid.study.state import State, look
    from unbraid.study.store import Store
    from unbraid.study.table import SCHEMA, Wide, wide
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            ".analysis": ["Analysis", "analyse"],
            ".run": ["find_leftovers", "remove_leftovers", "run_study", "study_state", "study_table"],
            ".analysis.correlate": ["correlations"],
            ".cost": ["Cost", "estimate_cost"],
            ".engines": ["make_engine"],
            ".read": ["load_study", "parse_study", "ready_studies", "study_text"],
            ".analysis.groups": ["Grouped", "cell_correlations", "grouped_correlations", "mean_correlations"],
            ".analysis.matrix": ["Correlations"],
            ".plan": ["Plan", "make_plan"],
            ".analysis.profiles": ["against_strength", "convergence", "scatter"],
            ".spec": ["Study"],
            ".state": ["State", "look"],
            ".store": ["Store"],
            ".table": ["SCHEMA", "Wide", "wide"],
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
