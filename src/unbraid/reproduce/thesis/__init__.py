"""The thesis on 1800 models: its printed numbers, its figures, and the study that they are of."""
