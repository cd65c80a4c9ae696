"""Job that computes the agreement of the models of one setting."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from unbraid._base.arrays import AnyArray
from unbraid._base.checks import CollapsedError
from unbraid.metrics import udr
from unbraid.study.jobs.measure import measured_row
from unbraid.study.plan import Measurement, Model, Plan, content_key, scored_rows
from unbraid.study.store import DamagedFileError, Store, read_codes


@dataclass(frozen=True, kw_only=True)
class AgreementJob:
    """Compare every two models that differ in their seed only (UDR), and add a row for each.

    Attributes:
        store: Has the codes, and takes the rows.
        plan: Plan of the study.
        group: The models.
        measurements: The methods.
    """

    store: Store
    plan: Plan
    group: tuple[Model, ...]
    measurements: tuple[Measurement, ...]
    kind: str = "agreement"
    gpus: float = 0.0
    may_race: bool = True

    @property
    def key(self) -> str:
        """Hash of models and methods."""
        return content_key([one.key for one in self.measurements])

    @property
    def label(self) -> str:
        """Label for people."""
        first = self.group[0]
        return f"comparing {len(self.group)} {first.family} on {first.dataset}"

    def run(self) -> None:
        """Compare, and write rows."""
        spec = self.plan.study.agreement
        assert spec is not None
        read = self._read_all()
        n_samples = min((len(codes) for codes, _ in read if codes is not None), default=spec.rows)
        rates = [rate for _, rate in read]
        for measurement in self.measurements:
            started = time.perf_counter()
            rows = scored_rows(self.plan.study, n_samples, measurement.n_rows)
            codes = [np.zeros((len(rows), 2)) if one is None else one[rows] for one, _ in read]
            how: dict[str, Any] = {"method": measurement.name.removeprefix("udr_"), "variant": spec.variant}
            known = [rate for rate in rates if rate is not None]
            found = udr(codes, rates=known if len(known) == len(rates) else None, **how)
            seconds = time.perf_counter() - started
            self.store.add_rows(
                [
                    self._row(model, measurement, len(rows), float(value), seconds)
                    for model, value in zip(self.group, found.per_model, strict=True)
                ]
            )

    def _read_all(self) -> list[tuple[AnyArray | None, AnyArray | None]]:
        """Read the codes of every model; all that are damaged are found before this raises."""
        read, damaged = [], []
        for model in self.group:
            try:
                read.append(self._read(model))
            except DamagedFileError as error:
                damaged.append(str(error))
        if damaged:
            raise DamagedFileError(" ".join(damaged))
        return read

    def _read(self, model: Model) -> tuple[AnyArray | None, AnyArray | None]:
        """Return codes and the information that each carries; ``None`` for codes that are all constant."""
        try:
            return read_codes(self.store, model)
        except CollapsedError:
            return None, None

    def _row(self, model: Model, measurement: Measurement, n_rows: int, value: float, seconds: float) -> dict[str, Any]:
        row = measured_row(model, measurement, n_rows=n_rows)
        return {**row, "value": value, "seconds": seconds / len(self.group)}
