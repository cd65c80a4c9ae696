"""The panel."""
