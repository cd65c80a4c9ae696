"""The table of metrics: what a row says, the evidence behind it, listings."""
