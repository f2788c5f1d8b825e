"""The price of understanding numa_maps: fold against the bare read."""

import os
from collections.abc import Iterator
from statistics import median

from numa_exporter.formats import maps, numa_maps
from tests.bench.benchmark import Bar, Benchmark, Result
from tests.bench.looks import cpu_seconds
from tests.bench.targets import running

MAPPINGS, BLOCK, ROUNDS = 60_000, 4096, 9


def blocks(path: str) -> list[bytes]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return list(iter(lambda: os.read(descriptor, BLOCK), b""))
    finally:
        os.close(descriptor)


def run() -> Iterator[Result]:
    with running("layout", "mappings", MAPPINGS, 0) as target:
        path = f"/proc/{target.pid}/numa_maps"
        files = maps.files(b"".join(blocks(f"/proc/{target.pid}/maps")))
        bare, folded = [], []
        for _ in range(ROUNDS):
            bare.append(cpu_seconds(lambda: blocks(path)))
            folded.append(cpu_seconds(lambda: numa_maps.fold(blocks(path), path, files=files)))
        seen = numa_maps.fold(blocks(path), path, files=files).vmas
    ratio = median(folded) / median(bare)
    yield Result(
        columns=("what", "CPU, ms"),
        rows=(("bare read", 1000 * median(bare)), ("read and fold", 1000 * median(folded))),
        bars=(Bar(what="read and fold / bare read", measured=ratio, limit=1.6),),
        notes=(f"{seen} mappings, read in blocks of {BLOCK} bytes",),
    )


BENCHMARK = Benchmark(
    name="numa_maps_fold",
    title="Folding a large numa_maps",
    method=f"CPU time to read and fold the numa_maps of a process of {MAPPINGS} small mappings, against reading it "
    f"with the same buffer and throwing it away; medians of {ROUNDS} alternating rounds.",
    run=run,
)
