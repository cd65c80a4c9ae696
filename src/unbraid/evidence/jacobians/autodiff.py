"""Jacobians of a batch by forward or reverse differentiation, for any decoder whose rows do not interact.

One pass takes as many directions as fit, which keeps a GPU busy. Forwards, the directions share the decoder's values
where torch has batching rules for all it does. Elsewhere the rows are repeated, each copy with a direction of its own:
twice the work, but anything that can be differentiated goes through.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.autograd import forward_ad

Mode: TypeAlias = Literal["forward", "reverse"]
Call: TypeAlias = Callable[[Tensor], Tensor]
# Passes a direction costs: outputs and tangents; outputs, then gradients of activations and inputs.
FORWARD_COST, REVERSE_COST = 2, 3
DETACHED = (
    "decoder must be differentiable, but its output does not follow from the latents by torch operations that keep "
    "gradients; remove detach(), .data, NumPy or torch.inference_mode() inside it"
)


def _start_forward_mode() -> None:
    """Let torch load its forward rules, which warns of a deprecation of its own the first time.

    Which category the warning is of depends on the version of torch.
    """
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.filterwarnings("ignore", message=r"`torch\.jit\.")
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))  # type: ignore[no-untyped-call]


_start_forward_mode()


def jacobian(
    call: Call,
    z: Tensor,
    mode: Mode,
    *,
    rows_at_once: int,
    shares_values: bool = False,
    columns: Tensor | None = None,
) -> Tensor:
    """Return the Jacobian at every row of ``z``, as ``(rows, data, latent)``.

    Args:
        call: A decoder checked by :func:`unbraid.evidence.jacobians.decoder.prepare`.
        z: ``(rows, latent)``.
        mode: Column by column from tangents (forward), or row by row from cotangents (reverse).
        rows_at_once: Number of rows, copies included, one pass of the decoder may take.
        shares_values: Whether :func:`can_share_values`.
        columns: Positions of the latents to differentiate by; all by default. Forwards, others cost nothing.

    Raises:
        ValueError: An output is not finite; its derivative may be.
    """
    directions = max(1, rows_at_once // len(z))
    chosen = torch.arange(z.shape[1], device=z.device) if columns is None else columns.to(z.device)
    if mode == "reverse":
        return _by_rows(call, z, directions, chosen)
    return _by_columns(call, z, directions, chosen, _push_shared if shares_values else _push_copies)


def push_forward(call: Call, z: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
    """Return outputs and their change along ``tangent``, both ``(rows, data)``."""
    with torch.no_grad(), forward_ad.dual_level():
        output, change = forward_ad.unpack_dual(call(forward_ad.make_dual(z.clone(), tangent)))  # type: ignore[no-untyped-call]
        if change is None:
            raise ValueError(f"{DETACHED}.")
        return output.flatten(1), change.flatten(1)


def pull_back(call: Call, z: Tensor, cotangent: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return outputs ``(rows, data)``, and the gradient ``(rows, latent)`` of their product with ``cotangent``."""
    with torch.enable_grad():
        leaf = z.detach().clone().requires_grad_()
        output = call(leaf.clone()).flatten(1)
        if not output.requires_grad:
            raise ValueError(f"{DETACHED}, or torch.no_grad().")
        weights = torch.ones_like(output) if cotangent is None else cotangent
        (gradient,) = torch.autograd.grad(output, leaf, weights, allow_unused=True)
    if gradient is None:
        raise ValueError(f"{DETACHED}, or torch.no_grad().")
    return output.detach(), gradient


def rows_interact(call: Call, z: Tensor, mode: Mode) -> bool:
    """Return whether a change of the first row changes another row's output."""
    if mode == "forward":
        tangent = torch.zeros_like(z)
        tangent[0] = 1.0
        change = push_forward(call, z, tangent)[1]
    else:
        output, _ = pull_back(call, z, None)
        cotangent = torch.zeros_like(output)
        cotangent[0] = 1.0
        change = pull_back(call, z, cotangent)[1]
    return bool((change[1:].nan_to_num(posinf=0.0, neginf=0.0) != 0).any())


def check_finite(values: Tensor, what: str) -> None:
    """Raise where a decoder's numbers, one sample after the other, are not finite."""
    bad = int((~torch.isfinite(values)).reshape(len(values), -1).any(dim=1).sum())
    if bad:
        raise ValueError(
            f"decoder's {what} must be finite, got NaN or inf for {bad} of {len(values)} latents; look at its output "
            "for latents drawn from the prior, or give samples it was trained on as prior."
        )


def can_share_values(call: Call, z: Tensor) -> bool:
    """Return whether several directions can share one pass of the decoder's values, with the same result."""
    directions = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)[:2]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns where it would go through the directions one by one
            shared = _push_shared(call, z, directions)[1]
    except Exception:
        return False
    apart = _push_copies(call, z, directions)[1]
    if shared.shape != apart.shape or not torch.isfinite(apart).all():
        return False
    near = float(torch.finfo(z.dtype).eps) ** 0.5
    return torch.allclose(shared, apart, rtol=near, atol=near * float(apart.abs().max()))


def _push_shared(call: Call, z: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Return outputs ``(rows, data)``, and the change along each direction, ``(directions, rows, data)``."""

    def push(direction: Tensor) -> tuple[Tensor, Tensor]:
        found = torch.func.jvp(lambda x: call(x.clone()), (z,), (direction.expand_as(z),))
        return found[0], found[1]

    with torch.no_grad():
        # the annotation of torch has no None, which stands for "the same for every direction"
        output, change = torch.func.vmap(push, out_dims=(None, 0))(directions)  # type: ignore[arg-type]
        return output.flatten(1), change.flatten(2)


def _push_copies(call: Call, z: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Return outputs, and the change along each direction, from copies of the rows, one for each direction."""
    copies = z.repeat(len(directions), 1)
    output, change = push_forward(call, copies, directions.repeat_interleave(len(z), dim=0))
    return output[: len(z)], change.view(len(directions), len(z), -1)


def _by_columns(
    call: Call,
    z: Tensor,
    directions: int,
    columns: Tensor,
    push: Callable[[Call, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> Tensor:
    n_rows, n_chosen = len(z), len(columns)
    found: Tensor | None = None
    for start in range(0, n_chosen, directions):
        block = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)[columns[start : start + directions]]
        output, change = push(call, z, block)
        if found is None:
            check_finite(output.sum(dim=1), "outputs")
            found = torch.empty(n_chosen, n_rows, change.shape[2], dtype=change.dtype, device=z.device)
        found[start : start + len(block)] = change
    assert found is not None
    return found.permute(1, 2, 0)


def _by_rows(call: Call, z: Tensor, directions: int, columns: Tensor) -> Tensor:
    n_rows, n_chosen = len(z), len(columns)
    with torch.no_grad():
        output = call(z.clone()).flatten(1)
    check_finite(output.sum(dim=1), "outputs")
    data_dim = output.shape[1]
    found = torch.empty(data_dim, n_rows, n_chosen, dtype=z.dtype, device=z.device)
    for start in range(0, data_dim, directions):
        stop = min(start + directions, data_dim)
        cotangent = torch.zeros(stop - start, n_rows, data_dim, dtype=z.dtype, device=z.device)
        cotangent[torch.arange(stop - start), :, torch.arange(start, stop)] = 1.0
        gradient = pull_back(call, z.repeat(stop - start, 1), cotangent.flatten(0, 1))[1]
        found[start:stop] = gradient.view(stop - start, n_rows, -1)[..., columns]
    return found.permute(1, 0, 2)
