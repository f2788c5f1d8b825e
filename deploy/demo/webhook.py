"""The receiving end of Alertmanager: keeps what arrives."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Alert = dict[str, Any]
"""One alert as Alertmanager's webhook sends it: status, labels, annotations, startsAt, endsAt."""


class Notifications:
    """A line for each alert. Those about a rank name its GPU as people count them: by ordinal, from the report."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._ordinals = {gpu["uuid"]: gpu["index"] for gpu in report.get("gpus") or ()}

    def say(self, receiver: str, alert: Alert) -> None:
        print(self.line(receiver, alert), flush=True)

    def line(self, receiver: str, alert: Alert) -> str:
        labels = alert["labels"]
        uuid = labels.get("uuid")
        gpu = f" (GPU {self._ordinals.get(uuid, uuid)})" if uuid else ""
        summary = alert["annotations"]["summary"]
        return f"{receiver:<7} {alert['status']:<9} {labels['alertname']}: {summary}{gpu}"


class Webhook:
    """Listens on loopback; ``told`` is called with the receiver's name and each alert of a notification."""

    def __init__(self, told: Callable[[str, Alert], None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for alert in body["alerts"]:
                    told(body["receiver"], alert)
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  http.server's name
                """Not a line for each notification."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Webhook":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
