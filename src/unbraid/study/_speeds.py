"""Speeds measured by ``benchmarks/study.py`` and ``benchmarks/ensemble.py``, for estimates."""

#: Rows that scores and tasks were measured at.
ROWS_MEASURED = (2000, 20_000)
SCORE_SECONDS: dict[str, tuple[float, float]] = {}
TASK_SECONDS: dict[str, tuple[float, float]] = {}
AGREEMENT_SECONDS = 0.01
CPU_MULTIPLICATIONS = 1e9
GPU_MULTIPLICATIONS = 3 * 579_773 * 16.3e6
START_SECONDS = {"cpu": 1.0, "cuda": 26.4}
