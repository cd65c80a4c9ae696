"""Reaching a Ray cluster, or saying in a sentence why it cannot be reached."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from unbraid._install import pip_install
from unbraid.study._worker import TRIES
from unbraid.study._worker_process import changed_environment

_SECONDS_TO_ANSWER = 5.0
_LOCAL = "local"


def import_ray() -> Any:
    """Return the library, which not everyone has.

    Raises:
        ValueError: It is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise ValueError(f"engine 'ray' needs Ray, which is not installed; run {pip_install('ray')}.") from error
    return ray


def check_address(address: str) -> None:
    """Raise unless somebody listens at an address.

    Ray itself tries for minutes before it gives up.

    Args:
        address: ``host:port``; ``auto`` and ``local`` are left to Ray.
    """
    if address in ("auto", _LOCAL):
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        raise ValueError(f"address must be host:port of a Ray cluster's head, or auto, got {address!r}.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"no Ray cluster answers at {address!r} ({error}); start one with `ray start --head`, or give no address."
        ) from error


def connect(address: str | None, workers: int | None) -> bool:
    """Join the cluster at an address, or start one on this machine.

    Args:
        address: ``host:port`` or ``auto``; ``None`` takes ``RAY_ADDRESS``, and without it starts a cluster that ends
            with this process.
        workers: Cores to give to the cluster if it is started.

    Returns:
        Whether this call did it; ``False`` if the process was in a cluster already.

    Raises:
        ValueError: Nobody answers there, the cluster is of another version, or none can be started here.
    """
    ray = import_ray()
    place = address or os.environ.get("RAY_ADDRESS") or _LOCAL
    check_address(place)
    if ray.is_initialized():
        return False
    settings: dict[str, Any] = {"address": place, "log_to_driver": False, "logging_level": logging.ERROR}
    if place == _LOCAL:
        settings |= {"num_cpus": workers, "include_dashboard": False}
    tries = TRIES if place == _LOCAL else 1  # on a busy machine a cluster may take longer to start than Ray waits
    for left in reversed(range(tries)):
        try:
            # A cluster that is ours alone sends nobody statistics.
            with changed_environment({"RAY_USAGE_STATS_ENABLED": "0"}):
                ray.init(**settings)
            break
        except Exception as error:  # Ray raises a bare Exception for some of its troubles
            ray.shutdown()
            if not left:
                first = str(error).strip().partition("\n")[0].rstrip(".")
                raise ValueError(f"the Ray cluster at {place!r} cannot be joined: {first}.") from error
    return True
