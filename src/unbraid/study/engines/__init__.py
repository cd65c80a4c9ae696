"""Engines that run the jobs of a study, by name."""

from __future__ import annotations

from typing import Literal, get_args

from unbraid._base.checks import check_choice
from unbraid.study.engines.local import LocalEngine
from unbraid.study.jobs import Engine

EngineName = Literal["local", "ray"]


def make_engine(name: EngineName = "local", *, workers: int | None = None, address: str | None = None) -> Engine:
    """Make an engine, to be entered with ``with``.

    Args:
        name: ``"local"`` for processes of this machine, ``"ray"`` for a Ray cluster.
        workers: Jobs at the same time; by default as many as there are cores.
        address: Of the Ray cluster, ``host:port`` or ``auto``; by default one is started on this machine.

    Raises:
        ValueError: An unknown name, ``workers`` less than 1, or an ``address`` for an engine that has none.
    """
    check_choice("engine", name, get_args(EngineName))
    if name == "ray":
        from unbraid.study.engines.ray import RayEngine

        return RayEngine(address, workers)
    if address is not None:
        raise ValueError(f"address {address!r} is of no use to the local engine; give engine 'ray' or no address.")
    return LocalEngine(workers)
