"""The engines a study can be run with, by name."""

from __future__ import annotations

from typing import Literal, get_args

from unbraid._validation import check_choice
from unbraid.study._job import Engine
from unbraid.study._local_engine import LocalEngine

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
        from unbraid.study._ray_engine import RayEngine

        return RayEngine(address, workers)
    if address is not None:
        raise ValueError(f"address {address!r} is of no use to the local engine; give engine 'ray' or no address.")
    return LocalEngine(workers)
