"""The panel: many metrics at once, with intervals and nulls; reports read back from files."""
