"""Torch decoders, checked: their width, type, device and mode of differentiation."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unbraid._base.arrays import IntArray
from unbraid._base.checks import check_choice
from unbraid._base.optional import torch_device
from unbraid._base.text import listing
from unbraid.evidence.jacobians import autodiff as _autodiff
from unbraid.evidence.jacobians.budget import Chunk, check_one_sample, check_rank, rows_at_once, rows_that_fit
from unbraid.evidence.jacobians.priors import Latents

MOST_TRIED = 8
#: How torch complains of a matrix product: "(3x10 and 6x16)" is three rows of 10 where 6 were wanted.
PRODUCT = re.compile(r"\(\d+x\d+ and (\d+)x\d+\)")
#: Attributes of layers with the number of their inputs.
WIDTHS = ("in_features", "in_channels", "input_size", "num_features")


def accepted_width(call: Callable[[Tensor], Any], rows: Tensor, complaint: str) -> int | None:
    """Return a number of latents that the decoder accepts, or ``None`` where none is found.

    The error message of a matrix product and the layers of a module suggest numbers; each is tried.

    Args:
        call: The decoder.
        rows: Latents on which it failed, ``(rows, latent_dim)``.
        complaint: The error message.
    """
    tried = [width for width in dict.fromkeys(_guesses(call, complaint)) if width != rows.shape[1]]
    return next((width for width in tried[:MOST_TRIED] if _accepts(call, rows.new_zeros(len(rows), width))), None)


def _guesses(call: Any, complaint: str) -> Iterator[int]:
    yield from (int(found) for found in PRODUCT.findall(complaint))
    if isinstance(call, torch.nn.Module):
        for part in call.modules():
            sizes = (getattr(part, name, None) for name in WIDTHS)
            yield from (size for size in sizes if isinstance(size, int))


def _accepts(call: Callable[[Tensor], Any], rows: Tensor) -> bool:
    try:
        with torch.no_grad():
            call(rows)
    except Exception:
        return False
    return True


# Values and tangents of inputs, outputs and temporaries of an operation.
FORWARD_COPIES = 8
# Tensors kept for the backward pass, and their gradients.
REVERSE_COPIES = 3
# For a decoder whose tensors cannot be observed.
UNSEEN = 64


def bytes_per_row(call: Callable[[Tensor], Tensor], rows: Tensor, output: Tensor, mode: str) -> int:
    """Estimate the memory of a pass for each row, from the tensors that torch keeps for the backward pass.

    Args:
        call: The decoder.
        rows: A few latents.
        output: Output of the decoder.
        mode: Forward needs the largest operation, reverse all of them.
    """
    sizes: list[int] = []

    def note(kept: Tensor) -> Tensor:
        if kept.ndim and kept.shape[0] % len(rows) == 0 and not kept.is_leaf:
            sizes.append(kept.nbytes)
        return kept

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept):
        call(rows.clone().requires_grad_().clone())
    own = max(output.nbytes, rows.nbytes)
    if not sizes:
        return UNSEEN * own // len(rows)
    needed = REVERSE_COPIES * (sum(sizes) + own) if mode == "reverse" else FORWARD_COPIES * max(*sizes, own)
    return needed // len(rows)


DTYPES = {"float32": torch.float32, "float64": torch.float64}
PROBE_ROWS = 3
# Two passes of the same rows differ by rounding where a library picks another algorithm, and by far more where the
# decoder draws noise.
SAME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decoder:
    """A checked decoder.

    Attributes:
        call: From ``(rows, latent_dim)`` to ``(rows, *output_shape)``.
        output_shape: Of one row.
        mode: Mode of differentiation: forward or reverse.
        shares_values: Whether several directions can go forward on one pass of the decoder's values.
        row_bytes: Memory that a pass needs for each row, roughly.
        dtype: Of latents and outputs.
        device: Where it runs.
    """

    call: Callable[[Tensor], Tensor]
    output_shape: tuple[int, ...]
    mode: _autodiff.Mode
    shares_values: bool
    row_bytes: int
    dtype: torch.dtype
    device: torch.device

    @property
    def data_dim(self) -> int:
        """Numbers in one output."""
        return int(torch.Size(self.output_shape).numel())


def prepare(decoder: Any, z: Tensor, *, mode: str, dtype: str | None, device: str | None, memory: int) -> Decoder:
    """Check a decoder on a few latents, and choose how to differentiate it.

    Args:
        decoder: A torch module or function, or an object with ``decode`` or ``decoder``.
        z: Some of the latents it will be measured at, ``(n_samples, latent_dim)``.
        mode: ``"auto"``, ``"forward"`` or ``"reverse"``.
        dtype: ``"float32"``, ``"float64"`` or ``None`` for the module's own.
        device: Such as ``"cuda"``, or ``None`` for the module's own.
        memory: Budget of the Jacobians in bytes.

    Raises:
        TypeError: Not a callable, or something other than one tensor comes out.
        ValueError: Batches are not kept apart, outputs are not finite, are random or do not depend on the latents.
    """
    decoder = _by_name(decoder)
    if not callable(decoder):
        raise TypeError(f"decoder must be a torch module or function from latents to data, got {decoder!r}.")
    check_choice("mode", mode, ("auto", "forward", "reverse"))
    _check_training(decoder)
    _check_loaded(decoder)
    call, kind, place = _placed(decoder, dtype, device)
    rows = torch.randn(PROBE_ROWS, z.shape[1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows[: len(z)] = z[:PROBE_ROWS]
    rows = rows.to(place, kind)
    output = _decode(call, rows)
    shape = tuple(output.shape[1:])
    check_one_sample(output[0].numel(), z.shape[1], kind.itemsize, FORWARD_COPIES * output[0].nbytes, memory)
    chosen = _choose(call, rows, mode, data_dim=output[0].numel())
    _check_output(call, rows, output, chosen)
    return Decoder(
        call=call,
        output_shape=shape,
        mode=chosen,
        shares_values=chosen == "forward" and _autodiff.can_share_values(call, rows),
        row_bytes=bytes_per_row(call, rows, output, chosen),
        dtype=kind,
        device=place,
    )


class _DecodeOf(torch.nn.Module):
    """The ``decode`` of a module that also encodes, with its weights, so that type and device can be found."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Tensor) -> Any:
        """Decode; of a distribution, the mean."""
        found = self.model.decode(z)
        return found.mean if hasattr(found, "log_prob") else found


