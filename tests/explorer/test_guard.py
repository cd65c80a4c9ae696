"""Who may ask, and for what."""

import http.client
import json
import socket
import urllib.request

import pytest

import unbraid as ub
from unbraid.explorer.guard import has_dots


@pytest.fixture(scope="module")
def server(serve, example, example_report):
    return serve(example, example_report)


@pytest.fixture
def ask(server):
    def request(path, *, method="GET", body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        if token:
            headers.setdefault("X-Unbraid-Token", server.token)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in {**headers, **({"Content-Length": str(len(body))} if body else {})}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    return request


PATHS = [
    "/",
    "/app/main.js",
    "/app/style.css",
    "/app/palette.css",
    "/api/session",
    "/api/column?id=m0&of=code&index=0",
    "/nothing",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", [None, "", "wrong"])
def test_nothing_is_answered_without_the_token(ask, path, given):
    mark = "" if given is None else f"{'&' if '?' in path else '?'}token={given}"
    answer, content = ask(path + mark, token=False)
    assert answer.status == 403
    assert b"factor" not in content


def test_a_wrong_token_beside_the_right_one_is_refused(ask):
    assert ask("/api/session?token=wrong")[0].status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/api/subject?id=..",
        "/api/subject?id=m0&other=../x",
        "/api/subject?..=m0",
        "/api/picture?id=%2e%2e%2fsecret&row=0",
        "/api/column?id=m0&of=code&index=..%252f..",
        "/app/../api.py",
        "/app/%2e%2e/api.py",
        "/?page=../../etc/passwd",
    ],
)
def test_two_dots_in_any_parameter_are_refused(ask, path):
    assert ask(path)[0].status == 400


@pytest.mark.parametrize("key", ["id", "format"])
def test_two_dots_in_a_body_are_refused(ask, key):
    body = json.dumps({"id": "m0", "codes": [[0.0]], key: "../x"}).encode()
    assert ask("/api/export", method="POST", body=body, Content_Type="application/json")[0].status == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_only_the_page_itself_may_ask(ask, headers, status):
    assert ask("/api/session", **headers)[0].status == status


def test_a_link_elsewhere_may_open_the_page(ask):
    assert ask("/", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0].status == 200


def test_every_answer_forbids_content_from_elsewhere(ask):
    for path in ("/", "/api/session", "/nothing"):
        answer, _ = ask(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_notebook_on_this_machine_may_frame_the_page_and_no_other_place(example):
    with ub.explore(example) as server:
        shown = server._repr_html_()
        assert f'<iframe src="{server.address}"' in shown
        with urllib.request.urlopen(server.address) as answer:
            policy = answer.headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors http://127.0.0.1:* http://localhost:*")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/subject", 400),
        ("/api/subject?id=m7", 404),
        ("/api/subject?id=codes.npz", 404),
        ("/api/column?id=m0&of=code&index=99", 400),
        ("/api/column?id=m0&of=file&index=0", 400),
        ("/api/row?id=m0&row=-1", 400),
        ("/api/row?id=m0&row=1200", 400),
        ("/api/picture?id=m0&row=0", 400),
        ("/api/decode", 405),
    ],
)
def test_what_is_not_there_is_said_and_not_found(ask, path, status):
    assert ask(path)[0].status == status


def test_bodies_must_be_json_of_a_fair_size(ask):
    kind = {"Content_Type": "application/json"}
    assert ask("/api/decode", method="POST", body=b"{}", Content_Type="text/plain")[0].status == 415
    assert ask("/api/decode", method="POST", body=b"[", **kind)[0].status == 400
    assert ask("/api/decode", method="POST", body=b"[]", **kind)[0].status == 400
    assert ask("/api/decode", method="POST", body=b" " * 5_000_000, **kind)[0].status == 413


def test_it_listens_on_the_loopback_only(server):
    with socket.socket() as other:
        other.settimeout(2)
        # every address of 127.0.0.0/8 is this machine; a server on all addresses would answer at each
        assert other.connect_ex(("127.0.0.2", server.port)) != 0


def test_dots_are_seen_through_encodings():
    assert has_dots(["%252e%252e"])
    assert not has_dots(["a.b", "1.5e-3", "%2e"])
