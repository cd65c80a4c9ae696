"""Speeds in round numbers, as ``benchmarks/study.py`` and ``benchmarks/ensemble.py`` measured them, for estimates."""

#: Rows that scores and tasks were measured at.
ROWS_MEASURED = (2000, 20_000)
#: CPU seconds at those of each kind of evidence: codes of ten columns, factors of the sizes of dSprites.
SCORE_SECONDS = {
    "boosting": (0.46, 1.1),
    "code_information": (0.1, 0.44),
    "conditional": (0.095, 0.45),
    "correlation": (0.097, 0.47),
    "covariance": (0.091, 0.43),
    "cross_prediction": (8.9, 75.0),
    "differences": (0.14, 0.49),
    "forest": (0.97, 9.2),
    "information": (0.09, 0.42),
    "linear": (0.16, 0.5),
    "loss_capacity": (12.0, 15.0),
    "predictability": (0.09, 0.43),
    "predictive": (0.14, 0.99),
    "regression": (0.094, 0.45),
    "separation": (0.13, 0.76),
    "subspaces": (0.19, 0.95),
    "variances": (0.12, 0.49),
}
#: The same of a task with one part, learned from seven tenths of the rows.
TASK_SECONDS = {
    "linear": (0.0045, 0.0079),
    "boosting": (0.056, 0.15),
    "forest": (0.46, 2.3),
    "mlp": (0.19, 0.21),
}
#: Of two models compared with each other.
AGREEMENT_SECONDS = 4.3e-05
#: Multiplications a second while training: 580 000 pictures, of one H200; and of one core, models of the mini study.
GPU_MULTIPLICATIONS = 2.8e13
CPU_MULTIPLICATIONS = 5e9
#: Before the first step of a program: the compiler's on a GPU, imports on a core.
START_SECONDS = {"cpu": 5.0, "cuda": 26.0}
