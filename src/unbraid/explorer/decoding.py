"""Decoders as the explorer uses them: arrays of codes in, pictures or numbers out, within a tenth of a second."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import AnyArray, ByteArray, FloatArray
from unbraid._base.checks import to_array
from unbraid._base.optional import require
from unbraid._base.user_code import kept_apart
from unbraid.manifold.pictures import as_images, image_layout

#: Latents to try where nothing says how many a decoder takes.
FIRST_GUESS = 10
PROBE_ROWS = 3
#: Latents at which the range of outputs is looked up.
RANGE_ROWS = 32
#: Outputs this far outside a usual range still count as in it.
SLACK = 0.05
#: Longest side of a picture that is sent.
MOST_PIXELS = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PictureDecoder:
    """A decoder that was tried on a few latents.

    Attributes:
        call: From ``(n, n_codes)`` to ``(n, ...)``, NumPy both.
        n_codes: Latents it takes.
        layout: Height, width, channels and whether channels come first; ``None`` where outputs are no pictures.
        n_numbers: Numbers in one output.
        low: Output that is drawn black, or at the bottom; the next one white, or at the top.
        high: The other end.
    """

    call: Callable[[FloatArray], AnyArray]
    n_codes: int
    layout: tuple[int, int, int, bool] | None
    n_numbers: int
    low: float
    high: float
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def about(self) -> dict[str, Any]:
        """Return what the page needs to draw outputs."""
        if self.layout is None:
            return {"n_codes": self.n_codes, "numbers": self.n_numbers, "low": self.low, "high": self.high}
        height, width, channels, _ = self.layout
        return {"n_codes": self.n_codes, "height": height, "width": width, "channels": channels}

    def outputs(self, codes: FloatArray) -> NDArray[np.float32]:
        """Return outputs as rows of numbers, ``(n, n_numbers)``; one call at a time."""
        if codes.ndim != 2 or codes.shape[1] != self.n_codes or not np.isfinite(codes).all():
            raise ValueError(f"codes must be rows of {self.n_codes} finite numbers, got shape {codes.shape}.")
        with self._lock:
            found = self.call(codes)
        return np.ascontiguousarray(found.reshape(len(codes), -1), dtype=np.float32)

    def pictures(self, codes: FloatArray) -> ByteArray:
        """Return pictures, ``(n, height, width, channels)``, from 0 to 255.

        Raises:
            ValueError: The outputs are no pictures.
        """
        if self.layout is None:
            raise ValueError("the outputs of this decoder are no pictures; give --image, such as 28x28.")
        span = self.high - self.low
        share = (self.outputs(codes) - self.low) / (span if span > 0 else 1.0)
        pixels = np.round(255 * np.clip(share, 0.0, 1.0)).astype(np.uint8)
        return np.ascontiguousarray(as_images(pixels, self.layout))

    def drawn(self, codes: FloatArray) -> bytes:
        """Return outputs as the page draws them: bytes of pictures, or numbers in single precision."""
        return self.outputs(codes).tobytes() if self.layout is None else self.pictures(codes).tobytes()


def make_decoder(
    model: Any, *, n_codes: int | None = None, codes: FloatArray | None = None, image: tuple[int, ...] | None = None
) -> PictureDecoder:
    """Try a decoder on a few latents, and look up the shape and the range of its outputs.

    Args:
        model: A torch module, a function, or an object with ``decoder`` or ``decode``.
        n_codes: Latents it takes; tried out where it is not known.
        codes: Codes of data, at which the range of outputs is looked up; a standard normal by default.
        image: Shape of a picture, where outputs are flat.

    Raises:
        ValueError: No torch, or a decoder that does not accept a batch of latents.
    """
    require("a decoder", "torch", extra="torch")
    call = _callable(model)
    width = n_codes if n_codes is not None else _accepted(call)
    if codes is None:
        tried = np.random.default_rng(0).standard_normal((RANGE_ROWS, width))
    else:
        tried = codes[np.linspace(0, len(codes) - 1, min(RANGE_ROWS, len(codes))).astype(int)]
    found = _attempt(call, tried)
    shape = tuple(found.shape[1:])
    layout = image_layout(shape, image)
    if layout is not None and max(layout[:2]) > MOST_PIXELS:
        raise ValueError(f"pictures must be at most {MOST_PIXELS} pixels wide and high, got {layout[0]} x {layout[1]}.")
    low, high = _range(found)
    return PictureDecoder(call=call, n_codes=width, layout=layout, n_numbers=int(np.prod(shape)), low=low, high=high)


def _callable(model: Any) -> Callable[[FloatArray], AnyArray]:
    import torch

    if isinstance(model, torch.nn.Module):
        model = copy.deepcopy(model).eval()
        weight = next((part for part in model.parameters() if part.is_floating_point()), torch.empty(0))
        ask = model.decode if callable(getattr(model, "decode", None)) else model
    else:
        weight = torch.empty(0)
        parts = (getattr(model, name, None) for name in ("decoder", "decode"))
        ask = model if callable(model) else next((part for part in parts if callable(part)), None)
    if ask is None:
        raise ValueError(
            f"decoder must be a torch module or function from latents to data, got {type(model).__name__}."
        )

    def call(codes: FloatArray) -> AnyArray:
        with torch.no_grad(), kept_apart("decoder"):
            found = ask(torch.as_tensor(codes).to(weight.device, weight.dtype))
        return to_array(found.mean if hasattr(found, "log_prob") else found)

    return call


def _attempt(call: Callable[[FloatArray], AnyArray], codes: FloatArray) -> AnyArray:
    try:
        found = call(codes)
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0][:200].rstrip(".")
        raise ValueError(
            f"decoder must accept a batch of latents of shape {codes.shape}, but it failed: {type(error).__name__}: "
            f"{line}; give --latent-dim if it takes another number."
        ) from error
    is_real = found.dtype.kind in "biuf"
    if found.ndim < 2 or len(found) != len(codes) or not found.size or not is_real or not np.isfinite(found).all():
        raise ValueError(
            f"decoder must return a row of finite numbers for each of {len(codes)} latents, got shape {found.shape} of "
            f"type {found.dtype}."
        )
    return found


def _accepted(call: Callable[[FloatArray], AnyArray]) -> int:
    """Return a number of latents that a decoder accepts, from what it says of a wrong number."""
    import torch

    from unbraid.evidence.jacobians.decoder import accepted_width

    rows = torch.zeros(PROBE_ROWS, FIRST_GUESS)
    try:
        call(rows.double().numpy())
    except Exception as error:
        width = accepted_width(lambda z: torch.as_tensor(call(z.double().numpy())), rows, str(error))
        if width is None:
            raise ValueError("decoder takes an unknown number of latents; give it with --latent-dim.") from error
        return width
    return FIRST_GUESS


def _range(found: AnyArray) -> tuple[float, float]:
    """Return the range to draw: 0 to 1 or -1 to 1 where outputs keep to it, else their own."""
    low, high = float(found.min()), float(found.max())
    if low >= -SLACK and high <= 1 + SLACK:
        return 0.0, 1.0
    if low >= -1 - SLACK and high <= 1 + SLACK:
        return -1.0, 1.0
    return low, high
