"""The agent and the exporters that it is measured against, each as a running server."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.demo.servers import Server, free_port
from tests.bench.benchmark import UnableError
from tests.bench.two_nodes import Load

SERVE = (sys.executable, "-m", "numa_exporter.cli.main", "serve")
BARE = """
import sys
from aiohttp import web
from prometheus_client import generate_latest

async def metrics(request):
    return web.Response(body=generate_latest(), content_type="text/plain")

app = web.Application()
app.router.add_get("/metrics", metrics)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


@contextmanager
def agent(load: Load, *flags: str) -> Iterator[Server]:
    """An agent on the machine of two nodes, that has published its first report."""
    port = free_port()
    command = [*load.inside, *SERVE, "--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error", *flags]
    with _running(command, port, "/-/ready") as server:
        yield server


@contextmanager
def node_exporter() -> Iterator[Server]:
    """With its default collectors."""
    port = free_port()
    with _running([installed("prometheus-node-exporter"), f"--web.listen-address=127.0.0.1:{port}"], port) as server:
        yield server


@contextmanager
def process_exporter(name: str) -> Iterator[Server]:
    """Reading the processes of that name and their threads, nothing else."""
    port = free_port()
    command = [installed("prometheus-process-exporter"), "-procnames", name, "-gather-smaps=false"]
    with _running([*command, "-web.listen-address", f"127.0.0.1:{port}"], port) as server:
        yield server


@contextmanager
def bare() -> Iterator[Server]:
    """prometheus_client's own few metrics behind aiohttp: what Python costs before we do anything."""
    port = free_port()
    with _running([sys.executable, "-c", BARE, str(port)], port) as server:
        yield server


def installed(name: str) -> str:
    """A program of Debian's package of that name."""
    if shutil.which(name) is None:
        raise UnableError(f"needs {name} (Debian)")
    return name


@contextmanager
def _running(command: Sequence[str], port: int, path: str = "/metrics") -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder, Server(command, port, Path(folder, "log")) as server:
        server.wait(path)
        yield server
