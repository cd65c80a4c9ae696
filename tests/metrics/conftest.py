"""Metrics whose evidence takes long to gather: tests that are run for every metric are slow for these."""

from pathlib import Path

import pytest

SLOW_FAMILIES = ("dci_boosting", "dci_es", "dci_forest", "dependent")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        here = Path(__file__).parent in item.path.parents and hasattr(item, "callspec")
        if here and any(family in item.callspec.id for family in SLOW_FAMILIES):
            item.add_marker("slow")
