"""``unbraid.explore``: the explorer from Python."""

from __future__ import annotations

from typing import Any

from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.server import ExplorerServer


def explore(
    *what: Any,
    decoder: Any = None,
    latent_dim: int | None = None,
    image: tuple[int, ...] | None = None,
    study: str | None = None,
    port: int = 0,
) -> ExplorerServer:
    """Open the explorer: a web app on this machine that shows codes, decoders and studies.

    The server runs in a thread of its own and ends with the program, or with ``stop()``. In a notebook, the returned
    object shows the page in a frame.

    Args:
        what: A :class:`~unbraid.Representation`, a :class:`~unbraid.Report`, a decoder (a torch module or function), or
            a path: a file of codes, a saved report, a run folder, a checkpoint, a study's store or ``FILE.py:NAME``.
            Several are opened side by side; a report beside codes is about these codes.
        decoder: Decodes the codes of a file or representation: a torch module, a function, or ``FILE.py:NAME``.
        latent_dim: Latents of a decoder, where codes do not tell.
        image: Shape of a picture, such as ``(28, 28)``, where outputs of the decoder are flat.
        study: Name of the study, where a store has several.
        port: Port to listen on; any free one by default.

    Returns:
        The running server; ``address`` is where the page is.

    Raises:
        ValueError: Something that is not there or cannot be shown, or a port that is taken.

    Example:
        >>> from unbraid import data, explore
        >>> with explore(data.example(200)) as server:
        ...     server.address.startswith("http://127.0.0.1:")
        True
    """
    options = OpeningOptions(decoder=decoder, latent_dim=latent_dim, image=image, study=study)
    server = ExplorerServer(open_session(what, options), port=port, framed=True)
    return server.start()
