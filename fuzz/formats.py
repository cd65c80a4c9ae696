"""Every input format of the harness, by name."""

from __future__ import annotations

from fuzz import datafiles, documents, foreign, jobs, opening, programs, shards, tables
from fuzz.contract import Format

FORMATS: dict[str, Format] = {
    one.name: one
    for module in (tables, foreign, shards, documents, programs, jobs, opening, datafiles)
    for one in module.FORMATS
}
