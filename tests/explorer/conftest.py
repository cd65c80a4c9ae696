import numpy as np
import pytest

import unbraid as ub
from helpers.browsing import browser  # noqa: F401
from helpers.exploring import Visits
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.server import ExplorerServer


@pytest.fixture(scope="module")
def serve():
    """Start servers, and stop them at the end of the module."""
    servers = []

    def start(*what, **options):
        server = ExplorerServer(open_session(what, OpeningOptions(**options)))
        servers.append(server.start())
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def explore(browser):  # noqa: F811
    """Open the page of a server; at the end nothing may have gone wrong, and no request may have left the machine."""
    visits = Visits(browser)
    yield visits.open
    visits.close()
    assert visits.trouble == []
    assert visits.elsewhere == []


@pytest.fixture(scope="session")
def example():
    return ub.data.example(1200)


@pytest.fixture(scope="session")
def example_report(example):
    """What the explorer would score in the background, in a shorter time."""
    return ub.evaluate(example, metrics="mig,sap,dci_linear,iwo", n_jobs=1, progress=False, name="the example")


@pytest.fixture(scope="session")
def wide():
    """A hundred thousand rows of 64 codes."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(0, 6, 100_000), rng.integers(0, 10, 100_000)])
    codes = rng.standard_normal((100_000, 64)).astype(np.float32)
    codes[:, :2] = factors + 0.2 * codes[:, :2]
    return ub.Representation(codes, factors, names=["shape", "x"])