def _by_name(model: Any) -> Any:
    """Return the decoding function: itself, ``decode`` of a module, or ``decoder`` or ``decode`` of an object."""
    if _is_module(model):
        return _DecodeOf(model) if callable(getattr(model, "decode", None)) else model
    if callable(model):
        return model
    parts = (getattr(model, name, None) for name in ("decoder", "decode"))
    return next((part for part in parts if callable(part)), model)


def _placed(decoder: Any, dtype: str | None, device: str | None) -> tuple[Any, torch.dtype, torch.device]:
    """Return the decoder, or a copy of a module where it should be, with its type and device."""
    if dtype is not None:
        check_choice("dtype", dtype, DTYPES)
    home, own_kind = own_place(decoder)
    kind = DTYPES[dtype] if dtype is not None else own_kind or torch.get_default_dtype()
    place = _device(device) if device is not None else home or torch.device("cpu")
    if kind not in DTYPES.values():
        raise ValueError(f"dtype must be float32 or float64, but the decoder's is {kind}; give dtype='float32'.")
    if home is not None and (kind != own_kind or place != home):
        decoder = copy.deepcopy(decoder).to(place, kind)
    return decoder, kind, place


def own_place(model: Any) -> tuple[torch.device | None, torch.dtype | None]:
    """Return where the weights of a module are and of which type, or nothing for a function."""
    parts = (*model.parameters(), *model.buffers()) if _is_module(model) else ()
    weights = next((part for part in parts if part.is_floating_point()), None)
    return (None, None) if weights is None else (weights.device, weights.dtype)


def _device(name: str) -> torch.device:
    place = torch_device(name)
    # numbered, as the devices of weights are, so that the two can be compared
    return torch.device("cuda", torch.cuda.current_device()) if place == torch.device("cuda") else place


def _is_module(decoder: Any) -> bool:
    return isinstance(decoder, torch.nn.Module)


