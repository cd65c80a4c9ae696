"""``unbraid explore``."""

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from unbraid._base.interruption import is_usual_end, was_pressed
from unbraid.cli._io import read_pairs, read_shape
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.server import ExplorerServer
from unbraid.explorer.session import Session
from unbraid.representation.files import CODE_COLUMNS, FACTOR_COLUMNS


def explore(
    what: str,
    *others: str,
    decoder: str | None = None,
    factors: str | None = None,
    codes: str | None = None,
    code_columns: str = CODE_COLUMNS,
    factor_columns: str = FACTOR_COLUMNS,
    kinds: str | None = None,
    blocks: str | None = None,
    latent_dim: int | None = None,
    image: str | None = None,
    study: str | None = None,
    port: int = 0,
    browser: bool = True,
) -> None:
    """Look at codes, decoders and studies in a browser: a web app on this machine.

    WHAT is a file of codes as `unbraid score` takes it, a saved report (`.json` or `.html`), a run folder or checkpoint
    of `unbraid train`, a study's store, or a decoder, `FILE.py:NAME`. Give two or more to compare them, or codes and
    their report to skip the scoring. The pictures of rows are shown where an `.npz` holds them as `pictures`.

    Prints the address of the page and serves until interrupted (Ctrl-C). Only this machine can reach the page, and only
    with the token in the address. Nothing is written; FILE.py is run.

    Examples:
        unbraid explore codes.npz

        unbraid explore codes.npz --decoder model.py:decoder

        unbraid explore vae.npz flow.npz

        unbraid explore mini --no-browser --port 8123

    Parameters
    ----------
    what
        What to look at.
    others
        More of the same, to compare.
    decoder
        Decoder of the codes, as `FILE.py:NAME`: a torch module, a function, or a function that makes one.
    factors
        Labels as `.npy`, `.csv` or `.parquet`, when WHAT has none; of AnnData, columns of obs: `obs:cell_type,batch`.
    codes
        Which array of WHAT holds the codes: `X`, `obsm:KEY`, `layers:KEY` or `raw:X` of AnnData, the name of a tensor
        of `.safetensors` or `.zarr`.
    code_columns
        Columns of a table that are codes: names and patterns, separated by commas.
    factor_columns
        Columns of a table that are factors: names and patterns, separated by commas.
    kinds
        Factor kinds, as `name=kind` separated by commas.
    blocks
        Names for groups of codes, as `z_y=0-7,z_d=8-15`, in place of those in WHAT; a decoder's page can exchange them.
    latent_dim
        Number of latents of a decoder without codes; tried out by default.
    image
        Shape of an image, such as `28x28` or `3x64x64`, where outputs are flat.
    study
        Name of the study, where a store has several.
    port
        Port to listen on; 0 for any that is free.
    browser
        Open a browser at the address; with `--no-browser`, only print it.
    """
    shape = None if image is None else read_shape(image)
    options = OpeningOptions(
        factors=factors,
        codes=codes,
        code_columns=code_columns,
        factor_columns=factor_columns,
        kinds=read_pairs("kinds", kinds),
        blocks=blocks,
        decoder=decoder,
        latent_dim=latent_dim,
        image=shape,
        study=study,
    )
    serve(ExplorerServer(open_session([what, *others], options), port=port), browser=browser)


def serve(server: ExplorerServer, *, browser: bool) -> None:
    """Print the address, open a browser there if wanted, and serve until interrupted."""

    def announce() -> None:
        print(server.address, flush=True)
        print(f"exploring {server.session.title}; Ctrl-C stops", file=sys.stderr, flush=True)
        if browser:
            webbrowser.open(server.address)

    is_usual_end("stopped")
    with suppress(KeyboardInterrupt):
        server.run(announce)
    if not was_pressed():  # who started this process takes care of Ctrl-C
        print("stopped", file=sys.stderr)


@contextmanager
def watching(session: Session, *, browser: bool) -> Iterator[None]:
    """Serve a session while work goes on; the address goes to standard error, as results go to standard output."""
    with ExplorerServer(session) as server:
        print(f"watch at {server.address}", file=sys.stderr, flush=True)
        if browser:
            webbrowser.open(server.address)
        yield
        session.end()
