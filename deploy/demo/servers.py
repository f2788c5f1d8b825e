"""Prometheus and Alertmanager on loopback, as Debian packages them, for the demo and for tests."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What is run, by path or by Debian's name."""

    prometheus: str = "prometheus"
    promtool: str = "promtool"
    alertmanager: str = "prometheus-alertmanager"


INSTALLED = Programs()


def installed() -> bool:
    names = (INSTALLED.prometheus, INSTALLED.promtool, INSTALLED.alertmanager)
    return all(map(shutil.which, names))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


class ServerError(RuntimeError):
    """A server that could not be started or does not answer, in one line."""


class Server:
    """A program that listens on loopback; a context manager that ends it."""

    def __init__(self, command: Sequence[str], port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Server":
        """ServerError where somebody else listens already: whoever asked would get his answers."""
        if not is_free(self._port):
            raise ServerError(f"{self._name}: port {self._port} is taken")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    @property
    def pid(self) -> int:
        """Of the running program; RuntimeError before it is started."""
        if self._process is None:
            raise RuntimeError(f"{self._command[0]} is not running")
        return self._process.pid

    def wait(self, path: str = "/-/ready", seconds: float = 60) -> None:
        """Until it answers; ServerError with the last line of its log where it ends or is too late."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status = None if self._process is None else self._process.poll()
            if status is not None:
                raise ServerError(f"{self._name} ended with status {status}: {self._last_words}")
            try:
                with urllib.request.urlopen(self.url + path, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise ServerError(f"{self._name} has not answered at {self.url} for {seconds:g} s: {self._last_words}")

    @property
    def _name(self) -> str:
        return Path(self._command[0]).name

    @property
    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n") if self._log.exists() else []
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")

    def get(self, path: str, **parameters: str | float) -> Any:
        """The JSON behind a path; an error's own JSON where the server refuses."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        try:
            with urllib.request.urlopen(f"{self.url}{path}{query}", timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)


def prometheus(config: Path, data: Path, port: int, programs: Programs = INSTALLED) -> Server:
    command = [
        programs.prometheus,
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=30d",
        # An alert that fires before Prometheus has found its Alertmanager is dropped, and sent again only after this.
        "--rules.alert.resend-delay=5s",
        "--log.level=warn",
    ]
    return Server(command, port, data.parent / "prometheus.log")


def alertmanager(config: Path, data: Path, port: int, programs: Programs = INSTALLED) -> Server:
    command = [
        programs.alertmanager,
        f"--config.file={config}",
        f"--storage.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        "--log.level=warn",
    ]
    return Server(command, port, data.parent / "alertmanager.log")
