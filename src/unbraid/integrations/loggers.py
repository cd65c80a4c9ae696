"""Reports sent to experiment trackers: MLflow, Weights & Biases, TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from unbraid._base.checks import check_choice
from unbraid._base.optional import require
from unbraid.report import render_page
from unbraid.results.report import Report


def numbers(report: Report, prefix: str = "unbraid/") -> Iterator[tuple[str, float]]:
    """Yield what trackers plot: each score, its interval and chance level, by name; what is not finite is left out."""
    for name, score in report.items():
        # Not "/low": where metrics are files, as in MLflow's folders, a score cannot also be a folder.
        parts = {"": score.value, "_low": score.low, "_high": score.high, "_chance": score.chance}
        for part, value in parts.items():
            if value is not None and math.isfinite(value):
                yield f"{prefix}{name}{part}", value


def log_report(
    report: Report, to: Any, *, step: int | None = None, prefix: str = "unbraid/", page: bool = True
) -> None:
    """Send a report to a tracker.

    Args:
        report: Of :func:`unbraid.evaluate`.
        to: ``"mlflow"`` or ``"wandb"`` for the run that is active there, a run of Weights & Biases, or a TensorBoard
            ``SummaryWriter``.
        step: Of training.
        prefix: Put before each name.
        page: Whether MLflow and Weights & Biases get the HTML page as well.

    Raises:
        ValueError: An unknown tracker, no active run, or a package that is not installed.
        TypeError: An object that is neither a run nor a writer.
    """
    if isinstance(to, str):
        check_choice("to", to, ("mlflow", "wandb"))
        (to_mlflow if to == "mlflow" else to_wandb)(report, step=step, prefix=prefix, page=page)
    elif hasattr(to, "add_scalar"):
        to_tensorboard(report, to, step=step, prefix=prefix)
    elif hasattr(to, "log"):
        to_wandb(report, run=to, step=step, prefix=prefix, page=page)
    else:
        raise TypeError(
            f"to must be 'mlflow', 'wandb', a wandb run or a SummaryWriter, got an object of {type(to).__name__}."
        )


def to_mlflow(report: Report, *, step: int | None = None, prefix: str = "unbraid/", page: bool = True) -> None:
    """Log numbers as metrics of the active MLflow run, and the page as an artifact."""
    require("to='mlflow'", "mlflow", extra="mlflow")
    import mlflow

    if mlflow.active_run() is None:
        raise ValueError("to='mlflow' needs an active run; log within `with mlflow.start_run():`.")
    mlflow.log_metrics(dict(numbers(report, prefix)), step=step)
    if page:
        mlflow.log_text(render_page(report), f"{prefix}report{_suffix(step)}.html")


def to_wandb(
    report: Report, *, run: Any = None, step: int | None = None, prefix: str = "unbraid/", page: bool = True
) -> None:
    """Log numbers to a Weights & Biases run, by default the active one, and the page as HTML."""
    require("to='wandb'", "wandb", extra="wandb")
    import wandb

    run = wandb.run if run is None else run
    if run is None:
        raise ValueError("to='wandb' needs a run; call wandb.init() first.")
    content: dict[str, Any] = dict(numbers(report, prefix))
    if page:
        content[f"{prefix}report"] = wandb.Html(render_page(report), inject=False)
    run.log(content, step=step)


def to_tensorboard(report: Report, writer: Any, *, step: int | None = None, prefix: str = "unbraid/") -> None:
    """Log numbers as scalars, and the table as text, to a ``SummaryWriter`` of torch or tensorboardX."""
    for name, value in numbers(report, prefix):
        writer.add_scalar(name, value, step)
    writer.add_text(f"{prefix}report", "\n".join(f"    {line}" for line in repr(report).splitlines()), step)


def _suffix(step: int | None) -> str:
    return "" if step is None else f"_{step}"
