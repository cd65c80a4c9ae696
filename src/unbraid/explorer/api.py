"""Answers to the page: names, columns, pictures and exports of the subjects of a session, by key and number only."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from unbraid._base.arrays import ByteArray, FloatArray
from unbraid._base.images import gif, png, sheet
from unbraid._base.pages import palette
from unbraid._base.record import finite
from unbraid.explorer.guard import has_dots
from unbraid.explorer.session import Session

#: Largest body of a request, and most codes to decode at once.
MOST_BYTES, MOST_DECODED = 4_000_000, 512
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
BINARY = "application/octet-stream"
PAGE = "index.html"


class Answers:
    """Endpoints of a session.

    Args:
        session: What was opened.
        token: Put into the addresses of the page's own scripts.
        policy: Makes the content security policy of the page from a nonce.
    """

    def __init__(self, session: Session, *, token: str, policy: Callable[[str], str]) -> None:
        self.session, self.token, self.policy = session, token, policy
        folder = files("unbraid.explorer").joinpath("app")
        own = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
        self._files = own | {"palette.css": palette().encode()}

    def routes(self) -> list[Route]:
        """Return every address that is answered."""
        asked = {
            "session": lambda request: self.session.about(),
            "subject": lambda request: self._subject(request).about(),
            "map": self._map,
            "findings": lambda request: self.session.findings(_text(request, "id")).answer(),
            "row": lambda request: self._subject(request).row(_whole(request, "row")),
            "sliders": lambda request: self._subject(request).sliders(),
            "axes": lambda request: {"axes": self._subject(request).axes()},
            "study": lambda request: self.session.now(self.session.study),
            "run": lambda request: self.session.now(self.session.run),
            "scoring": lambda request: self.session.now(self.session.scoring),
        }
        return [
            Route("/", self._page),
            *(Route(f"/app/{name}", self._file(name)) for name in self._files if name != PAGE),
            *(Route(f"/api/{name}", _as_json(answer)) for name, answer in asked.items()),
            Route("/api/column", _guarded(self._column)),
            Route("/api/picture", _guarded(self._picture)),
            Route("/api/portrait", _guarded(self._portrait)),
            Route("/api/reconstructions", _guarded(self._reconstructions)),
            Route("/api/decode", self._posted(self._decode), methods=["POST"]),
            Route("/api/export", self._posted(self._export), methods=["POST"]),
        ]

    def _page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        modules = {
            f"app/{name.removesuffix('.js')}": f"/app/{name}?token={self.token}"
            for name in sorted(self._files)
            if name.endswith(".js")
        }
        preloads = "\n".join(f'<link rel="modulepreload" href="{address}">' for address in modules.values())
        text = self._files[PAGE].decode()
        for mark, value in (
            ("%NONCE%", nonce),
            ("%TOKEN%", self.token),
            ("%PRELOADS%", preloads),
            ("%MODULES%", json.dumps({"imports": modules})),
        ):
            text = text.replace(mark, value)
        headers = {"content-security-policy": self.policy(nonce)}
        return Response(text, media_type="text/html", headers=headers)

    def _file(self, name: str) -> Callable[[Request], Response]:
        kind = TYPES.get(name[name.rindex(".") :], "text/plain")
        content = self._files[name]
        return lambda request: Response(content, media_type=kind)

    def _subject(self, request: Request) -> Any:
        return self.session.subject(_text(request, "id"))

    def _map(self, request: Request) -> dict[str, Any]:
        subject = self._subject(request)
        return {"explained": np.round(subject.explained, 4).tolist() if subject.rep is not None else []}

    def _column(self, request: Request) -> Response:
        found = self._subject(request).column(_text(request, "of"), _whole(request, "index"))
        return Response(found, media_type=BINARY)

    def _picture(self, request: Request) -> Response:
        return Response(png(self._subject(request).picture(_whole(request, "row"))), media_type="image/png")

    def _portrait(self, request: Request) -> Response:
        return _picture_or_none(self._subject(request).portrait)

    def _reconstructions(self, request: Request) -> Response:
        return _picture_or_none(self._subject(request).reconstructions)

    def _posted(self, answer: Callable[[dict[str, Any]], Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            if request.headers.get("content-type", "") != "application/json":
                return _refused("the body must be application/json.", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return _refused("the body is too large.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            try:
                given = json.loads(body)
            except ValueError:
                return _refused("the body must be JSON.")
            if not isinstance(given, dict) or has_dots(str(one) for one in given.values() if isinstance(one, str)):
                return _refused("the body must be an object, and its texts must not contain two dots.")
            return await run_in_threadpool(_guarded_call, lambda: answer(given))

        return endpoint

    def _decode(self, given: dict[str, Any]) -> Response:
        return Response(self._decoder(given).drawn(_codes(given)), media_type=BINARY)

    def _export(self, given: dict[str, Any]) -> Response:
        """Return a sheet of pictures as PNG, or the same pictures one after the other as GIF."""
        pictures = self._decoder(given).pictures(_codes(given))
        columns = given.get("columns", len(pictures))
        if not isinstance(columns, int) or columns < 1:
            raise ValueError(f"columns must be a whole number from 1, got {columns!r}.")
        if given.get("format") == "gif":
            return Response(gif(pictures), media_type="image/gif")
        return Response(png(sheet(pictures, columns)), media_type="image/png")

    def _decoder(self, given: dict[str, Any]) -> Any:
        decoder = self.session.subject(str(given.get("id"))).decoder
        if decoder is None:
            raise ValueError("this model has no decoder.")
        return decoder


def _picture_or_none(draw: Callable[[], ByteArray]) -> Response:
    """Return a picture, or an empty answer for a model that has none."""
    try:
        return Response(png(draw()), media_type="image/png")
    except ValueError:
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _codes(given: dict[str, Any]) -> FloatArray:
    try:
        codes = np.asarray(given["codes"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("codes must be a list of rows of numbers.") from error
    if codes.ndim != 2 or not 1 <= len(codes) <= MOST_DECODED:
        raise ValueError(f"codes must be 1 to {MOST_DECODED} rows of numbers, got shape {codes.shape}.")
    return codes


def _text(request: Request, name: str) -> str:
    if name not in request.query_params:
        raise ValueError(f"the parameter {name} is missing.")
    return request.query_params[name]


def _whole(request: Request, name: str) -> int:
    text = _text(request, name)
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise ValueError(f"{name} must be a whole number, got {text!r}.")
    return int(text)


def _refused(words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> Response:
    return PlainTextResponse(words, status)


def _guarded_call(answer: Callable[[], Response]) -> Response:
    """Answer, or say in one sentence why not."""
    try:
        return answer()
    except KeyError:
        return _refused("there is no such model.", HTTPStatus.NOT_FOUND)
    except ValueError as error:
        return _refused(str(error))


def _guarded(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    return lambda request: _guarded_call(lambda: answer(request))


def _as_json(answer: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Response]:
    return _guarded(lambda request: JSONResponse(finite(answer(request))))
