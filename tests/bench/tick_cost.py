"""CPU time of one tick, part by part, beside process-exporter reading the same threads."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psutil

from deploy.demo.servers import Server
from tests.bench import peers
from tests.bench.benchmark import Bar, Benchmark, Cell, Result
from tests.bench.two_nodes import Load, loaded

THREADS, CONTAINERS, AWAKE = 500, 64, 50
TICKS, FIRST, SECONDS = 30, 5, 15
ROUNDS = 3
NOT_OTHER = ("threads", "join and judge", "rendering", "asked", "MainThread", "tick", "resident")
"""What of a tick's parts is no source beside threads."""


def run() -> Iterator[Result]:
    own: list[dict[str, float]] = []
    peer: list[float] = []
    with loaded(threads=THREADS, awake=AWAKE, containers=CONTAINERS) as load:
        for _ in range(ROUNDS):
            own += ticks(load, TICKS // ROUNDS + FIRST)[FIRST:]
            peer += scrapes(TICKS // ROUNDS)
    parts = {
        "threads": median(one["threads"] for one in own),
        "other sources": median(sum(of for name, of in one.items() if name not in NOT_OTHER) for one in own),
        "join and judge": median(one["join and judge"] for one in own),
        "rendering": median(one["rendering"] for one in own),
    }
    tick, scrape = median(one["tick"] for one in own), median(peer)
    rows: list[tuple[Cell, ...]] = [(f"… {part}", of) for part, of in parts.items()]
    rows.append(("page and JSON document, when somebody asks", median(one["asked"] for one in own)))
    yield Result(
        columns=("what", "CPU, ms"),
        rows=(("tick", tick), *rows, ("process-exporter, one scrape", scrape)),
        bars=(
            Bar(what="tick, ms", measured=tick, limit=150),
            Bar(what="threads, ms", measured=parts["threads"], limit=80),
            Bar(what="join and judge, ms", measured=parts["join and judge"], limit=10),
            Bar(what="rendering, ms", measured=parts["rendering"], limit=55),
            Bar(what="tick / scrape of process-exporter", measured=tick / scrape, limit=0.5),
        ),
        notes=(
            f"least of the {len(own)} ticks: {min(one['tick'] for one in own):.0f} ms, of the scrapes: {min(peer):.0f} "
            "ms; what is between the least and the median is the machine's other load",
            "profile, least times: of 10 µs a thread 5 are open, read and close of its schedstat, 2 its affinity, the "
            "rest Python; the join is 90 µs a workload, spread over some 300 calls of which none takes a tenth; "
            "rendering is the exposition, more than half of it in the writer of prometheus_client",
        ),
    )


def ticks(load: Load, count: int) -> list[dict[str, float]]:
    """CPU milliseconds of each tick by part."""
    command = [sys.executable, "-m", "tests.bench.ticks", str(count), str(SECONDS), "--no-source.memory"]
    done = subprocess.run([*load.inside, *command, "--log.level", "error"], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]


def scrapes(count: int) -> list[float]:
    """CPU milliseconds of process-exporter for each of so many scrapes, after a first one."""
    with peers.process_exporter("crowd") as server:
        return [1000 * _cpu_seconds(server) for _ in range(count)]


def _cpu_seconds(server: Server) -> float:
    before = _used(server.pid)
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        answer.read()
    time.sleep(0.15)  # its garbage collector works on after the answer
    return _used(server.pid) - before


def _used(pid: int) -> float:
    """CPU seconds of a process so far, to the nanosecond (schedstat of each thread)."""
    tasks = (Path(f"/proc/{pid}/task/{thread.id}/schedstat") for thread in psutil.Process(pid).threads())
    return sum(int(task.read_text().split()[0]) / 1e9 for task in tasks)


BENCHMARK = Benchmark(
    name="tick_cost",
    title="CPU time of a tick",
    method=f"8 pods of {CONTAINERS // 8} containers; one container of each pod is a rank on a GPU of its own, with "
    f"{THREADS} real threads, none of them bound, so that each must be asked where it ran ({AWAKE} of them wake twice "
    "a second, one works). The machine's two NUMA nodes and NVML are simulated; processes, affinities and cgroups are "
    "the kernel's (tests/bench/two_nodes.py). The agent's own loop without the memory source, its clock put "
    f"{SECONDS} s forward between ticks: CPU time of its threads, medians of {TICKS} ticks in {ROUNDS} rounds, "
    "alternating with Debian's process-exporter, which reads the same threads and no others.",
    run=run,
)
