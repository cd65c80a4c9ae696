"""Labels of a batch, some of them unknown: weights of classes, cross-entropy, divergence of predicted classes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: In place of a label, for a row that has none.
UNKNOWN = -1


def one_hot(labels: Tensor, n_classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a column for each class, 1 in the column of a label, ``(..., n, n_classes)``; all 0 where unknown."""
    classes = torch.arange(n_classes, device=labels.device)
    return (labels.unsqueeze(-1) == classes).to(dtype)


def class_weights(labels: Tensor, logits: Tensor) -> Tensor:
    """Return a probability of each class for each row: 1 for the label of a row, as predicted for a row without.

    Args:
        labels: Counted from 0, or :data:`UNKNOWN`, ``(..., n)``.
        logits: Of the classes, ``(..., n, n_classes)``.
    """
    known = one_hot(labels, logits.shape[-1], logits.dtype)
    return torch.where((labels == UNKNOWN).unsqueeze(-1), logits.softmax(dim=-1), known)


def cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    """Return minus the log-probability of the labels, in nats, summed over labelled rows and divided by all rows."""
    chosen = logits.log_softmax(dim=-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    found: Tensor = -torch.where(labels == UNKNOWN, torch.zeros_like(chosen), chosen).mean(dim=-1)
    return found


def uniform_divergence(labels: Tensor, logits: Tensor) -> Tensor:
    r"""Return :math:`\mathrm{KL}(q(y) \,\|\, p(y))` of predicted classes from even ones: 0 for labelled rows, averaged.

    Args:
        labels: Counted from 0, or :data:`UNKNOWN`, ``(..., n)``.
        logits: Of :math:`q(y)`, ``(..., n, n_classes)``.
    """
    log_q = logits.log_softmax(dim=-1)
    rows = (log_q.exp() * log_q).sum(dim=-1) + math.log(logits.shape[-1])
    found: Tensor = torch.where(labels == UNKNOWN, rows, torch.zeros_like(rows)).mean(dim=-1)
    return found
