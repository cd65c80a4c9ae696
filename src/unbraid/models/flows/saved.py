"""Flows kept in a folder: the arguments that made each flow, and its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from unbraid._base.checks import check_choice
from unbraid._base.files import write_atomically, write_text
from unbraid.models.flows.build import affine_flow, gin_flow, glow_flow, spline_flow, wavelet_flow
from unbraid.models.flows.flow import Flow

MAKERS = {
    "spline": spline_flow,
    "affine": affine_flow,
    "glow": glow_flow,
    "gin": gin_flow,
    "wavelet": wavelet_flow,
}
#: Kinds of flows on square pictures; the others are of vectors.
OF_PICTURES = ("glow", "gin", "wavelet")
#: Kinds that see, or have a Gaussian for, each class.
WITH_CLASSES = ("affine", "glow", "gin")
MADE_NAME, WEIGHTS_NAME = "flow.json", "weights.pt"


def make_flow(kind: str, size: int, *, n_classes: int = 0, seed: int = 0, **options: Any) -> Flow:
    """Return a new flow.

    Args:
        kind: ``"spline"``, ``"affine"``, ``"glow"``, ``"gin"`` or ``"wavelet"``.
        size: Numbers of a sample; of square pictures, their pixels.
        n_classes: Classes that the flow sees, or has a Gaussian for; 0 for none.
        seed: Of the start.
        options: Of the maker of that kind, such as ``n_blocks``.

    Raises:
        ValueError: An unknown kind, classes for a kind without, none for GIN, or pictures that are not square.
    """
    check_choice("kind", kind, MAKERS)
    if n_classes and kind not in WITH_CLASSES:
        raise ValueError(f"classes are for {', '.join(WITH_CLASSES)}, got {n_classes} for {kind}.")
    if kind == "gin" and not n_classes:
        raise ValueError("gin needs classes, one Gaussian each: give labels.")
    if n_classes:
        options["n_classes"] = n_classes
    if kind in OF_PICTURES:
        side = round(size**0.5)
        if side * side != size:
            raise ValueError(
                f"{kind} is for square pictures of one channel, got {size} numbers; give spline or affine."
            )
        size = side
    maker: Any = MAKERS[kind]
    flow: Flow = maker(size, seed=seed, **options)
    return flow


def save_flow(flow: Flow, folder: str | Path, made: Mapping[str, Any]) -> None:
    """Write how a flow was made, the arguments of :func:`make_flow`, and its weights."""
    weights = {name: value.cpu() for name, value in flow.state_dict().items()}
    write_atomically(Path(folder) / WEIGHTS_NAME, partial(torch.save, weights))
    write_text(Path(folder) / MADE_NAME, json.dumps(dict(made), indent=1) + "\n")


def load_flow(folder: str | Path) -> Flow:
    """Return a flow that :func:`save_flow` kept.

    Raises:
        ValueError: No flow there, or a damaged one.
    """
    place = Path(folder)
    if not (place / MADE_NAME).is_file():
        raise ValueError(f"folder {str(folder)!r} holds no flow; train one with `unbraid flow`.")
    try:
        made = json.loads((place / MADE_NAME).read_text(encoding="utf-8"))
        flow = make_flow(**made)
        flow.load_state_dict(torch.load(place / WEIGHTS_NAME, map_location="cpu", weights_only=True))
    except Exception as error:
        raise ValueError(f"folder {str(folder)!r} holds a damaged flow; train it again.") from error
    return flow.eval()
