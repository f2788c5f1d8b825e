"""The agent as its own process, and what a scraper sees of it."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import REPOSITORY

PATIENCE = 90.0
"""Seconds until a test gives up waiting: far more than anything here takes."""

COMMAND = [sys.executable, "-m", "numa_exporter.cli.main"]

AS_NOBODY = """
import ctypes, os, sys
import bcrypt, pynvml, yaml
from numa_exporter.cli.main import main, parser
parser()
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: a plain start would have left our own /proc entry to ourselves
sys.exit(main(sys.argv[1:]))
"""
"""An ordinary user without capabilities; the interpreter may lie where only root gets at it, so it is loaded before."""

NOBODY = [sys.executable, "-c", AS_NOBODY]


class Answer:
    """One HTTP answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Agent:
    """A running `serve`. ``url`` is where it listens; ``log()`` what it wrote to standard error so far."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self._log = log

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        request = urllib.request.Request(self.url + path, headers=named, method=method)
        try:
            # A scrape never waits for the host: a source that hangs for ever must not keep this from coming back.
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())

    def series(self) -> Series:
        families = text_string_to_metric_families(self.get("/metrics").body.decode())
        return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the only series of that name with these labels; None where there is none."""
        found = [value for (own, told), value in self.series().items() if own == name and labels.items() <= set(told)]
        assert len(found) <= 1, found
        return found[0] if found else None

    def up(self, source: str) -> float | None:
        return self.value("numa_exporter_source_up", source=source)

    def ticks(self) -> float:
        return self.value("numa_exporter_ticks_total") or 0.0

    def after(self, ticks: int) -> None:
        """Return when so many more ticks were published."""
        target = self.ticks() + ticks
        self.wait_until(lambda: self.ticks() >= target, f"{ticks} ticks")

    def wait_until(self, holds: Callable[[], object], what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, f"the agent ended: {self.log()}"
            assert time.monotonic() < until, f"never came: {what}\n{self.log()}"
            time.sleep(0.05)

    def log(self) -> str:
        return self._log.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """The exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def _announced(stdout: IO[str]) -> str | None:
    line = stdout.readline()
    match = re.search(r"(https?://\S+?)/  ", line)
    return match[1] if match else None


@contextmanager
def serving(
    folder: Path, *flags: str, environment: Mapping[str, str] | None = None, command: list[str] = COMMAND
) -> Iterator[Agent]:
    """Starts an agent on a free port with ticks of 0.3 s, and ends it."""
    log = folder / "agent.log"
    arguments = ["serve", "--web.listen-address", "127.0.0.1:0", "--interval", "300ms", *flags]
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [*command, *arguments],
            cwd=REPOSITORY,
            env={**os.environ, **(environment or {})},
            text=True,
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            url = _announced(process.stdout)
            assert url is not None, log.read_text()
            yield Agent(process, url, log)
        finally:
            process.kill()
