"""Resident memory after an hour of ticks, beside node_exporter and what Python costs at the least."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import psutil

from deploy.demo.servers import Server
from tests.bench import peers
from tests.bench.benchmark import Bar, Benchmark, Result
from tests.bench.targets import built, running
from tests.bench.two_nodes import GPUS, loaded

TICKS, SECONDS = 240, 15
MAPPINGS = 60_000
MIB = 1 << 20
SCRAPES = 50


def run() -> Iterator[Result]:
    with loaded(mib=64) as load, running("layout", "mappings", MAPPINGS, 0) as large:
        load.hold(range(GPUS), beside=[large.pid])
        resident = ticks(list(load.inside))
    with peers.node_exporter() as node_exporter, peers.bare() as bare:
        others = [scraped(node_exporter), scraped(bare)]
    yield Result(
        columns=("process", "resident, MiB"),
        rows=(
            ("numa_exporter after its first tick", resident[0]),
            (f"numa_exporter after {TICKS // 2} ticks", resident[TICKS // 2]),
            (f"numa_exporter after {TICKS} ticks", resident[-1]),
            ("node_exporter", others[0]),
            ("prometheus_client and aiohttp alone", others[1]),
        ),
        bars=(Bar(what="resident after an hour of ticks, MiB", measured=resident[-1], limit=64),),
        notes=(f"numa_exporter / node_exporter: {resident[-1] / others[0]:.2g}",),
    )


def ticks(inside: list[str]) -> list[float]:
    """Resident MiB after each tick, while somebody scrapes."""
    command = [*inside, sys.executable, "-m", "tests.bench.ticks", str(TICKS), str(SECONDS), "--log.level", "error"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        port = agent.stdout.readline().strip()
        found = [json.loads(agent.stdout.readline())]
        with subprocess.Popen([built("scrape"), port, "1", str(TICKS), "1000"], stdout=subprocess.DEVNULL) as scraper:
            found += [json.loads(line) for line in agent.stdout]
            scraper.kill()
    return [tick["resident"] / MIB for tick in found]


def scraped(server: Server) -> float:
    """Resident MiB of a server after some scrapes."""
    for _ in range(SCRAPES):
        with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
            answer.read()
    return float(psutil.Process(server.pid).memory_info().rss / MIB)


BENCHMARK = Benchmark(
    name="resident_memory",
    title="Resident memory",
    method=f"The agent's own loop with every source, under the load of the tick's benchmark (ranks of 64 MiB) and a "
    f"process of {MAPPINGS} mappings, for {TICKS} ticks, its clock put {SECONDS} s forward between them: an hour. Its "
    "page is asked for at each tick, its metrics each second. Debian's prometheus-node-exporter and a bare "
    f"prometheus_client behind aiohttp, each after {SCRAPES} scrapes.",
    run=run,
)
