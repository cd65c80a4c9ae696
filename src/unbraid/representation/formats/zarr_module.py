"""The zarr package, without errors of its own tasks on the terminal."""

from __future__ import annotations

import logging
from typing import Any

from unbraid._base.optional import require


class _NotOfZarr(logging.Filter):
    """Lets all records pass but errors that were raised within zarr.

    zarr reads the parts of a folder side by side. The first error is raised; asyncio writes the others to the terminal
    with a traceback when their tasks are thrown away, long after the first one was told.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        at = record.exc_info[2] if record.exc_info else None
        while at is not None:
            if str(at.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "zarr":
                return False
            at = at.tb_next
        return True


_FILTER = _NotOfZarr()


def load_zarr() -> Any:
    """Return the package.

    Raises:
        ValueError: It is not installed.
    """
    require("Reading .zarr", "zarr", extra="files")
    import zarr

    logging.getLogger("asyncio").addFilter(_FILTER)
    return zarr
