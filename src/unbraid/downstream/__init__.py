"""Downstream tasks: what can be predicted from codes, by what, and from how many rows."""

from unbraid.downstream._pictures import Pictures, pictures_of
from unbraid.downstream._predictors import PREDICTORS, Predictor, check_predictor
from unbraid.downstream._solve import PartResult, TaskResult, solve
from unbraid.downstream._split import Split, split_rows
from unbraid.downstream._table import solve_all
from unbraid.downstream._targets import Target
from unbraid.downstream._tasks import TASKS, Task, build_target, check_task, tasks_for

__all__ = [
    "PREDICTORS",
    "TASKS",
    "PartResult",
    "Pictures",
    "Predictor",
    "Split",
    "Target",
    "Task",
    "TaskResult",
    "build_target",
    "check_predictor",
    "check_task",
    "pictures_of",
    "solve",
    "solve_all",
    "split_rows",
    "tasks_for",
]
