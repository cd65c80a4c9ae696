"""Studies: many models, scored and tried on tasks, on one machine or many, kept in a store, correlated."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbraid.study.analysis import Analysis as Analysis
    from unbraid.study.analysis import analyze as analyze
    from unbraid.study.analysis.correlate import correlations as correlations
    from unbraid.study.analysis.groups import Grouped as Grouped
    from unbraid.study.analysis.groups import cell_correlations as cell_correlations
    from unbraid.study.analysis.groups import grouped_correlations as grouped_correlations
    from unbraid.study.analysis.groups import mean_correlations as mean_correlations
    from unbraid.study.analysis.matrix import Correlations as Correlations
    from unbraid.study.analysis.profiles import against_hyperparameter as against_hyperparameter
    from unbraid.study.analysis.profiles import convergence as convergence
    from unbraid.study.analysis.profiles import convergence_of_few as convergence_of_few
    from unbraid.study.analysis.profiles import scatter as scatter
    from unbraid.study.cost import StudyCost as StudyCost
    from unbraid.study.cost import estimate_cost as estimate_cost
    from unbraid.study.engines import make_engine as make_engine
    from unbraid.study.plan import Plan as Plan
    from unbraid.study.plan import make_plan as make_plan
    from unbraid.study.read import load_study as load_study
    from unbraid.study.read import parse_study as parse_study
    from unbraid.study.read import ready_studies as ready_studies
    from unbraid.study.read import study_text as study_text
    from unbraid.study.run import find_leftovers as find_leftovers
    from unbraid.study.run import remove_leftovers as remove_leftovers
    from unbraid.study.run import run_study as run_study
    from unbraid.study.spec import Study as Study
    from unbraid.study.state import StudyStatus as StudyStatus
    from unbraid.study.state import look as look
    from unbraid.study.state import status as status
    from unbraid.study.state import study_table as study_table
    from unbraid.study.store import Store as Store
    from unbraid.study.table import SCHEMA as SCHEMA
    from unbraid.study.table import FailureKind as FailureKind
    from unbraid.study.table import ModelTable as ModelTable
    from unbraid.study.table import pivot as pivot
else:
    from unbraid._base.lazy import public_names

    __getattr__, __dir__, __all__ = public_names(
        __name__,
        renamed={
            "Cost": "StudyCost",
            "State": "StudyStatus",
            "Wide": "ModelTable",
            "against_strength": "against_hyperparameter",
            "analyse": "analyze",
            "study_state": "status",
            "wide": "pivot",
        },
    )
