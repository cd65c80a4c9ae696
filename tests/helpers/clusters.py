"""A Ray cluster of two nodes on this machine, and an engine that loses one of them."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from unbraid.study.engines.ray import RayEngine


def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a cluster of two nodes; the second is its attribute ``second``."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.second = made.add_node(num_cpus=1)
    yield made
    made.shutdown()


class LosesANode(RayEngine):
    """Takes the second node away when the first job has ended."""

    cluster, is_lost = None, False

    def wait(self):
        finished = super().wait()
        if not self.is_lost:
            self.cluster.remove_node(self.cluster.second, allow_graceful=False)
            self.is_lost = True
        return finished
