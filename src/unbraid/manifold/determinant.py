"""Log-determinants that a flow computes itself, checked against its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from unbraid._base.arrays import FloatArray
from unbraid._base.checks import to_array
from unbraid.evidence.jacobians.decoder import DecoderJacobians
from unbraid.evidence.jacobians.priors import Latents
from unbraid.evidence.jacobians.sources import JacobianSource

CHECKED = 2


def checked_volumes(
    log_abs_det: Callable[[Any], Any], source: JacobianSource, latents: Latents, *, tolerance: float
) -> Callable[[int, int], FloatArray]:
    """Return log-volumes by sample, once a few agree with the determinant of the Jacobian.

    Raises:
        ValueError: A wrong shape, numbers that are not finite, or ones that differ by more than ``tolerance`` nats.
    """
    assert isinstance(source, DecoderJacobians)

    def volumes(first: int, last: int) -> FloatArray:
        z = torch.as_tensor(latents.z[first:last]).to(source.decoder.device, source.decoder.dtype)
        with torch.no_grad():
            found = np.asarray(to_array(log_abs_det(z)), dtype=np.float64)
        if found.shape != (len(z),):
            raise ValueError(f"log_abs_det must return one number for each latent, ({len(z)},), got {found.shape}.")
        if not np.isfinite(found).all():
            raise ValueError("log_abs_det must be finite, got NaN or inf; leave it out to use the Jacobian.")
        return found if latents.scale is None else found + np.log(latents.scale[first:last]).sum(axis=1)

    claimed = volumes(0, CHECKED)
    true = torch.linalg.slogdet(source.jacobian(slice(0, CHECKED)).double())[1].cpu().numpy()
    worst = float(np.abs(claimed - true).max())
    if np.isfinite(true).all() and worst > tolerance:
        raise ValueError(
            f"log_abs_det must be the decoder's log |det J|, but differs from the Jacobian's by {worst:.3g} nats; the "
            "encoder's has the opposite sign, and is taken at other points."
        )
    return volumes
