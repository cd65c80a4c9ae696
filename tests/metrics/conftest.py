"""Metrics whose evidence takes long to gather: tests that are run for every metric are slow for these."""

from pathlib import Path

import pytest

#: Families and kinds of evidence.
SLOW = (
    "boosting",
    "cross_prediction",
    "dci_boosting",
    "dci_es",
    "dci_forest",
    "dependent",
    "forest",
    "joint_information",
    "loss_capacity",
    "unibound",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        here = Path(__file__).parent in item.path.parents and hasattr(item, "callspec")
        if here and any(part.startswith(SLOW) for part in item.callspec.id.split("-")):
            item.add_marker("slow")
