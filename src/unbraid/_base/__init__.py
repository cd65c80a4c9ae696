"""The lowest layer: array types, checks, files, text, statistics and records that every other package may import."""
