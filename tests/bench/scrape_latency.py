"""How long a scrape waits, while the agent ticks each second, beside node_exporter."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from deploy.demo.servers import Server
from tests.bench import peers
from tests.bench.benchmark import Bar, Benchmark, Result
from tests.bench.looks import quantile
from tests.bench.targets import built
from tests.bench.two_nodes import loaded

ROUNDS, SCRAPES, CROWDED, PAUSE_MS = 5, 100, 10, 30
SCRAPERS = 20


def run() -> Iterator[Result]:
    alone: dict[str, list[float]] = {}
    crowded: dict[str, list[float]] = {}
    with ExitStack() as stack:
        load = stack.enter_context(loaded())
        # Its own budget would slow the costly sources down at this pace.
        agent = peers.agent(load, "--interval", "1s", "--cpu-budget", "1", "--no-source.memory")
        servers = {
            "numa_exporter": stack.enter_context(agent),
            "node_exporter": stack.enter_context(peers.node_exporter()),
        }
        for _ in range(ROUNDS):
            for name, server in servers.items():
                alone.setdefault(name, []).extend(scrapes(server, 1, SCRAPES))
                crowded.setdefault(name, []).extend(scrapes(server, SCRAPERS, CROWDED))
    mine, peer = (_figures(alone[name], crowded[name]) for name in servers)
    yield Result(
        columns=("scrape of", "median, ms", "p99, ms", f"{SCRAPERS} at once: median, ms", "p99, ms"),
        rows=(("numa_exporter", *mine), ("node_exporter", *peer)),
        bars=(
            Bar(what="median / node_exporter's", measured=mine[0] / peer[0], limit=1 / 5),
            Bar(what="p99 / node_exporter's", measured=mine[1] / peer[1], limit=1 / 2),
            Bar(what=f"p99 of {SCRAPERS} at once / node_exporter's", measured=mine[3] / peer[3], limit=1 / 10),
        ),
        notes=(f"{len(alone['numa_exporter'])} scrapes each, and {len(crowded['numa_exporter'])} of the crowd",),
    )


def _figures(alone: list[float], crowded: list[float]) -> tuple[float, float, float, float]:
    return median(alone), quantile(alone, 0.99), median(crowded), quantile(crowded, 0.99)


def scrapes(server: Server, scrapers: int, rounds: int) -> list[float]:
    """Milliseconds of each scrape."""
    port = server.url.rpartition(":")[2]
    command = [built("scrape"), *map(str, (port, scrapers, rounds, PAUSE_MS))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [float(line) / 1000 for line in done.stdout.split()]


BENCHMARK = Benchmark(
    name="scrape_latency",
    title="A scrape",
    method="Time from asking for /metrics with gzip to the last byte, over a connection that stays open, while the "
    "agent ticks each second under the load of the tick's benchmark; Debian's prometheus-node-exporter with its "
    f"default collectors on the same machine at the same time. {ROUNDS} alternating rounds of {SCRAPES} scrapes by "
    f"one scraper and {CROWDED} by {SCRAPERS} at once.",
    run=run,
)
