"""``unbraid flow``."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from unbraid import data as sets
from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice
from unbraid._base.files import write_text
from unbraid._base.optional import require
from unbraid._base.progress import bar_or_lines
from unbraid.cli._io import say
from unbraid.representation.files import load, load_codes

DECODER_FILE = '''"""The trained flow, for `unbraid manifold decoder.py:decode --latent-dim {size}{options}`."""

from pathlib import Path

from unbraid.models.flows import load_flow

flow = load_flow(Path(__file__).parent)
decode = flow.decode
'''


def flow(
    data: str,
    /,
    *,
    out: Path,
    kind: Literal["spline", "affine", "glow", "gin", "wavelet"] = "spline",
    objective: Literal["likelihood", "total_correlation", "reconstruction"] = "likelihood",
    weight: float = 1.0,
    core: int = 1,
    blocks: int | None = None,
    labels: str | None = None,
    folder: Annotated[Path | None, Parameter(name="--data-folder")] = None,
    steps: int = 1000,
    batch: int = 256,
    learning_rate: float = 1e-3,
    noise: float = 0.0,
    hold_out: float = 0.1,
    device: str = "cpu",
    recorded: bool = False,
    seed: int = 0,
) -> None:
    """Train a normalising flow of data, whose decoder `unbraid manifold` measures.

    Numbers are centred and divided by the deviation of all of them. A part of the rows is held out, and the flow ends
    in the state that does best on it. The folder holds a checkpoint: a run that was stopped goes on there.

    Examples:
        unbraid flow points.npy --out flow --steps 2000

        unbraid flow mnist --kind glow --noise 0.01 --out glow --device cuda

        unbraid manifold flow/decoder.py:decode --latent-dim 2

    Parameters
    ----------
    data
        A file with a row for each sample, as `unbraid score` reads its codes; or a data set of pictures of one channel
        by its name, see `unbraid data list`.
    out
        Folder for the flow, its checkpoint and `decoder.py`.
    kind
        `spline` and `affine` couplings for vectors; `glow`, `gin` and `wavelet` for square pictures.
    objective
        Maximum likelihood; or with the total correlation of the latent manifolds, or the reconstruction from the first
        latents, added.
    weight
        Of what is added to the likelihood.
    core
        Latents that data are reconstructed from.
    blocks
        Couplings of `spline` and `affine`; 8 by default.
    labels
        A factor whose values are classes that `affine`, `glow` and `gin` see.
    folder
        Where the files of a data set are.
    steps
        Batches to learn from.
    batch
        Rows of a batch.
    learning_rate
        Of Adam, at its highest.
    noise
        Deviation of Gaussian noise added to every batch, after scaling.
    hold_out
        Share of the rows to hold out; 0 for none.
    device
        `cpu` or `cuda`.
    recorded
        Record the training step as a CUDA graph, which keeps a GPU from waiting.
    seed
        Of the start, the rows held out and the batches.
    """
    require("unbraid flow", "torch", "zuko", extra="train")
    from unbraid.models.flows import (
        make_flow,
        negative_log_likelihood,
        save_flow,
        train_flow,
        with_reconstruction,
        with_total_correlation,
    )

    if not 0 <= hold_out < 1:
        raise ValueError(f"hold_out must be a share of the rows from 0 to below 1, got {hold_out:g}.")
    x, classes = _rows(data, folder, labels)
    if not 1 <= core <= x.shape[1]:
        raise ValueError(f"core must be from 1 to {x.shape[1]}, the latents, got {core}.")
    chosen: dict[str, Any] = {
        "likelihood": negative_log_likelihood,
        "total_correlation": with_total_correlation(weight),
        "reconstruction": with_reconstruction(range(core), weight),
    }
    n_classes = 0 if classes is None else int(classes.max()) + 1
    made = {"kind": kind, "size": x.shape[1], "n_classes": n_classes, "seed": seed}
    if blocks is not None:
        made["n_blocks"] = blocks
    order = np.random.default_rng(seed).permutation(len(x))
    cut = len(x) - round(hold_out * len(x))
    learned, unseen = order[:cut], order[cut:]
    trained = train_flow(
        make_flow(**made),
        x[learned],
        labels=None if classes is None else classes[learned],
        objective=chosen[objective],
        n_steps=steps,
        batch_size=batch,
        learning_rate=learning_rate,
        noise=noise,
        held_out=x[unseen] if len(unseen) > 1 else None,
        held_out_labels=None if classes is None else classes[unseen],
        out=out,
        device=device,
        recorded=recorded,
        seed=seed,
        progress=bar_or_lines(),
    )
    save_flow(trained.flow, out, made)
    options = _measured_by(trained.flow, kind, n_classes, out)
    write_text(out / "decoder.py", DECODER_FILE.format(size=x.shape[1], options=options))
    best = "" if trained.best_step is None else f", best held-out state at step {trained.best_step}"
    print(f"objective {trained.losses[-1]:.3f} nats at the last of {steps} steps{best}")
    where = out / "decoder.py"
    say(f"wrote {out}; next: unbraid manifold {where}:decode --latent-dim {x.shape[1]}{options}")


def _measured_by(flow: Any, kind: str, n_classes: int, out: Path) -> str:
    """Return the options of ``unbraid manifold`` for a flow; the Gaussians of a GIN are written as a mixture."""
    from unbraid.models.flows import ClassMixture, wavelet_partition

    if isinstance(flow.prior, ClassMixture):
        means, deviations = (value.detach().cpu().numpy() for value in (flow.prior.means, flow.prior.deviations))
        np.savez(out / "mixture.npz", means=means, deviations=deviations)
        return f" --mixture {out / 'mixture.npz'}"
    if kind == "wavelet":
        sets = wavelet_partition(round(flow.size**0.5))
        return " --partition " + ",".join(f"{name}={members[0]}-{members[-1]}" for name, members in sets.items())
    return f" --classes {n_classes}" if n_classes else ""


def _rows(data: str, folder: Path | None, labels: str | None) -> tuple[FloatArray, IntArray | None]:
    """Return scaled flat rows, and the classes of a factor where one is named."""
    if Path(data).exists():
        rep = load_codes(data) if labels is None else load(data)
        rows, names = np.asarray(rep.codes, dtype=float), rep.factor_names
        columns = [factor.numbers for factor in rep.factors]
    else:
        dataset = sets.load_dataset(data, folder)
        every = np.arange(len(dataset))
        rows = np.asarray(dataset.observations(every), dtype=float).reshape(len(dataset), -1)
        names, columns = tuple(dataset.factor_names), list(np.asarray(dataset.factors(every)).T)
    spread = (rows - rows.mean(axis=0)).std()
    if not spread > 0:
        raise ValueError(f"data {data!r} must vary, and all its rows are the same.")
    scaled = (rows - rows.mean(axis=0)) / spread
    if labels is None:
        return scaled, None
    check_choice("labels", labels, names)
    column = columns[names.index(labels)]
    if not np.isfinite(column).all():
        raise ValueError(f"labels {labels!r} must be known for every row; leave rows without one out.")
    return scaled, np.unique(column, return_inverse=True)[1]
