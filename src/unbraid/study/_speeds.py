"""Speeds in round numbers, as ``benchmarks/study.py`` and ``benchmarks/ensemble.py`` measured them, for estimates."""

#: Rows that scores and tasks were measured at.
ROWS_MEASURED = (2000, 20_000)
#: CPU seconds at those of each kind of evidence: codes of ten columns, factors of the sizes of dSprites.
SCORE_SECONDS = {
    "boosting": (0.38, 1.2),
    "code_information": (0.1, 0.45),
    "conditional": (0.1, 0.43),
    "correlation": (0.1, 0.42),
    "covariance": (0.095, 0.44),
    "cross_prediction": (8.1, 73.0),
    "differences": (0.13, 0.45),
    "forest": (0.97, 8.8),
    "information": (0.11, 0.45),
    "linear": (0.15, 0.5),
    "loss_capacity": (13.0, 15.0),
    "predictability": (0.09, 0.43),
    "predictive": (0.13, 1.0),
    "regression": (0.092, 0.44),
    "separation": (0.12, 0.73),
    "subspaces": (0.2, 0.92),
    "variances": (0.11, 0.44),
}
#: The same of a task with one part, learned from seven tenths of the rows.
TASK_SECONDS = {
    "linear": (0.0095, 0.012),
    "boosting": (0.6, 0.15),
    "forest": (0.25, 2.2),
    "mlp": (2.9, 0.95),
}
#: Of two models compared with each other.
AGREEMENT_SECONDS = 4e-05
#: Multiplications a second while training: 580 000 pictures, of one H200; and of one core, models of the mini study.
GPU_MULTIPLICATIONS = 2.8e13
CPU_MULTIPLICATIONS = 4.2e9
#: Before the first step of a program: the compiler's on a GPU, imports on a core.
START_SECONDS = {"cpu": 5.0, "cuda": 26.0}
