"""Speeds in round numbers, as ``benchmarks/study.py`` and ``benchmarks/ensemble.py`` measured them, for estimates."""

#: Rows that scores and tasks were measured at.
ROWS_MEASURED = (2000, 20_000)
#: CPU seconds at those of each kind of evidence: codes of ten columns, factors of the sizes of dSprites.
SCORE_SECONDS = {
    "boosting": (0.36, 1.1),
    "code_information": (0.086, 0.39),
    "conditional": (0.093, 0.4),
    "correlation": (0.091, 0.44),
    "covariance": (0.084, 0.39),
    "cross_prediction": (7.8, 72.0),
    "differences": (0.13, 0.48),
    "forest": (1.1, 8.9),
    "information": (0.1, 0.44),
    "linear": (0.15, 0.49),
    "loss_capacity": (10.0, 15.0),
    "predictability": (0.098, 0.44),
    "predictive": (0.15, 1.0),
    "regression": (0.094, 0.42),
    "separation": (0.12, 0.81),
    "subspaces": (0.18, 0.84),
    "variances": (0.11, 0.42),
}
#: The same of a task with one part, learned from seven tenths of the rows.
TASK_SECONDS = {
    "linear": (0.0039, 0.01),
    "boosting": (0.064, 0.16),
    "forest": (0.24, 2.2),
    "mlp": (0.43, 0.93),
}
#: Of two models compared with each other.
AGREEMENT_SECONDS = 3.7e-05
#: Multiplications a second while training: 580 000 pictures, of one H200; and of one core, models of the mini study.
GPU_MULTIPLICATIONS = 2.8e13
CPU_MULTIPLICATIONS = 4.2e9
#: A step of FactorVAE with its discriminator on a GPU, against one of the others.
FACTOR_VAE_TIMES = 1.9
#: Before the first step of a program: the compiler's on a GPU, imports on a core.
START_SECONDS = {"cpu": 5.0, "cuda": 26.0}