def _check_training(decoder: Any) -> None:
    """Raise before the first call, which would change the running averages."""
    if not _is_module(decoder):
        return
    for name, part in decoder.named_modules():
        kind = type(part).__name__
        if part.training and "BatchNorm" in kind:
            raise ValueError(
                f"decoder has {kind} {name!r} in training mode, which mixes the samples of a batch; "
                "call decoder.eval() first."
            )


def _check_loaded(decoder: Any) -> None:
    """Raise where weights have a shape and no values."""
    parts = (*decoder.named_parameters(), *decoder.named_buffers()) if _is_module(decoder) else ()
    empty = [name for name, part in parts if part.is_meta]
    if empty:
        raise ValueError(
            f"decoder must have its weights loaded, but {listing([repr(name) for name in empty], most=3)} are on "
            "torch's meta device, without values; load them, for example with "
            "decoder.load_state_dict(weights, assign=True)."
        )


def _decode(call: Any, rows: Tensor) -> Tensor:
    shape = tuple(rows.shape)
    try:
        with torch.no_grad():
            output = call(rows.clone())
    except Exception as error:
        width = accepted_width(call, rows, str(error))
        cure = (
            "Wrap it, for example as lambda z: decoder(z.reshape(len(z), 8, 4, 4)) or torch.vmap(decoder)."
            if width is None
            else f"It accepts {width} latents: is latent_dim (--latent-dim, or the columns of --prior) {width}?"
        )
        raise ValueError(
            f"decoder must accept a batch of latents of shape {shape}, but it failed: {_first_line(error)} {cure}"
        ) from error
    if isinstance(output, tuple | list | dict):
        raise TypeError(
            f"decoder must return one tensor, got a {type(output).__name__} of {len(output)}; "
            "wrap it, for example as lambda z: decoder(z)[0]."
        )
    if not isinstance(output, Tensor):
        raise TypeError(
            f"decoder must return one tensor, got {type(output).__name__}; wrap it, for example as "
            "lambda z: decoder(z).mean for a distribution."
        )
    if output.is_nested or output.layout != torch.strided or output.is_meta:
        what = "on the meta device" if output.is_meta else "nested" if output.is_nested else str(output.layout)
        raise TypeError(
            f"decoder must return a dense tensor with values, got one that is {what}; wrap it, for example as "
            "lambda z: decoder(z).to_dense()."
        )
    if output.ndim == 0 or output.shape[0] != len(rows):
        raise ValueError(
            f"decoder must accept batches: latents of shape {shape} gave an output of shape {tuple(output.shape)}, "
            f"which does not start with {len(rows)}; wrap it, for example as torch.vmap(decoder)."
        )
    if output.ndim == 1:
        raise ValueError(
            f"decoder must return numbers for each row, got one dimension, {tuple(output.shape)}, for latents of shape "
            f"{shape}; wrap it, for example as lambda z: decoder(z)[:, None]."
        )
    if not output.numel():
        raise ValueError(f"decoder must return numbers, got an empty output of shape {tuple(output.shape)}.")
    if not output.is_floating_point():
        raise TypeError(f"decoder must return real floating-point numbers, got {output.dtype}.")
    if output.dtype not in DTYPES.values():
        raise TypeError(
            f"decoder must return {' or '.join(DTYPES)}, got {output.dtype}; wrap it, for example as lambda z: "
            "decoder(z).float()."
        )
    if not output[0].numel():
        raise ValueError(f"decoder must return at least one number for each row, got shape {tuple(output.shape)}.")
    return output


