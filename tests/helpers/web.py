"""A small server for one file, that can break off, to test fetching."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What is served, how, and what was asked for."""

    def __init__(self, content):
        self.content = content
        self.breaks_after = None  # bytes after which the next answer breaks off
        self.knows_ranges = True
        self.states_length = True
        self.redirects_to = None
        self.seconds_a_piece = None  # if given, pieces arrive so many seconds apart
        self.piece = 100
        self.status = 200
        self.asked = []
        self.url = None


@contextmanager
def serve(content):
    site = Site(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range")
            site.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and site.knows_ranges else 0
            if site.status != 200 or (start and start >= len(site.content)):
                self.send_error(site.status if site.status != 200 else 416)
                return
            body = site.content[start:]
            self.send_response(302 if site.redirects_to else 206 if start else 200)
            if site.redirects_to:
                self.send_header("Location", site.redirects_to)
            if site.states_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if site.breaks_after is not None:
                body, site.breaks_after = body[: site.breaks_after], None
            if site.seconds_a_piece is None:
                self.wfile.write(body)
                return
            for place in range(0, len(body), site.piece):
                self.wfile.write(body[place : place + site.piece])
                self.wfile.flush()
                time.sleep(site.seconds_a_piece)

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """Say nothing when a client hangs up: some tests do."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/file.bin"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
