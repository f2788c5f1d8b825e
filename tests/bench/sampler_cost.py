"""CPU time of a sampler's look, over sizes and layouts."""

import time
from collections.abc import Iterator
from statistics import median

from tests.bench.benchmark import Bar, Benchmark, Cell, Result
from tests.bench.looks import Looks, cpu_seconds, quantile
from tests.bench.targets import available_bytes, running

SIZES = (1, 4, 8, 16)
"""GiB of 4 KiB pages."""
SHARE_OF_MEMORY = 0.7
LOOKS, FIRST, WALKS = 40, 6, 3
LAYOUTS = (
    ("1 GiB of transparent huge pages", ("thp", 1024, 0)),
    ("1 GiB in 8 clusters of 8 TiB", ("clusters", 1024, 8192)),
    ("1 GiB in islands of 2 MiB in 1 TiB", ("islands", 1024, 1024)),
    ("1 GiB of single pages in 1 TiB", ("single", 1024, 1024)),
    ("1,000 mappings", ("mappings", 1000, 0)),
    ("20,000 mappings", ("mappings", 20000, 0)),
)

PROFILE = (
    "profile: where pages are sparse a look makes up to 128 PAGEMAP_SCAN calls; a window takes 20 to 30 µs, a third of "
    "them in the kernel and the rest in Python; fewer windows would cost less and widen the error bound"
)


def looks(pid: int) -> list[float]:
    """CPU milliseconds of looks that follow the first ones, with a pause between as the agent makes."""
    reader = Looks(pid, "sample")
    for _ in range(FIRST):
        reader.look()
    taken = []
    for _ in range(LOOKS):
        taken.append(1000 * cpu_seconds(reader.look))
        time.sleep(0.01)
    return taken


def walk(pid: int) -> float:
    reader = Looks(pid, "walk")
    return 1000 * median(cpu_seconds(reader.look) for _ in range(WALKS))


def run() -> Iterator[Result]:
    rows: list[tuple[Cell, ...]] = []
    notes = [PROFILE]
    by_size: dict[int, tuple[float, float]] = {}
    for gib in SIZES:
        if gib << 30 > SHARE_OF_MEMORY * available_bytes():
            notes.append(f"{gib} GiB: left out, more than 70 % of the available memory")
            continue
        with running("layout", "dense", gib << 10, 0) as target:
            taken, whole = looks(target.pid), walk(target.pid)
        by_size[gib] = median(taken), whole
        rows.append((f"{gib} GiB, dense", median(taken), quantile(taken, 0.9), whole, whole / median(taken)))
    by_layout = {}
    for label, layout in LAYOUTS:
        with running("layout", *layout) as target:
            taken = looks(target.pid)
        by_layout[label] = taken
        rows.append((label, median(taken), quantile(taken, 0.9), None, None))
    yield Result(
        columns=("process", "look, ms", "p90, ms", "walk, ms", "walk / look"),
        rows=tuple(rows),
        bars=_bars(by_size, by_layout),
        notes=tuple(notes),
    )


def _bars(by_size: dict[int, tuple[float, float]], by_layout: dict[str, list[float]]) -> tuple[Bar, ...]:
    medians = [look for look, _ in by_size.values()]
    few, many = (median(by_layout[f"{count} mappings"]) for count in ("1,000", "20,000"))
    slowest = max(quantile(taken, 0.9) for label, taken in by_layout.items() if label != "20,000 mappings")
    return (
        Bar(what="spread over sizes, (max - min) / 2 of the mean", measured=_spread(medians), limit=0.3),
        *(
            Bar(what=f"walk / look at {gib} GiB", measured=whole / look, limit=20, kind="at least")
            for gib, (look, whole) in by_size.items()
            if gib == max(SIZES)
        ),
        Bar(what="p90 of the slowest layout up to 1,000 mappings, ms", measured=slowest, limit=6),
        Bar(what="µs for each further mapping", measured=1000 * (many - few) / 19000, limit=2),
    )


def _spread(values: list[float]) -> float:
    return (max(values) - min(values)) / (max(values) + min(values))


BENCHMARK = Benchmark(
    name="sampler_cost",
    title="CPU time of the page sampler",
    method=f"CPU time of one look at a process in milliseconds, all files, calls and arithmetic included: median and "
    f"90th percentile of {LOOKS} looks, against a full walk of the same process (numa_maps read in 64-byte blocks and "
    f"folded). Processes of {', '.join(map(str, SIZES))} GiB of 4 KiB pages, then sparse layouts and many mappings.",
    run=run,
)