@contextmanager
def _measuring() -> Iterator[None]:
    """Say in one sentence what torch cannot do with a decoder; it has one class of errors for all, memory included."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        raise ValueError(
            f"decoder cannot be measured: {_first_line(error)} It must map a batch of latents to dense numbers by "
            "torch operations that can be differentiated, and one sample must fit into memory."
        ) from error


def _first_line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0][:200]
    return f"{type(error).__name__}: {text}{'' if text.endswith('.') else '.'}"


def _choose(call: Any, rows: Tensor, mode: str, *, data_dim: int) -> _autodiff.Mode:
    """Return the cheaper mode, or the one asked for, or reverse where forward is not implemented."""
    if mode != "auto":
        return "forward" if mode == "forward" else "reverse"
    if rows.shape[1] * _autodiff.FORWARD_COST > data_dim * _autodiff.REVERSE_COST:
        return "reverse"
    try:
        _autodiff.push_forward(call, rows, torch.ones_like(rows))
    except (NotImplementedError, RuntimeError):
        return "reverse"
    return "forward"


def _check_output(call: Any, rows: Tensor, output: Tensor, mode: _autodiff.Mode) -> None:
    _autodiff.check_finite(output, "outputs")
    again = _decode(call, rows)
    spread = output.abs().max().clamp(min=torch.finfo(output.dtype).tiny)
    if ((again - output).abs().max() / spread) > SAME:
        raise ValueError(
            "decoder must give the same output for the same latents, but two calls differ; call decoder.eval() to "
            "stop dropout, or fix its noise."
        )
    if _rows_interact(call, rows, mode):
        raise ValueError(
            "decoder must treat the samples of a batch apart, but changing one changes another; call decoder.eval() "
            "to stop batch statistics, or see that it does not reduce over the first axis."
        )


def _rows_interact(call: Any, rows: Tensor, mode: _autodiff.Mode) -> bool:
    try:
        return _autodiff.rows_interact(call, rows, mode)
    except (NotImplementedError, RuntimeError) as error:
        other = "reverse" if mode == "forward" else "forward"
        raise ValueError(
            f"decoder must be differentiable in {mode} mode, but it failed: {_first_line(error)} Try mode={other!r}."
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderJacobians:
    """Jacobians of a decoder, computed chunk by chunk.

    Attributes:
        decoder: Checked.
        latents: Latents at which to differentiate.
        memory: Budget in bytes.
        columns: Positions of the latents to differentiate by; ``None`` for all.
    """

    decoder: Decoder
    latents: Latents
    memory: int
    columns: IntArray | None = None

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.latents.z)

    @property
    def latent_dim(self) -> int:
        """Columns of a Jacobian."""
        return int(self.latents.z.shape[1]) if self.columns is None else len(self.columns)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one output."""
        return self.decoder.output_shape

    @property
    def chunk_size(self) -> int:
        """Most samples in one chunk."""
        fitting = rows_that_fit(self.memory, self.decoder.data_dim, self.latent_dim, self.decoder.dtype.itemsize)
        return min(fitting, self._rows_at_once)

    @property
    def _rows_at_once(self) -> int:
        return rows_at_once(self.memory, self.decoder.row_bytes)

    def chunks(self, size: int | None = None) -> Iterator[Chunk]:
        """Yield all samples in order, ``size`` at a time; NumPy from a processor, torch from a GPU."""
        step = size or self.chunk_size
        for start in range(0, self.n_samples, step):
            found = self.jacobian(slice(start, start + step))
            yield Chunk(start, found.numpy() if found.device.type == "cpu" else found)

    def jacobian(self, rows: slice) -> Tensor:
        """Return the Jacobians of some samples, ``(rows, data, latent)``, their columns scaled by the prior."""
        decoder, latents = self.decoder, self.latents
        z = torch.as_tensor(latents.z[rows]).to(decoder.device, decoder.dtype)
        with _measuring():
            found = _autodiff.jacobian(
                decoder.call,
                z,
                decoder.mode,
                rows_at_once=self._rows_at_once,
                shares_values=decoder.shares_values,
                columns=None if self.columns is None else torch.as_tensor(self.columns),
            )
            _autodiff.check_finite(found.sum(dim=(1, 2)), "derivatives")
        if latents.scale is None:
            return found
        scale = latents.scale[rows] if self.columns is None else latents.scale[rows][:, self.columns]
        return found * torch.as_tensor(scale).to(found)[:, None, :]


def make_source(
    decoder: Any,
    latents: Latents,
    *,
    mode: str,
    dtype: str | None,
    device: str | None,
    memory: int,
    columns: IntArray | None = None,
) -> DecoderJacobians:
    """Check the decoder, and return its source of Jacobians."""
    with _measuring():
        ready = prepare(decoder, torch.as_tensor(latents.z), mode=mode, dtype=dtype, device=device, memory=memory)
    check_rank(latents.z.shape[1] if columns is None else len(columns), ready.data_dim)
    return DecoderJacobians(decoder=ready, latents=latents, memory=memory, columns=columns)
