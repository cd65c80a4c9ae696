"""Guard in front of every request: token, host, origin and parameters, and the headers of every answer."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Header in which scripts send the token.
TOKEN_HEADER = "x-unbraid-token"
#: Content that scripts and pictures of the page may have; the page itself adds a nonce for its one inline script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {framed}"
)
#: Places that may show the page in a frame: a notebook on this machine, or nobody.
NOTEBOOKS, NOBODY = "http://127.0.0.1:* http://localhost:*", "'none'"
FIXED = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
NAVIGATION = "navigate"


class Guard:
    """Refuses requests that do not come from the page this server sent, or that name what they must not.

    Args:
        app: What answers the other requests.
        token: Every request must carry it, in its address or in a header.
        port: Of this server.
        framed: Whether a notebook on this machine may show the page in a frame.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, framed: bool = False) -> None:
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.policy = content_policy(framed=framed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            status, words = refusal
            await PlainTextResponse(words, status)(scope, receive, self._with_headers(send))
            return
        await self.app(scope, receive, self._with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[HTTPStatus, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "") not in self.hosts:
            return HTTPStatus.FORBIDDEN, "Only requests to this machine are answered."
        if not self._same_origin(headers, scope["path"]):
            return HTTPStatus.FORBIDDEN, "Only the page of this server may ask."
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        given += [headers[TOKEN_HEADER]] if TOKEN_HEADER in headers else []
        right = [secrets.compare_digest(one.encode(), self.token.encode()) for one in given]
        if not right or not all(right):
            return HTTPStatus.FORBIDDEN, "The token is missing or wrong; use the address that unbraid explore printed."
        raw = scope.get("raw_path", b"").decode("latin-1")
        if has_dots((scope["path"], raw, *(part for pair in query for part in pair))):
            return HTTPStatus.BAD_REQUEST, "A parameter must not contain two dots."
        return None

    def _same_origin(self, headers: dict[str, str], path: str) -> bool:
        """Return whether a browser sent a request for this page; a link elsewhere may open the page itself."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return False
        opens_page = path == "/" and headers.get("sec-fetch-mode") == NAVIGATION
        return site in ("same-origin", "none") or opens_page

    def _with_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                ours = {**FIXED, "content-security-policy": self.policy}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in ours.items() if name.encode() not in there),
                ]
            await send(message)

        return send_with_headers


def content_policy(*, framed: bool = False, nonce: str = "") -> str:
    """Return the content security policy; the page itself has one inline script, the map of its modules."""
    policy = POLICY.format(framed=NOTEBOOKS if framed else NOBODY)
    return policy.replace("script-src 'self'", f"script-src 'self' 'nonce-{nonce}'") if nonce else policy


def has_dots(parts: Iterable[str]) -> bool:
    """Return whether a part names a folder above, also if it is encoded once or twice more.

    Example:
        >>> has_dots(["m0", "a.b"]), has_dots(["%2e%2e/secret"])
        (False, True)
    """
    return any(".." in one or ".." in unquote(one) or ".." in unquote(unquote(one)) for one in parts)
