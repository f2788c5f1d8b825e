"""Pages behind a real HTTP server, each with its own Content-Security-Policy header, as the agent serves them."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from numa_exporter.page import Page


class Site:
    """`pages` by path without the slash; what is not there is answered with 503, as by an agent that is going."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, Page] = {}

    def put(self, name: str, page: Page) -> str:
        """The URL of a page; a second put replaces it."""
        self.pages[name] = page
        return f"{self.address}/{name}"


@contextmanager
def serve() -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    site = Site(f"http://127.0.0.1:{server.server_address[1]}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site.pages.get(self.path.lstrip("/"))
            body = page.html.encode() if page else b""
            self.send_response(200 if page else 404 if self.path == "/favicon.ico" else 503)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if page:
                self.send_header("Content-Security-Policy", page.csp)
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Quiet."""

    server.RequestHandlerClass = Handler
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
