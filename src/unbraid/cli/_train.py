"""``unbraid train``."""

import re
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from unbraid import data as sets
from unbraid._base.checks import check_choice
from unbraid._base.files import write_atomically, write_text
from unbraid._base.optional import require
from unbraid._base.progress import bar_or_lines
from unbraid._base.record import write_json
from unbraid.cli._io import say
from unbraid.models.families import ADVERSARIAL_FAMILY
from unbraid.representation.files import save

#: What ``--preset tiny`` asks for, unless told otherwise.
TINY: dict[str, Any] = {
    "n_steps": 1500,
    "n_codes": 6,
    "width": 8,
    "batch_size": 32,
    "learning_rate": 2e-3,
}
PUBLISHED: dict[str, Any] = {
    "n_steps": 300_000,
    "n_codes": 10,
    "width": 32,
    "batch_size": 64,
    "learning_rate": 1e-4,
}
#: Checkpoints of a run that is watched, at least.
N_WATCHED = 20
#: Files of each member, before and after its number.
WRITTEN = (("codes", "npz"), ("traversals", "png"), ("blocks", "png"))
#: Pictures of ``blocks_N.png``.
N_SHOWN = 10
#: Rows that are encoded for ``codes_N.npz``.
N_ENCODED = 10_000
DECODER_FILE = '''"""The trained decoders, for `unbraid manifold decoder.py:member_{first} --latent-dim {n_codes}`."""

from pathlib import Path

from unbraid.models import load_models

ensemble = load_models(Path(__file__).parent)
{members}
'''


#: Combinations of values of categorical codes that get a line in ``decoder.py``.
MOST_GENERATORS = 100
MEMBER_LINES = r"(member_[\d_]+ = ensemble\[\d+\]\.(decoder|generator\([\[\], \d]*\))\n?)*"


