"""Marks of tests that run over all metrics: those of the dearest metrics are slow."""

import pytest

from unbraid import METRICS

#: Families whose evidence takes a second or more on the worlds of these tests.
DEAR = {
    "blocks",
    "dci_es",
    "dependent",
    "exclusivity",
    "fairness",
    "infomec",
    "predictive",
    "sparse_probe",
    "t_mex",
    "unibound",
}


def pytest_collection_modifyitems(items):
    for item in items:
        given = getattr(item, "callspec", None)
        values = [] if given is None else given.params.values()
        names = {getattr(value, "name", value) for value in values if isinstance(getattr(value, "name", value), str)}
        if {METRICS[name].family for name in names & METRICS.keys()} & DEAR:
            item.add_marker(pytest.mark.slow)
