"""Server of the explorer: on the loopback only, with a token of its own, in this thread or another.

Starlette and uvicorn answer requests: both are kept, typed and small, have no compiled parts, and are what most Python
web services run on. The standard library's server warns against its own use, and parses requests less strictly.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from unbraid.explorer.api import Answers
from unbraid.explorer.guard import Guard, content_policy
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.session import Session

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 24
#: Seconds that open requests have when the server stops.
GRACE = 1


class ExplorerServer:
    """A server that is ready to run.

    Args:
        session: What was opened.
        port: Port to listen on; 0 for any that is free.
        framed: Whether a notebook on this machine may show the page in a frame.

    Raises:
        ValueError: The port is taken, or is no port.
    """

    def __init__(self, session: Session, *, port: int = 0, framed: bool = False) -> None:
        if not 0 <= port <= 65535:
            raise ValueError(f"port must be from 0 to 65535, got {port}.")
        self.session = session
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
            self._socket.listen()  # from now on connections wait for the server
        except OSError as error:
            self._socket.close()
            raise ValueError(f"port {port} cannot be listened on: {error.strerror}; give --port 0.") from error
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        config = uvicorn.Config(
            _application(session, token=self.token, port=self.port, framed=framed),
            log_config=None,
            access_log=False,
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Where the page is, with the token."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    def run(self, on_start: Callable[[], object] | None = None) -> None:
        """Serve until interrupted; ``on_start`` is called first, when connections wait already."""
        if on_start is not None:
            on_start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def start(self) -> ExplorerServer:
        """Serve in a thread of its own, and return at once."""
        self._thread = threading.Thread(target=self.run, daemon=True, name="unbraid-explorer")
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop a server that was started."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=10)

    def __enter__(self) -> ExplorerServer:
        return self if self._thread is not None else self.start()

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        """Show the page in a notebook, with a link to it."""
        address = escape(self.address, quote=True)
        return (
            f'<p><a href="{address}" target="_blank" rel="noopener">Open the explorer in a page of its own</a></p>'
            f'<iframe src="{address}" title="Unbraid explorer" width="100%" height="760" style="border: 0"></iframe>'
        )


def _application(session: Session, *, token: str, port: int, framed: bool) -> Starlette:
    answers = Answers(session, token=token, policy=partial(_page_policy, framed))
    guard = Middleware(Guard, token=token, port=port, framed=framed)
    return Starlette(routes=answers.routes(), middleware=[guard])


def _page_policy(framed: bool, nonce: str) -> str:
    return content_policy(framed=framed, nonce=nonce)


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
