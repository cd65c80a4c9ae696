"""Downstream tasks: their targets, predictors and results at any training size."""

from unbraid.downstream.evaluation import GAP, HELD_OUT, PartResult, SplitKind, TaskResult, solve, solve_all
from unbraid.downstream.predictors import PREDICTORS, Predictor, check_predictor
from unbraid.downstream.tasks import TASKS, Pictures, Target, Task, build_target, check_task, pictures_of, tasks_for
from unbraid.probes.splits import Split, combination_split, split_rows

__all__ = [
    "GAP",
    "HELD_OUT",
    "PREDICTORS",
    "TASKS",
    "PartResult",
    "Pictures",
    "Predictor",
    "Split",
    "SplitKind",
    "Target",
    "Task",
    "TaskResult",
    "build_target",
    "check_predictor",
    "check_task",
    "combination_split",
    "pictures_of",
    "solve",
    "solve_all",
    "split_rows",
    "tasks_for",
]
