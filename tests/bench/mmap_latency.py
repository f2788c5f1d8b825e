"""What being observed does to a process: its own mmap and munmap wait for the lock that observers hold."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from tests.bench.benchmark import Bar, Benchmark, Result, UnableError
from tests.bench.targets import running

MIB, SECONDS, ROUNDS = 2048, 2.0, 5


def observers(pid: int) -> dict[str, list[str] | None]:
    """By name; each looks again as soon as it is done."""
    forever = "while true; do {} >/dev/null || exit; done"
    return {
        "idle": None,
        "sampler": [sys.executable, "-m", "tests.bench.observe", str(pid)],
        "numastat -p": ["sh", "-c", forever.format(f"numastat -p {pid}")],
        "smaps_rollup": ["sh", "-c", forever.format(f"cat /proc/{pid}/smaps_rollup")],
    }


@contextmanager
def observed(command: list[str] | None) -> Iterator[None]:
    if command is None:
        yield
        return
    with subprocess.Popen(command, start_new_session=True) as observer:
        time.sleep(0.5)
        try:
            yield
        finally:
            observer.kill()


def turn(target: subprocess.Popen[str]) -> list[float]:
    """Turns, then median, 99.9th, 99.99th percentile and maximum of one in µs."""
    assert target.stdin is not None and target.stdout is not None
    target.stdin.write("\n")
    target.stdin.flush()
    return list(map(float, target.stdout.readline().split()))


def run() -> Iterator[Result]:
    if shutil.which("numastat") is None:
        raise UnableError("needs numastat (Debian package numactl)")
    with running("mmap_loop", MIB, SECONDS) as target:
        turn(target)
        commands = observers(target.pid)
        taken: dict[str, list[list[float]]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                with observed(command):
                    taken[name].append(turn(target))
    middle = {name: [median(column) for column in zip(*turns, strict=True)] for name, turns in taken.items()}
    tail = {name: columns[3] for name, columns in middle.items()}
    yield Result(
        columns=("observed by", "median, µs", "p99.9, µs", "p99.99, µs", "longest, µs"),
        rows=tuple((name, *columns[1:]) for name, columns in middle.items()),
        bars=(
            Bar(what="p99.99 beside the sampler / idle", measured=tail["sampler"] / tail["idle"], limit=2),
            Bar(
                what="p99.99 beside numastat / beside the sampler",
                measured=tail["numastat -p"] / tail["sampler"],
                limit=20,
                kind="at least",
            ),
        ),
        notes=("smaps_rollup walks the same page tables as numa_maps: it is no cheaper look",),
    )


BENCHMARK = Benchmark(
    name="mmap_latency",
    title="What the observed process notices",
    method=f"A process with {MIB // 1024} GiB in one mapping maps, touches and unmaps 64 KiB in a loop while it is "
    f"observed back to back. Medians over {ROUNDS} alternating rounds of {SECONDS:g} s. The agent itself looks at a "
    "process twice a minute.",
    run=run,
)