def train(
    *,
    out: Path,
    model: str = "beta_vae",
    data: str = "sprites_mini",
    preset: Literal["tiny", "published"] | None = None,
    folder: Path | None = None,
    seeds: str = "0",
    hyperparameters: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    strength: Annotated[tuple[str, ...], Parameter(show=False)] = (),
    labels: str | None = None,
    labelled: float = 1.0,
    blocks: str | None = None,
    hold_out: str | None = None,
    steps: int | None = None,
    codes: int | None = None,
    width: int | None = None,
    encoder: Literal["paper", "library"] = "paper",
    batch: int | None = None,
    categories: str | None = None,
    noise: int | None = None,
    learning_rate: float | None = None,
    checkpoint_every: int = 1000,
    tensorboard: Path | None = None,
    device: str = "cpu",
    at_once: int | None = None,
    overwrite: bool = False,
    watch: Annotated[bool, Parameter(negative=())] = False,
    browser: bool = True,
) -> None:
    """Train VAEs or InfoGANs on data with known factors: one, or many at once.

    One model is one member of an ensemble. The output folder gets `ensemble.pt`, a checkpoint from which the same
    command continues (`group_N/ensemble.pt` where not all members fit in memory at once); for each member `N`, its
    codes and factors, `codes_N.npz`, for `unbraid score`, and images along each code, `traversals_N.png`; and
    `decoder.py` for `unbraid manifold`. `data.json` names the data set, for `unbraid explore`. A model whose codes
    have blocks gets `blocks_N.png`: images, reconstructions, each block alone, and each block swapped.

    Models and their hyperparameters: `vae`; `beta_vae` (beta); `annealed_vae` (gamma, capacity, capacity_steps);
    `factor_vae` (gamma); `beta_tcvae` (beta); `dip_vae_i` and `dip_vae_ii` (off_diagonal, diagonal);
    `conditioned_vae` (beta). Models that read labels: `diva` (beta, alpha_y, alpha_d, warm_up), with blocks of codes
    for a domain `d` and a target `y`; `vfae` (alpha, mmd), whose codes hide a sensitive attribute `s` and keep `y`;
    `dc_ign` (invariance, rest), with a code for each of some factors. A GAN whose codes can be read from its data:
    `info_gan` (weight, 0 for a plain GAN; continuous_share; deviation).

    Examples:
        unbraid train --preset tiny --out tiny

        unbraid train --model beta_tcvae --data sprites --seeds 0,1,2,3 --set beta=1,2,4,8 --device cuda --out tc

        unbraid train --model info_gan --data mnist --codes 12 --categories 10 --set weight=1,0 --out gan

        unbraid train --preset tiny --model diva --data rotated_digits --labels y=digit,d=angle --out diva

        unbraid score tiny/codes_0.npz

    Parameters
    ----------
    out
        Output folder; created if it does not exist.
    model
        Model to train, from the list above.
    data
        Data set to train on; `unbraid data list` prints the names.
    preset
        `tiny`: a small network, trained in a minute; `published`, the default: the network and the number of steps of
        the published study of 1800 models.
    folder
        Folder with the files of official data sets.
    seeds
        One seed for each member, such as `0,1,2`.
    hyperparameters
        A hyperparameter: one value, `beta=4`, or one for each member, `beta=1,2,4`; may be repeated.
    strength
        The earlier name of `--set`.
    labels
        Factors that a model with labels reads: `y=digit,d=angle` for `diva`, `y=hired,s=group` for `vfae`, by default
        the first two factors; `scale,x,y` for `dc_ign`, by default all but the first.
    labelled
        Share of the rows whose target `y` the model sees; the others are trained on without.
    blocks
        Codes of each block of `diva`, `z_d=64,z_y=64,z_x=64`; thirds of `--codes` by default.
    hold_out
        Values of a factor, counted from 0, whose rows are not trained on: `angle=5`, or `angle=4,5`. A model that
        predicts a target is tested on these rows; the codes that are written are those of all rows.
    steps
        Training steps in all, including those of a checkpoint.
    codes
        Number of codes (latent dimensions).
    width
        Channels of the first convolution.
    encoder
        Kernels of the encoder: `paper`, 4 x 4 as in the paper's table; `library`, 2 x 2 in the third and fourth
        convolution as in the published code.
    batch
        Batch size, of each member.
    categories
        For `info_gan`: the number of values of each categorical code, such as `10` or `10,3`. Each value is one of
        `--codes` columns; columns beyond them are continuous codes.
    noise
        For `info_gan`: numbers of noise that data are generated from beside the codes; 62 by default.
    learning_rate
        Learning rate of Adam; of `info_gan`, that of the generator, and a fifth of it of the discriminator.
    checkpoint_every
        Steps between two checkpoints.
    tensorboard
        Folder for the losses of each member, for TensorBoard.
    device
        `cpu` or `cuda`.
    at_once
        Members to train in parallel; the others follow in groups. As many as fit in memory by default.
    overwrite
        Replace files of these names in the folder that an earlier run did not write.
    watch
        Open `unbraid explore` on the run while it trains: losses, reconstructions and traversals of each checkpoint,
        of which there are at least twenty.
    browser
        Open a browser to watch; with `--no-browser`, only print the address.
    """
    require("training", "torch", extra="train")
    from unbraid.models import encode_all
    from unbraid.models import train as train_ensemble
    from unbraid.models.ensemble.loop import loss_text

    before = _steps_so_far(out)
    members = [_whole("seeds", one) for one in seeds.split(",")]
    given = {"n_steps": steps, "n_codes": codes, "width": width, "batch_size": batch, "learning_rate": learning_rate}
    sizes = (TINY if preset == "tiny" else PUBLISHED) | {name: one for name, one in given.items() if one is not None}
    if strength:
        say("note: --strength is now called --set; the next release takes --set only.")
    values = dict(_hyperparameter(text) for text in (*hyperparameters, *strength))
    sizes |= _label_options(labels, labelled, blocks)
    if blocks is not None and codes is None:
        del sizes["n_codes"]
    if not overwrite:
        n_members = max(len(members), *(len(value) for value in values.values()), 1)
        _check_not_theirs(out, n_members, has_run=bool(before))
    if categories is not None:
        sizes["categories"] = [_whole("categories", one) for one in categories.split(",")]
    if noise is not None:
        sizes["noise_dim"] = noise
    whole = sets.load_dataset(data, folder)
    dataset, unseen = (whole, None) if hold_out is None else _held_out(whole, hold_out)
    often = max(1, sizes["n_steps"] // N_WATCHED)
    with _watching(out, dataset, browser=browser) if watch else nullcontext():
        ensemble = train_ensemble(
            model,
            dataset,
            seeds=members,
            out=out,
            checkpoint_every=min(checkpoint_every, often) if watch else checkpoint_every,
            tensorboard=tensorboard,
            device=device,
            at_once=at_once,
            progress=bar_or_lines(),
            encoder=encoder,
            **sizes,
            **values,
        )
    losses = ensemble.history[-1].T.tolist()
    trained = [m for m, step in enumerate(ensemble.diverged) if step is None]
    reps = encode_all(ensemble.only(trained or [0]), whole, n=min(N_ENCODED, len(whole)))
    for m, rep in zip(trained, reps, strict=True):
        save(rep, out / f"codes_{m}.npz")
        _draw(ensemble[m], rep.codes, dataset, out, m)
    for m, step in enumerate(ensemble.diverged):
        how = loss_text(ensemble.settings, losses[m])
        print(f"member {m}: {how if step is None else f'diverged at step {step}; it has no codes'}")
    for m in trained if unseen is not None else ():
        print(f"member {m}: {_tested(ensemble[m], unseen)}")
    text = DECODER_FILE.format(
        n_codes=_latent_dim(ensemble.settings), first=trained[0], members=_decoders(ensemble.settings, trained)
    )
    write_text(out / "decoder.py", text)
    write_json({"data": data, "n_rows": len(whole)}, out / "data.json")
    if before:
        say(f"note: {_went_on(out, before, sizes['n_steps'])}")
    say(f"wrote {out}; next: unbraid score {out / f'codes_{trained[0]}.npz'}, unbraid explore {out}")


def _watching(out: Path, dataset: Any, *, browser: bool) -> AbstractContextManager[None]:
    from unbraid.cli._explore import watching
    from unbraid.explorer.runs import RunView
    from unbraid.explorer.session import Session

    view = RunView(out, dataset)
    return watching(Session(f"training in {out.name}", view.entries, run=view, watching=True), browser=browser)


def _check_not_theirs(out: Path, n_members: int, *, has_run: bool) -> None:
    """Raise if the folder holds files that would be replaced and that no run of this command wrote.

    Raises:
        ValueError: With the first such file.
    """
    names = [f"{what}_{m}.{ending}" for m in range(n_members) for what, ending in WRITTEN]
    numbered = [out / name for name in names]
    numbered.append(out / "data.json")
    theirs = [] if has_run else [path for path in numbered if path.exists()]
    if (out / "decoder.py").exists() and not (has_run and _is_written_here(out / "decoder.py")):
        theirs.insert(0, out / "decoder.py")
    if theirs:
        raise ValueError(
            f"file {str(theirs[0])!r} would be replaced, and no earlier run wrote it as it is; "
            "give another folder, or --overwrite."
        )


def _is_written_here(path: Path) -> bool:
    """Return whether a decoder file is as this command writes it, whatever its members."""
    pattern = re.escape(DECODER_FILE).replace(re.escape("{first}"), r"\d+").replace(re.escape("{n_codes}"), r"\d+")
    pattern = pattern.replace(re.escape("{members}"), MEMBER_LINES)
    try:
        return re.fullmatch(pattern, path.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _steps_so_far(out: Path) -> list[int]:
    """Return how far the runs are that the folder holds, one for each group of members."""
    from unbraid.models.ensemble import load_checkpoint

    files = [out / "ensemble.pt", *sorted(out.glob("group_*/ensemble.pt"))]
    return [int(load_checkpoint(file.parent)[1]["step"]) for file in files if file.is_file()]


def _went_on(out: Path, before: list[int], n_steps: int) -> str:
    """Say that a folder held this run, from where it went on, and what was written over."""
    how = f"it went on from step {min(before)}" if min(before) < n_steps else "nothing was left to train"
    return (
        f"{out} held this run already: {how}; its codes, pictures and decoder.py were written anew. "
        "For a new run give another folder."
    )


def _latent_dim(settings: Any) -> int:
    """Return the latents that the members of ``decoder.py`` take."""
    if settings.model != ADVERSARIAL_FAMILY:
        return int(settings.n_codes)
    return int(settings.layout.n_continuous + settings.noise_dim)


def _decoders(settings: Any, members: list[int]) -> str:
    """Return the lines of ``decoder.py``: a decoder of each member, of InfoGAN one for each value of its codes."""
    if settings.model != ADVERSARIAL_FAMILY:
        return "\n".join(f"member_{m} = ensemble[{m}].decoder" for m in members)
    lines = [f"member_{m} = ensemble[{m}].generator()" for m in members]
    combinations = list(product(*(range(size) for size in settings.categories)))[:MOST_GENERATORS]
    for m in members if settings.categories else ():
        for values in combinations:
            name = "_".join(map(str, values))
            lines.append(f"member_{m}_{name} = ensemble[{m}].generator({list(values)})")
    return "\n".join(lines)


def _draw(member: Any, codes: Any, dataset: Any, out: Path, m: int) -> None:
    """Write pictures of a member: along each code, and of its blocks where it has any; none of a table."""
    from unbraid.models.traversals import blocks_png, traversal_png

    if len(member.settings.shape) != 3:
        return
    pictures = {f"traversals_{m}.png": traversal_png(member, codes)}
    if member.settings.blocks:
        shown = np.random.default_rng(0).choice(len(dataset), size=min(N_SHOWN, len(dataset)), replace=False)
        pictures[f"blocks_{m}.png"] = blocks_png(member, np.asarray(dataset.observations(shown)))
    for name, picture in pictures.items():
        write_atomically(out / name, partial(_put, picture))


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _label_options(labels: str | None, labelled: float, blocks: str | None) -> dict[str, Any]:
    """Return the options of training that concern labels and blocks."""
    options: dict[str, Any] = {"labelled": labelled}
    if labels is not None:
        parts = [one.strip() for one in labels.split(",")]
        pairs = [one.partition("=") for one in parts]
        options["labels"] = {a: b for a, _, b in pairs} if all(equals for _, equals, _ in pairs) else parts
    if blocks is not None:
        named = [one.partition("=") for one in blocks.split(",")]
        options["blocks"] = {name: _whole("blocks", size) for name, _, size in named}
    return options


def _held_out(whole: Any, text: str) -> tuple[Any, Any]:
    """Return the rows to train on, and those whose value of a factor is held out.

    Raises:
        ValueError: An unknown factor, or values that leave no row on one side.
    """
    name, _, values = text.partition("=")
    check_choice("factor of hold_out", name, whole.factor_names)
    wanted = [_whole("hold_out", one) for one in values.split(",")]
    every = np.arange(len(whole))
    is_out = np.isin(whole.factors(every)[:, whole.factor_names.index(name)], wanted)
    if is_out.all() or not is_out.any():
        which = "all" if is_out.all() else "no"
        raise ValueError(f"hold_out must hold out some rows, got {text!r}, which {which} rows have.")
    return sets.DatasetRows(whole, every[~is_out]), sets.DatasetRows(whole, every[is_out])


def _tested(member: Any, unseen: Any) -> str:
    """Return how many of the held-out rows have the target that a model predicts, in words."""
    from unbraid.models.encoding import predicted_share

    share = predicted_share(member, unseen)
    if share is None:
        return f"{len(unseen)} rows were held out; {member.settings.model} predicts no target to test on them"
    return f"predicts {share:.1%} of the targets of {len(unseen)} rows that were held out"


def _hyperparameter(text: str) -> tuple[str, list[float]]:
    name, equals, values = text.partition("=")
    try:
        numbers = [float(one) for one in values.split(",")]
    except ValueError:
        numbers = []
    if not equals or not numbers:
        raise ValueError(f"set must be such as beta=4 or beta=1,2,4, got {text!r}.")
    return name, numbers


def _whole(argument: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"{argument} must be whole numbers such as 0,1,2, got {text!r}.") from error
