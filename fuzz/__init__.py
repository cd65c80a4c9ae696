"""Fuzzing of every input, and chaos runs of studies: ``make fuzz``, ``make chaos``; see docs/robustness.md."""

import sys
from pathlib import Path

# Small files in official formats are written by what the tests have for it.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
