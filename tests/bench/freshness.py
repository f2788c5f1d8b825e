"""How long a change of a known rank's placement takes until a gauge shows it."""

import os
import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deploy.demo.servers import Server
from numa_exporter.sources.memory import PROCESS_INTERVAL, YOUNGEST
from numa_exporter.sources.table import SOURCES
from tests.bench import peers
from tests.bench.benchmark import Bar, Benchmark, Result
from tests.bench.two_nodes import CGROUPS, GPUS, Load, loaded

ROUNDS = 4
POLL = 0.05
MIBS = (64, 128)
INTERVALS = {source.name: source.interval for source in SOURCES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """``make`` brings about one of two states, ``shown`` tells whether the exposition has it. ``interval``: seconds
    between two readings."""

    what: str
    interval: float
    make: Callable[[int], None]
    shown: Callable[[str, int], bool]


def run() -> Iterator[Result]:
    # Few threads: it is not the cost of a tick that is measured here.
    with loaded(threads=50, awake=10, containers=GPUS, mib=MIBS[0]) as load, peers.agent(load) as agent:
        time.sleep(YOUNGEST + PROCESS_INTERVAL)  # until each rank is known with its memory
        changes = _changes(load)
        taken: dict[str, list[float]] = {change.what: [] for change in changes}
        for round_ in range(ROUNDS):
            time.sleep(3 * round_)  # at another moment between two ticks
            for what, seconds in _waited(agent, changes, (round_ + 1) % 2).items():
                taken[what].append(seconds)
    rows = tuple(
        (change.what, change.interval, sum(taken[change.what]) / ROUNDS, max(taken[change.what])) for change in changes
    )
    late = max(max(taken[change.what]) - change.interval for change in changes)
    yield Result(
        columns=("change", "interval, s", "mean, s", "longest, s"),
        rows=rows,
        bars=(Bar(what="longest wait beyond the interval, s", measured=late, limit=1.0),),
        notes=(
            "a single-node host has nowhere to move pages to: the memory's change is one of its amount",
            "a process whose memory lock was held for 10 ms by one call is asked half as often: on a machine that is "
            "busy with other things, and interrupts the call, pages are seen later",
        ),
    )


def _changes(load: Load) -> Sequence[Change]:
    """A change for each source that sees placement, each of a rank of its own."""
    near, far = (load.layout.cpus_of(node) for node in (0, 1))
    bound, confined, grown, moved = range(4)
    cpuset = next(folder for folder in load.containers[confined] if folder.is_relative_to(CGROUPS / "cpuset"))

    def bind(state: int) -> None:
        pid = load.processes[bound].pid
        for tid in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(tid), (near, far)[state])

    def confine(state: int) -> None:
        (cpuset / "cpuset.cpus").write_text(",".join(map(str, (near, far)[state])))

    def grow(state: int) -> None:
        process = load.processes[grown]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{MIBS[state]}\n")
        process.stdin.flush()
        process.stdout.readline()

    def move(state: int) -> None:
        to = {moved: (moved, moved + GPUS // 2)[state]}
        load.hold([to.get(rank, rank) for rank in range(GPUS)])

    def local_cpus(metric: str, rank: int) -> Callable[[str, int], bool]:
        return lambda text, state: (
            (_value(text, metric, load.unit(rank), locality="local") or 0) == (len(near) if state == 0 else 0)
        )

    def anon(text: str, state: int) -> bool:
        found = _value(text, "numa_rank_mapped_bytes", load.unit(grown), backing="anon", numa_node="0") or 0
        return MIBS[state] << 20 <= found < 2 * MIBS[state] << 20

    def home(text: str, state: int) -> bool:
        uuid = load.layout.gpus[(moved, moved + GPUS // 2)[state]].uuid
        return _value(text, "numa_rank_home_info", load.unit(moved), uuid=uuid, numa_node=str(state)) == 1

    return (
        Change(
            what="threads bound to the other node: numa_rank_allowed_cpus",
            interval=INTERVALS["threads"],
            make=bind,
            shown=local_cpus("numa_rank_allowed_cpus", bound),
        ),
        Change(
            what="container's cpuset moved to the other node: numa_workload_cpuset_cpus",
            interval=INTERVALS["cgroups"],
            make=confine,
            shown=local_cpus("numa_workload_cpuset_cpus", confined),
        ),
        Change(
            what="another GPU, on the other node: numa_rank_home_info",
            interval=INTERVALS["gpus"],
            make=move,
            shown=home,
        ),
        Change(what="pages gained and lost: numa_rank_mapped_bytes", interval=PROCESS_INTERVAL, make=grow, shown=anon),
    )


def _waited(agent: Server, changes: Sequence[Change], state: int) -> dict[str, float]:
    """Make every change, then seconds until each is shown."""
    made = {}
    for change in changes:
        change.make(state)
        made[change.what] = time.monotonic()
    waited: dict[str, float] = {}
    while len(waited) < len(changes):
        with urllib.request.urlopen(f"{agent.url}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        for change in changes:
            late = time.monotonic() - made[change.what]
            if late > 5 * change.interval:
                raise RuntimeError(f"never shown: {change.what}")
            if change.what not in waited and change.shown(text, state):
                waited[change.what] = late
        time.sleep(POLL)
    return waited


def _value(text: str, metric: str, unit: str, **labels: str) -> float | None:
    """The series of that workload with these labels; None where there is none."""
    wanted = [f'{name}="{value}"' for name, value in {"unit": unit, **labels}.items()]
    for line in re.findall(rf"^{metric}{{.*", text, re.MULTILINE):
        if all(label in line for label in wanted):
            return float(line.rpartition(" ")[2])
    return None


BENCHMARK = Benchmark(
    name="freshness",
    title="From a change to its gauge",
    method=f"`serve` with its own intervals on the machine of two simulated nodes (tests/bench/two_nodes.py). In each "
    f"of {ROUNDS} rounds four real ranks change at once: one's threads are bound to the CPU of the other node, the "
    "cpuset of another's container is moved there, a third gets a context on a GPU of the other node (NVML is "
    f"simulated), a fourth gains or loses {MIBS[1] - MIBS[0]} MiB. Then /metrics is asked each {POLL:g} s until it "
    "shows them.",
    run=run,
)
