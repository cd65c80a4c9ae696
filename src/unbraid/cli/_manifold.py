"""``unbraid manifold``."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from unbraid import manifold as measure
from unbraid._base.progress import bar_or_lines
from unbraid._base.record import write_json
from unbraid._base.user_code import kept_apart, load_object
from unbraid.cli._io import check_outputs, json_file, read_shape, say
from unbraid.cli._table import print_rows
from unbraid.manifold import (
    Bottleneck,
    ClassAnalysis,
    GaussianMixture,
    Hierarchy,
    ManifoldAnalysis,
    ManifoldComparison,
)
from unbraid.representation.files import read_npy

#: More latents than any decoder has; where their number is not known, a partition must do with these.
MOST_LATENTS = 1_000_000
ACTIVE = (
    "Active: moves the data, however little, at every sample. Effective dimension: the number of equally important "
    "latents\nwith the same entropy of variance shares (the effective rank); latents of little variance hardly count."
)


def manifold(
    decoder: str,
    /,
    *,
    with_: Annotated[str | None, Parameter(name="--with")] = None,
    encoder: str | None = None,
    with_partition: str | None = None,
    latent_dim: int | None = None,
    samples: int = 1000,
    latents: str | None = None,
    partition: str | None = None,
    prior: Path | None = None,
    classes: int | None = None,
    mixture: Path | None = None,
    bottleneck: str | None = None,
    image: str | None = None,
    top: int = 20,
    mode: Literal["auto", "forward", "reverse"] = "auto",
    dtype: Literal["float32", "float64"] | None = None,
    device: str | None = None,
    memory: str = "2GiB",
    seed: int = 0,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    report: Path | None = None,
) -> None:
    """Measure a decoder without labels: which latents matter, and which move the data in the same directions.

    DECODER is a Python file and a name in it, `FILE.py:NAME`: a torch module, a function from latents `[rows,
    latent-dim]` to data `[rows, ...]`, or a function without arguments that returns one of these (to load weights).
    The file is run.

    The table lists latents from the most important to the least. *Entropy* is the mean logarithm of how far a latent
    moves the data, so one nat less is a movement 2.7 times shorter; *mutual information* is 0 for two latents that
    move the data in orthogonal directions. Below the table are the total correlation (0: all directions orthogonal)
    and the effective dimension. Entropies and information are in nats, with standard errors over samples.

    Examples:
        unbraid manifold vae.py:decoder --latent-dim 10

        unbraid manifold flow.py:load --latent-dim 784 --samples 200 --device cuda --report flow.html

        unbraid manifold vae.py:decoder --latent-dim 10 --latents 0-3 --bottleneck 1-3

        unbraid manifold cinn.py:decode --latent-dim 784 --classes 10 --samples 50 --image 28x28 --report classes.html

        unbraid manifold truth.py:decoder --latent-dim 4 --with model.py:load --encoder model.py:encoder

        unbraid manifold vae.py:decoder --latent-dim 4 --partition core=0-1,rest=2,3 --json -

    Parameters
    ----------
    decoder
        The decoder, as `FILE.py:NAME`.
    with_
        A second decoder of the same data: prints which of its latents moves the data most nearly as each latent of
        DECODER does, their mutual information, and that of sets with `--partition` and `--with-partition`.
    encoder
        With `--with`: the encoder of the second decoder, `FILE.py:NAME`, so that both are measured at the same data;
        by default both get the same latents.
    with_partition
        With `--with`: sets of latents of the second decoder, as `--partition`.
    latent_dim
        Number of latents of the decoder; not needed with `--prior`.
    samples
        Latent vectors to draw; 100 to 1000 are enough for most decoders.
    latents
        Numbers of the latents to measure, such as `0-9,12`; all by default. The cost falls with their number.
    partition
        Sets of latents to measure together, such as `core=0-9,rest=10-19`. Names with a slash make sets of sets, such
        as `core/a=0-4,core/b=5-9,rest/c=10-19`: their total correlation is split into that between and within the outer
        sets.
    prior
        Latent vectors to measure at, the rows of an `.npy` file; drawn from a standard normal by default.
    classes
        Number of classes of a decoder that takes latents and classes, `[rows]` counted from 0: each class is measured
        with `--samples` latents, and the means over classes are printed.
    mixture
        An `.npz` file with `means` and `deviations`, `[components, latent-dim]`, and optional `weights`: latents of
        each component are measured, as those of a GIN; with a decoder of latents and classes, component k belongs to
        class k.
    bottleneck
        Numbers of latents to keep, such as `1-5,10`: prints the nats that the most important latents keep, and the
        squared distance of outputs from those with the other latents at their mean.
    image
        Shape of an image, such as `28x28` or `3x64x64`, where outputs are flat.
    top
        How many latents to print, most important first.
    mode
        Forward- or reverse-mode differentiation; the cheaper one by default.
    dtype
        Precision; the decoder's own by default.
    device
        Device, such as `cuda`; the decoder's own by default.
    memory
        Memory for Jacobians, such as `8G`; it changes the time, not the result. What cannot be divided must fit into it
        or into the memory that is available; otherwise it is refused before it is computed.
    seed
        Same seed, same numbers.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    report
        Write a self-contained HTML page: spectrum, pairs, and pictures of image decoders.
    """
    check_outputs((), json, report=report)
    if with_ is None and (encoder is not None or with_partition is not None):
        raise ValueError("encoder and with-partition are for two decoders; give the second with --with.")
    if with_ is not None and (latents is not None or bottleneck is not None or image is not None):
        raise ValueError("latents, bottleneck and image are for one decoder; leave them out, or --with.")
    if (classes is not None or mixture is not None) and (
        with_ is not None or latents is not None or bottleneck is not None or prior is not None
    ):
        raise ValueError("classes and mixture take none of with, latents, bottleneck and prior; leave them out.")
    if image is not None and report is None:
        raise ValueError("image is for the pictures of a page; give --report, or leave it out.")
    shape = None if image is None else read_shape(image)
    points = None if prior is None else _read_prior(prior)
    known = latent_dim if points is None else points.shape[-1] if points.ndim else None
    most = MOST_LATENTS if known is None else known
    sets = None if partition is None else _sets(partition, most)
    nested = None if sets is None else _nested(sets)
    if nested is not None and (with_ is not None or classes is not None or mixture is not None or latents is not None):
        raise ValueError("sets of sets are for all latents of one decoder; leave out with, classes, mixture, latents.")
    chosen = None if latents is None else _numbers("latents", latents, most)
    keep = None if bottleneck is None else _numbers("bottleneck", bottleneck, most + 1)
    place: dict[str, Any] = {"dtype": dtype, "device": device, "memory": memory, "seed": seed}
    how: dict[str, Any] = {"latent_dim": latent_dim, "n_samples": samples, "mode": mode, "progress": bar_or_lines()}
    how |= place
    if with_ is not None:
        others = None if with_partition is None else _sets(with_partition, MOST_LATENTS)
        with kept_apart("decoder"):
            first, second = load_object("decoder", decoder, make=True)[1], load_object("with", with_, make=True)[1]
            coder = None if encoder is None else load_object("encoder", encoder)[1]
            across = measure.compare(
                first, second, partition_a=sets, partition_b=others, encoder=coder, prior=points, **how
            )
        _print_comparison(across, top, json)
        if report is not None:
            say(f"wrote {across.to_html(report)}")
        return
    if classes is not None or mixture is not None:
        components = None if mixture is None else _read_mixture(mixture)
        with kept_apart("decoder"):
            _, model = load_object("decoder", decoder, make=True)
            each = measure.analyze_classes(model, n_classes=classes, partition=sets, prior=components, **how)
            drawn = None
            if report is not None:
                drawn = measure.draw_classes(model, each, prior=components, image_shape=shape, **place)
        _print_classes(each, top, json)
        if report is not None:
            say(f"wrote {each.to_html(report, pictures=drawn)}")
        return
    pictures, more = None, dict[str, Bottleneck | Hierarchy]()
    with kept_apart("decoder"):
        _, model = load_object("decoder", decoder, make=True)
        found = measure.analyze(model, latents=chosen, partition=sets, prior=points, **how)
        if keep is not None:
            more["bottleneck"] = measure.bottleneck(model, keep=keep, prior=points, **how)
        if nested is not None:
            more["hierarchy"] = measure.hierarchy(model, nested, prior=points, **how)
        if report is not None:
            pictures = measure.draw(model, found, prior=points, image_shape=shape, **place)
    written = found.to_dict() | {name: one.to_dict() for name, one in more.items()}
    _print(found, top, written if json == "-" else None)
    if json != "-":
        for one in more.values():
            _print_more(one)
    target = json_file(json)
    if target is not None:
        write_json(written, target)
        say(f"wrote {target}")
    if report is not None:
        say(f"wrote {found.to_html(report, pictures=pictures)}")


def _print_classes(found: ClassAnalysis, top: int, json: str | None) -> None:
    """Print each class and the mean entropy of the latents; or everything as JSON."""
    target = json_file(json)
    if json == "-":
        print(found.to_json())
    else:
        rows = [
            [
                name,
                f"{share:.3f}",
                f"{one.total_entropy:.3f} ± {one.total_entropy_error:.3f}",
                f"{one.total_correlation:.4f} ± {one.total_correlation_error:.4f}",
                f"{one.n_active} of {one.latent_dim}",
                f"{one.effective_dimension:.3f}",
            ]
            for name, share, one in zip(found.names, found.shares, found.analyses, strict=True)
        ]
        header = ["class", "share", "total entropy", "total correlation", "active latents", "effective dimension"]
        print_rows(header, rows)
        print(
            f"\nmean: total entropy {found.total_entropy:.3f}, total correlation {found.total_correlation:.4f} nats\n"
        )
        ranked = [[f"z{i}", f"{found.latent_entropy[i]:.3f}"] for i in found.order[:top]]
        print_rows(["latent", "mean entropy"], ranked)
    for name, one in zip(found.names, found.analyses, strict=True):
        for note in one.notes:
            say(f"note: class {name}: {note}")
    if target is not None:
        found.to_json(target)
        say(f"wrote {target}")


def _print_comparison(found: ManifoldComparison, top: int, json: str | None) -> None:
    """Print the nearest latents, and sets where there are any; or everything as JSON."""
    target = json_file(json)
    if json == "-":
        print(found.to_json())
    else:
        rows = [
            [
                f"z{latent}",
                f"{row.entropy:.3f}",
                "" if np.isnan(row.mutual_information) else f"z{row.nearest}",
                "" if np.isnan(row.mutual_information) else f"{row.mutual_information:.3f} ± {row.error:.3f}",
            ]
            for latent, row in found.table().iterrows()
        ]
        print_rows(["latent", "entropy", "nearest of the other", "mutual information"], rows[:top])
        if len(rows) > top:
            print(f"... and {len(rows) - top} more")
        if found.set_cross_mutual_information is not None:
            print()
            cells = [
                [name, *(f"{value:.3f}" for value in values)]
                for name, values in zip(found.partition_a.names, found.set_cross_mutual_information, strict=True)
            ]
            print_rows(["set", *found.partition_b.names], cells)
    for note in found.notes:
        say(f"note: {note}")
    if target is not None:
        found.to_json(target)
        say(f"wrote {target}")


def _print(found: ManifoldAnalysis, top: int, written: Mapping[str, Any] | None) -> None:
    """Print the analysis; or what is ``written`` as JSON."""
    if written is not None:
        print(write_json(written))
    else:
        print_analysis(found, top)
    for note in found.notes:
        say(f"note: {note}")


def _print_more(found: Bottleneck | Hierarchy) -> None:
    """Print what each number of latents keeps, or the total correlations of sets of sets."""
    print()
    if isinstance(found, Bottleneck):
        columns = zip(found.n_kept, found.entropy, found.entropy_error, found.squared_error, strict=True)
        rows = [[str(kept), f"{nats:.3f} ± {error:.3f}", f"{distance:.4g}"] for kept, nats, error, distance in columns]
        print_rows(["latents kept", "nats", "squared distance"], rows)
    else:
        rows = [[str(name), f"{row.total_correlation:.4f} ± {row.error:.4f}"] for name, row in found.table().iterrows()]
        print_rows(["sets", "total correlation"], rows)


def print_analysis(found: ManifoldAnalysis, top: int) -> None:
    """Print the most important latents, the sets, and the headline numbers."""
    rows = [row.texts() for row in found.rows()]
    print_rows(["latent", "entropy", "shares most with", "mutual information"], rows[:top])
    if len(rows) > top:
        print(f"... and {len(rows) - top} more")
    print()
    if not found.partition.is_default:
        values = zip(found.manifold_entropy, found.manifold_entropy_error, strict=True)
        entropies = [f"{value:.3f} ± {error:.3f}" for value, error in values]
        sizes = [len(members) for members in found.partition.sets]
        print_rows(["set", "latents", "entropy"], list(zip(found.partition.names, sizes, entropies, strict=True)))
        print()
    turn = measure.knee(found.latent_entropy)
    headlines = [
        ["active latents", f"{found.n_active} of {found.latent_dim}"],
        ["knee", "none" if turn is None else f"after {turn.n_before} latents, a fall of {turn.fall:.2f} nats"],
        ["effective dimension", f"{found.effective_dimension:.3f} ± {found.effective_dimension_error:.3f}"],
        ["total correlation", f"{found.total_correlation:.4f} ± {found.total_correlation_error:.4f} nats"],
        ["total correlation per latent", f"{found.total_correlation_per_latent:.4f} nats"],
        ["total entropy", f"{found.total_entropy:.3f} ± {found.total_entropy_error:.3f} nats"],
    ]
    print_rows(["quantity", "value"], headlines)
    print(f"\n{ACTIVE}")


def _read_prior(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"prior must be a .npy file, but there is no file {str(path)!r}.")
    return read_npy(path)


def _read_mixture(path: Path) -> GaussianMixture:
    if not path.is_file():
        raise ValueError(f"mixture must be a .npz file, but there is no file {str(path)!r}.")
    try:
        with np.load(path, allow_pickle=False) as content:
            parts = {name: np.asarray(content[name]) for name in content.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise ValueError(f"mixture {str(path)!r} cannot be read as an .npz file; save it again.") from error
    if not {"means", "deviations"} <= set(parts):
        raise ValueError(f"mixture must have means and deviations, got {', '.join(parts) or 'nothing'}.")
    return GaussianMixture(parts["means"], parts["deviations"], parts.get("weights"))


def _sets(text: str, n_latents: int) -> dict[str, list[int]]:
    """Read ``core=0-9,12,rest=10-11``: a part without a name goes on with the set before it."""
    sets: dict[str, list[int]] = {}
    name = ""
    for part in text.split(","):
        before, equals, after = part.strip().rpartition("=")
        name = before if equals else name
        members = _range(after)
        if not name or not members:
            raise ValueError(f"partition must be sets such as core=0-9,rest=10-19, got {part.strip()!r}.")
        if members[-1] >= n_latents:
            raise ValueError(f"partition must use latents 0 to {n_latents - 1}, got {members[-1]}.")
        sets.setdefault(name, []).extend(members)
    return sets


def _nested(sets: Mapping[str, list[int]]) -> dict[str, dict[str, list[int]]] | None:
    """Return inner sets by outer sets, from names such as ``core/a``; ``None`` where no name has a slash."""
    if not any("/" in name for name in sets):
        return None
    nested: dict[str, dict[str, list[int]]] = {}
    for name, members in sets.items():
        outer, _, inner = name.partition("/")
        if not outer or not inner:
            raise ValueError(f"partition must have sets of sets by names such as core/a=0,core/b=1, got {name!r}.")
        nested.setdefault(outer, {})[inner] = members
    return nested


def _numbers(argument: str, text: str, n_latents: int) -> list[int]:
    """Read ``0-9,12``."""
    found: list[int] = []
    for part in text.split(","):
        members = _range(part.strip())
        if not members:
            raise ValueError(f"{argument} must be numbers and ranges such as 0-9,12, got {part.strip()!r}.")
        if members[-1] >= n_latents:
            raise ValueError(f"{argument} must be from 0 to {n_latents - 1}, got {members[-1]}.")
        found.extend(members)
    return found


def _range(text: str) -> range:
    """Read ``3`` or ``3-5``; empty for anything else."""
    first, dash, last = text.partition("-")
    try:
        return range(int(first), int(last if dash else first) + 1)
    except ValueError:
        return range(0)
