"""Fuzzing of every input, and chaos runs of studies: ``make fuzz``, ``make chaos``; see docs/robustness.md."""
