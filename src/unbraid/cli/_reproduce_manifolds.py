"""``unbraid reproduce moons``, ``torus``, ``digits-flows`` and ``beta-vae-spectrum``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unbraid.cli._io import check_writable, json_file
from unbraid.cli._table import print_rows
from unbraid.reproduce import FigureResult, beta_vae_spectrum, digits_flows, moons, torus

Device = Literal["cpu", "cuda"]
Json = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


def run_moons(
    *,
    quick: bool = False,
    steps: int | None = None,
    device: Device = "cpu",
    seed: int = 0,
    figure: Path = Path("moons.html"),
    json: Json = None,
) -> None:
    """Reproduce Figure 1 of the paper on manifold entropic metrics (arXiv:2410.19426): three flows of two moons.

    The flows have the same density. Trained by likelihood alone their latents are entangled; with the total correlation
    of the latent manifolds in the loss they are orthogonal; with the reconstruction from one latent they are aligned
    with the moons. Prints entropies and mutual information, and writes the grids as a page. Needs torch and zuko.

    Examples:
        unbraid reproduce moons --quick

        unbraid reproduce moons --figure fig1.html --json fig1.json

    Parameters
    ----------
    quick
        Smaller networks and fewer steps: two minutes on a CPU.
    steps
        Training steps of each model, instead of those that go with the mode.
    device
        Where to train and measure.
    seed
        Of data, flows and training.
    figure
        Where to write the figure, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    _run(lambda: moons(quick=quick, n_steps=steps, device=device, seed=seed), figure, json)


def run_torus(
    *,
    quick: bool = False,
    steps: int | None = None,
    device: Device = "cpu",
    seed: int = 0,
    figure: Path = Path("torus.html"),
    json: Json = None,
) -> None:
    """Reproduce Figure 2 of the paper on manifold entropic metrics (arXiv:2410.19426): a ten-dimensional torus.

    Two flows of the same shape learn points on a torus with noise, turned at random in twenty dimensions: one by
    likelihood alone, one with the total correlation of its latent manifolds in the loss. Prints how their spectra and
    latents compare with the angles and radii behind the data, and writes spectra and matrices as a page. Needs torch
    and zuko.

    Examples:
        unbraid reproduce torus --quick

        unbraid reproduce torus --device cuda --json torus.json

    Parameters
    ----------
    quick
        Smaller networks and fewer steps: two minutes on a CPU.
    steps
        Training steps of each model, instead of those that go with the mode.
    device
        Where to train and measure.
    seed
        Of the rotation, data, flows and training.
    figure
        Where to write the figure, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    _run(lambda: torus(quick=quick, n_steps=steps, device=device, seed=seed), figure, json)


def run_digits_flows(
    *,
    data: Path | None = None,
    quick: bool = False,
    steps: int | None = None,
    device: Device = "cpu",
    seed: int = 0,
    figure: Path = Path("digits-flows.html"),
    json: Json = None,
) -> None:
    """Reproduce Figures 4 and 5 of the paper on manifold entropic metrics (arXiv:2410.19426): flows of digits.

    A GLOW-like flow, GIN, a cINN and a wavelet flow learn handwritten digits. Prints their total correlations and where
    the wavelet flow keeps its information, and writes spectra and mutual information as a page. Needs torch and zuko.

    Examples:
        unbraid reproduce digits-flows --quick

        unbraid reproduce digits-flows --data mnist --device cuda --json flows.json

    Parameters
    ----------
    data
        An MNIST folder in IDX format, compressed or not: `train-images-idx3-ubyte` and `train-labels-idx1-ubyte`,
        or the same with `t10k`, or all four. Without it, scikit-learn's 8 by 8 digits.
    quick
        Smaller networks and fewer steps: two minutes on a CPU for the small digits.
    steps
        Training steps of each model, instead of those that go with the mode.
    device
        Where to train and measure.
    seed
        Of held-out digits, flows and training.
    figure
        Where to write the figure, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    _run(lambda: digits_flows(data, quick=quick, n_steps=steps, device=device, seed=seed), figure, json)


def run_beta_vae_spectrum(
    *,
    data: Path | None = None,
    quick: bool = False,
    steps: int | None = None,
    device: Device = "cpu",
    seed: int = 0,
    figure: Path = Path("beta-vae-spectrum.html"),
    json: Json = None,
) -> None:
    """Reproduce Figure 6 of the paper on manifold entropic metrics (arXiv:2410.19426): the knee of beta-VAEs.

    VAEs with ever larger weight beta learn handwritten digits. Prints how many latents each keeps, and writes the
    spectra as a page. Needs torch.

    Examples:
        unbraid reproduce beta-vae-spectrum --quick

        unbraid reproduce beta-vae-spectrum --data mnist --device cuda

    Parameters
    ----------
    data
        An MNIST folder in IDX format, as for digits-flows. Without it, scikit-learn's digits, drawn out to 28 by 28.
    quick
        Fewer latents and betas, smaller networks, fewer steps: two minutes on a CPU.
    steps
        Training steps of each model, instead of those that go with the mode.
    device
        Where to train and measure.
    seed
        Of networks and training.
    figure
        Where to write the figure, as one HTML page.
    json
        Write everything as JSON to this file, or to standard output with `-`.
    """
    _run(lambda: beta_vae_spectrum(data, quick=quick, n_steps=steps, device=device, seed=seed), figure, json)


def _run(work: Callable[[], FigureResult], figure: Path, json: str | None) -> None:
    """Check where results go, work, print, write."""
    target = json_file(json)
    check_writable("figure", figure)
    if target is not None:
        check_writable("json", target)
    result = work()
    if json == "-":
        print(result.to_json())
    else:
        print_rows(*result.table, wrap=("what", "paper"))
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    if target is not None:
        result.to_json(target)
        print(f"wrote {target}", file=sys.stderr)
    result.to_html(figure)
    print(f"wrote {figure}", file=sys.stderr)
