"""Training of an ensemble from plain arguments: settings, a source of data and a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid._base.arrays import AnyArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.files import output_folder
from unbraid._base.optional import torch_device
from unbraid._base.progress import Show
from unbraid.models.ensemble.labels import Labels, check_parts, chosen_blocks, chosen_labels, label_columns
from unbraid.models.ensemble.loop import Run, train_ensemble
from unbraid.models.ensemble.memory import free_bytes
from unbraid.models.ensemble.plan import MemberRows, OneFactorRows, plan_of
from unbraid.models.ensemble.settings import DISCRIMINATOR_WIDTH, Settings, member_hyperparameters
from unbraid.models.ensemble.source import MOST_MEMORY, BatchSource
from unbraid.models.ensemble.trained import TrainedEnsemble
from unbraid.models.families import ADVERSARIAL_FAMILY, ENCODERS, ONE_FACTOR_FAMILY, check_taken

if TYPE_CHECKING:
    from unbraid.data import FactorDataset

#: As many codes as the published models have.
N_CODES = 10
#: Numbers of noise of InfoGAN, as in the authors' code for MNIST.
NOISE_DIM = 62
#: Families that count the rows of the data set in their objective, or draw batches by factors.
WHOLE_DATA = ("beta_tcvae", ONE_FACTOR_FAMILY)
#: Between the prior means of neighbouring values of a factor, in deviations of the prior.
PLACE_DISTANCE = 2.0


def train_vaes(
    model: str,
    data: FactorDataset | AnyArray,
    *,
    seeds: int | Sequence[int] = 0,
    member_rows: Sequence[IntArray] = (),
    n_steps: int = 300_000,
    n_codes: int | None = None,
    width: int = 32,
    convolutions: Sequence[tuple[int, int]] = (),
    encoder: str = ENCODERS[0],
    discriminator_width: int | None = None,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    milestones: Sequence[int] = (),
    network: str | None = None,
    likelihood: str | None = None,
    places: Sequence[Sequence[float]] = (),
    labels: Mapping[str, str] | Sequence[str] = (),
    labelled: float = 1.0,
    blocks: Mapping[str, int] | None = None,
    categories: Sequence[int] = (),
    noise_dim: int | None = None,
    out: str | Path | None = None,
    checkpoint_every: int = 1000,
    tensorboard: str | Path | None = None,
    device: str = "cpu",
    precision: str | None = None,
    at_once: int | None = None,
    progress: Show = None,
    **hyperparameters: float | Sequence[float],
) -> TrainedEnsemble:
    r"""Train VAEs of one family as one ensemble: one member for each seed or hyperparameter.

    Member ``m`` has seed ``seeds[m]`` and hyperparameter ``beta[m]``; a single value is used for all members. It draws
    its weights, batches and noise from streams of its own seed, so a member trained alone is the same up to rounding.

    Args:
        model: ``"vae"``, ``"beta_vae"``, ``"annealed_vae"``, ``"factor_vae"``, ``"beta_tcvae"``, ``"dip_vae_i"``,
            ``"dip_vae_ii"`` or ``"conditioned_vae"``; or, with labels, ``"diva"``, ``"vfae"`` or ``"dc_ign"``;
            or ``"info_gan"``.
        data: A data set with ``observations`` and ``factors`` by row, or an array with one row for each observation:
            pictures ``(n, channels, height, width)`` from 0 to 1 (or bytes), or vectors ``(n, n_numbers)``.
        seeds: One for each member.
        member_rows: Numbers of the rows that each member is trained on, such as all but those of one angle; by default
            every member is trained on all rows.
        n_steps: Steps from the start; 300 000 for the published models.
        n_codes: Dimensions of the codes, 10 by default.
        width: Channels of the first convolution; hidden layers have eight times as many units.
        convolutions: Channels and odd side of the kernel of each convolution, such as ``[(16, 7), (32, 3)]``, each
            with a step of 2; by default up to four with kernels of 4 by 4, as in the published models.
        encoder: ``"paper"``: kernels of 4 by 4 throughout, as the paper's table of the encoder has them (382 932
            parameters for a picture of 64 by 64); ``"library"``: kernels of 2 by 2 in the third and fourth convolution,
            as the published code has (309 204).
        discriminator_width: Units of each hidden layer of the discriminator of ``factor_vae``, 1000 by default.
        batch_size: Rows of a step for each member, drawn with replacement.
        learning_rate: Of Adam, at the start.
        milestones: Steps after which the learning rate is divided by 10; without any it is constant, and a run can be
            made longer later.
        network: ``"conv"`` for pictures of even sides, or of any with ``convolutions``, ``"mlp"`` for anything; by
            default the first for pictures.
        likelihood: ``"bernoulli"``, for numbers from 0 to 1 and by default for pictures, or ``"gaussian"`` of variance
            1 (half the squared error), by default for vectors.
        places: For ``conditioned_vae``, the prior mean of each value of each factor; by default 2 apart.
        labels: The factors that a model with labels reads. For ``diva`` and ``vfae`` by role, ``{"y": "digit", "d":
            "angle"}``: target ``y``, and domain ``d`` or sensitive attribute ``s``; by default the first two factors.
            For ``dc_ign`` the factors that get a code each; by default all but the first.
        labelled: Share of the rows whose target ``diva`` and ``vfae`` see; a target below 0 is unknown in any case.
        blocks: For ``diva``, the number of codes of each block, ``{"z_d": 4, "z_y": 4, "z_x": 2}``; by default thirds.
        categories: For ``info_gan``, the number of values of each categorical code, such as ``[10]``; each value is one
            of the ``n_codes`` columns, and columns beyond them are continuous codes. By default all are continuous.
        noise_dim: For ``info_gan``, numbers of noise that data are generated from beside the codes, 62 by default.
        out: Folder for checkpoints. A run that is there already goes on where it stopped, bit for bit on the same
            machine; one with other settings is refused.
        checkpoint_every: Steps between two checkpoints.
        tensorboard: Folder for the losses of each member as TensorBoard reads them; needs the package tensorboard.
        device: ``"cpu"`` or ``"cuda"``; there the step is compiled and recorded as a CUDA graph.
        precision: Of products: ``"float32"``, by default on a CPU, or ``"bfloat16"``, by default on a GPU.
        at_once: Members that are trained side by side; the others follow in groups. By default as many as fit in
            the memory that is free at the start, by an estimate of the memory of a step.
        progress: Show a progress bar on standard error, by default when that is a terminal; ``"lines"``: a line now and
            then.
        hyperparameters: Of the model: ``beta``; ``gamma``, ``capacity`` and ``capacity_steps``; ``off_diagonal`` and
            ``diagonal``; ``alpha_y``, ``alpha_d`` and ``warm_up`` of ``diva``; ``alpha`` and ``mmd`` of ``vfae``;
            ``invariance`` and ``rest`` of ``dc_ign``; ``weight``, ``continuous_share`` and ``deviation`` of
            ``info_gan``. One number, or one for each member.

    Returns:
        The trained models.

    Raises:
        ValueError: An unknown model or hyperparameter, an option that the model does not take, lengths that do not fit,
            data that do not fit the network, a folder with another run, or not enough memory.
    """
    torch_device(device)
    numbers, columns = member_hyperparameters(model, hyperparameters, seeds)
    some = {"labels": labels, "blocks": blocks, "categories": categories, "places": places}
    others = {"noise_dim": noise_dim, "discriminator_width": discriminator_width}
    given = [name for name, value in some.items() if value]
    check_taken(model, [*given, *(name for name, value in others.items() if value is not None)])
    if labelled != 1:
        check_taken(model, ["labelled"])
    read = chosen_labels(model, data, labels)
    chosen, n_codes = chosen_blocks(model, read, blocks or {}, n_codes, N_CODES)
    parts = _parts(model, member_rows, len(numbers), len(data), device)
    source = _source(model, data, read, labelled, n_codes, device, parts)
    is_picture = len(source.shape) == 3
    settings = Settings(
        model=model,
        data=source.describe(),
        n_rows=source.n_rows,
        shape=source.shape,
        seeds=numbers,
        hyperparameters=columns,
        places=_places(model, places, data, n_codes),
        labels=read,
        labelled=labelled,
        blocks=chosen,
        network=network or ("conv" if is_picture else "mlp"),
        likelihood=likelihood or ("bernoulli" if is_picture else "gaussian"),
        n_codes=n_codes,
        width=width,
        convolutions=tuple((int(n_channels), int(kernel)) for n_channels, kernel in convolutions),
        encoder=encoder,
        discriminator_width=DISCRIMINATOR_WIDTH if discriminator_width is None else discriminator_width,
        batch_size=batch_size,
        learning_rate=learning_rate,
        milestones=tuple(int(step) for step in milestones),
        precision=precision or ("bfloat16" if device.startswith("cuda") else "float32"),
        categories=tuple(int(size) for size in categories),
        noise_dim=(0 if model != ADVERSARIAL_FAMILY else NOISE_DIM) if noise_dim is None else noise_dim,
    )
    with ExitStack() as stack:
        run = Run(
            n_steps=n_steps,
            folder=None if out is None else stack.enter_context(output_folder("out", out)),
            checkpoint_every=checkpoint_every,
            tensorboard=None if tensorboard is None else stack.enter_context(output_folder("tensorboard", tensorboard)),
            progress=progress,
        )
        return train_ensemble(settings, source, run, device=device, at_once=at_once)


def _source(
    model: str,
    data: FactorDataset | AnyArray,
    read: Labels,
    labelled: float,
    n_codes: int,
    device: str,
    parts: MemberRows | None,
) -> BatchSource:
    """Return the source of batches of a model, with the labels that it reads and the plan of its batches.

    Raises:
        ValueError: Labels that do not fit the data, or codes that have nothing to vary with.
    """
    reserved = [factor for _, factor, _ in read] if model == ONE_FACTOR_FAMILY else []
    plan = parts or plan_of(data, len(data), reserved, device=device)
    labels = label_columns(model, data, read, labelled) if read else None
    if parts is not None and labels is not None:
        check_parts(model, labels, read, parts.parts)
    if isinstance(plan, OneFactorRows):
        wanted = len(reserved) + plan.has_rest
        if plan.has_rest and n_codes < wanted:
            check_at_least("n_codes", n_codes, wanted)
        if not plan.has_rest and n_codes > wanted:
            raise ValueError(
                f"n_codes must be {wanted} where {model} reserves a code for every factor, got {n_codes}: nothing is "
                "left to vary; leave a factor out of labels, or give fewer codes."
            )
    return BatchSource(
        data,
        device=device,
        memory=min(MOST_MEMORY["cuda" if device.startswith("cuda") else "cpu"], free_bytes(device) // 2),
        labels=labels,
        plan=plan,
    )


def _parts(model: str, given: Sequence[IntArray], n_models: int, n_rows: int, device: str) -> MemberRows | None:
    """Return the plan of members that have rows for themselves, or None where all members have all rows."""
    if not len(given):
        return None
    if model in WHOLE_DATA:
        raise ValueError(f"member_rows are not for {model}, whose objective or batches need the whole data set.")
    if len(given) != n_models:
        raise ValueError(f"member_rows must be {n_models} lists, one for each member, got {len(given)}.")
    return MemberRows(given, n_rows, device=device)


def _places(
    model: str, given: Sequence[Sequence[float]], data: FactorDataset | AnyArray, n_codes: int
) -> tuple[tuple[float, ...], ...]:
    if model != "conditioned_vae":
        return ()
    if not hasattr(data, "factor_sizes"):
        raise ValueError("data must be a data set with factors for conditioned_vae, got an array.")
    sizes = [int(size) for size in data.factor_sizes]
    check_at_least("n_codes", n_codes, len(sizes))
    if not given:
        given = [[PLACE_DISTANCE * (value - (size - 1) / 2) for value in range(size)] for size in sizes]
    if [len(values) for values in given] != sizes:
        raise ValueError(
            f"places must have {sizes} values, one for each of each factor, got {[len(v) for v in given]}."
        )
    return tuple(tuple(float(value) for value in values) for values in given)
